//! The error type of the crate: the message being read, the problem, and the byte.

use std::fmt;

/// What is wrong with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The bytes end inside a value.
    Truncated,
    /// A length prefix points past the end of the message that holds it.
    LengthPastEnd,
    /// A varint has more than ten bytes.
    VarintTooLong,
    /// A tag has field number 0 or does not fit 32 bits.
    BadTag,
    /// A wire type that does not exist, or an end-group tag without its start.
    BadWireType,
    /// Groups are nested deeper than the limit.
    NestedTooDeep,
    /// Text that does not follow its grammar.
    Syntax,
    /// JSON that is no trace.
    NoEvents,
    /// An opcode of a pickle that makes more than plain values.
    NotPlain,
    /// More items than a column can index.
    TooMany,
    /// The bytes changed between two passes over them.
    Changed,
    /// Arguments of a kernel contradict each other (a bug of the caller, not of the profile).
    BadArgument,
}

impl Problem {
    fn text(self) -> &'static str {
        match self {
            Problem::Truncated => "truncated",
            Problem::LengthPastEnd => "length past the end of",
            Problem::VarintTooLong => "varint longer than ten bytes in",
            Problem::BadTag => "invalid field tag in",
            Problem::BadWireType => "invalid wire type in",
            Problem::NestedTooDeep => "groups nested too deeply in",
            Problem::Syntax => "unexpected character in",
            Problem::NoEvents => "no list of events in",
            Problem::NotPlain => "only plain values are read, not",
            Problem::TooMany => "too many entries in",
            Problem::Changed => "the file changed while reading",
            Problem::BadArgument => "bad argument:",
        }
    }
}

/// A decoding error. `offset` counts bytes from the start of the profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub problem: Problem,
    /// The message or value being read, e.g. "XEvent".
    pub what: &'static str,
    pub plane: Option<usize>,
    pub line: Option<usize>,
    pub offset: u64,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error without a place in the tree of planes and lines; the callers further out add it.
    #[cold]
    pub fn new(problem: Problem, what: &'static str, offset: u64) -> Self {
        Error { problem, what, plane: None, line: None, offset }
    }

    /// An argument that does not fit; there is no byte to point at.
    #[cold]
    pub fn argument(what: &'static str) -> Self {
        Error::new(Problem::BadArgument, what, 0)
    }

    #[cold]
    pub fn in_plane(mut self, plane: usize) -> Self {
        self.plane.get_or_insert(plane);
        self
    }

    #[cold]
    pub fn in_line(mut self, line: usize) -> Self {
        self.line.get_or_insert(line);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.problem.text(), self.what)?;
        if self.problem == Problem::BadArgument {
            return Ok(());
        }
        if let Some(plane) = self.plane {
            write!(f, " in plane {plane}")?;
        }
        if let Some(line) = self.line {
            write!(f, " line {line}")?;
        }
        write!(f, " at byte {}", self.offset)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_and_where() {
        let error = Error::new(Problem::Truncated, "XEvent", 12345).in_line(7).in_plane(3).in_plane(9);
        assert_eq!(error.to_string(), "truncated XEvent in plane 3 line 7 at byte 12345");
        assert_eq!(Error::argument("key column").to_string(), "bad argument: key column");
    }
}
