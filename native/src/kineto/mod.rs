//! Traces of PyTorch's profiler (Kineto's Chrome trace JSON), read as they arrive and written as an XSpace.
//!
//! The text is fed in pieces of any size, so that a compressed file is never held as text. Memory: the piece, one
//! unfinished value of at most `MOST_VALUE` bytes, and about one byte per byte of text for what the events say. Further
//! texts may follow: traces of the captures of graphs that the run replays.

mod attribute;
mod boards;
mod costs;
mod device;
mod event;
mod facts;
mod frames;
mod graphs;
mod host;
mod names;
mod trace;
mod write;

use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType};

use crate::error::{Error, Problem, Result};
use trace::Trace;

/// A value of the text, such as an event, that is longer than this is refused.
const MOST_VALUE: usize = 64 << 20;

/// What was left out: the first byte that could not be read, and how many events before it were damaged.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Byte of the text at which it ends in the middle.
    pub cut: Option<u64>,
    pub damaged: Option<Damaged>,
}

/// Events that are no JSON.
#[derive(Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The first byte of the first one, and that at which it cannot be read.
    pub begin: u64,
    pub at: u64,
    /// What is wrong there.
    pub what: String,
    /// How many events there are, with how many bytes.
    pub events: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    /// In the outermost object, before a key or behind a value.
    Keys,
    /// In the list of events.
    Events,
    End,
}

pub struct Reader {
    /// Text that has arrived and is not read yet, and the byte at which it begins.
    text: Vec<u8>,
    begin: u64,
    place: Place,
    trace: Trace,
    left: Left,
}

/// A step that could not be made: the value is not complete, or it is no JSON.
enum Stop {
    Incomplete,
    Syntax(usize, String),
}

impl Stop {
    fn at(index: usize) -> Stop {
        Stop::Syntax(index, String::new())
    }
}

impl From<JiterError> for Stop {
    fn from(error: JiterError) -> Self {
        use JsonErrorType::*;
        match &error.error_type {
            JiterErrorType::JsonError(
                EofWhileParsingList | EofWhileParsingObject | EofWhileParsingString | EofWhileParsingValue,
            ) => Stop::Incomplete,
            kind => Stop::Syntax(error.index, kind.to_string()),
        }
    }
}

impl Default for Reader {
    fn default() -> Self {
        Reader { text: Vec::new(), begin: 0, place: Place::Start, trace: Trace::default(), left: Left::default() }
    }
}

impl Reader {
    /// Reads what is complete of the text so far.
    pub fn feed(&mut self, piece: &[u8]) -> Result<()> {
        self.text.extend_from_slice(piece);
        let text = std::mem::take(&mut self.text);
        let mut at = 0;
        let outcome = loop {
            match self.step(&text, at) {
                Ok(Some(next)) => at = next,
                Ok(None) => break Ok(()),
                Err(Stop::Incomplete) if text.len() - at > MOST_VALUE => break Err((Problem::TooMany, at)),
                Err(Stop::Incomplete) => break Ok(()),
                Err(Stop::Syntax(index, what)) => match self.after_damaged(&text, at, (index, what)) {
                    Ok(next) => at = next,
                    Err(Stop::Incomplete) if text.len() - at > MOST_VALUE => break Err((Problem::TooMany, at)),
                    Err(Stop::Incomplete) => break Ok(()),
                    Err(_) => break Err((Problem::Syntax, at + index)),
                },
            }
        };
        self.text = text;
        self.text.drain(..at);
        let begin = self.begin;
        self.begin += at as u64;
        outcome.map_err(|(problem, index)| Error::new(problem, "PyTorch trace", begin + index as u64))
    }

    /// The XSpace, and what was left out; fails if the text holds no event and is cut off.
    pub fn finish(mut self) -> Result<(Vec<u8>, Left)> {
        if self.place != Place::End {
            let end = self.begin + self.text.len() as u64;
            if self.trace.events == 0 {
                return Err(Error::new(Problem::Truncated, "PyTorch trace", end));
            }
            self.left.cut = Some(self.begin);
        }
        let Reader { trace, left, text, .. } = self;
        drop(text);
        Ok((write::to_space(trace), left))
    }

    /// Reads one value at `at`; the byte behind it, None at the end of the object or of what has arrived.
    fn step(&mut self, text: &[u8], at: usize) -> std::result::Result<Option<usize>, Stop> {
        let Some(skipped) = text[at..].iter().position(|byte| !byte.is_ascii_whitespace()) else {
            return Ok(None);
        };
        let at = at + skipped;
        match (self.place, text[at]) {
            (Place::End, b'{') => {
                self.trace.next_document();
                self.place = Place::Keys;
                Ok(Some(at + 1))
            }
            (Place::End, _) => Ok(None),
            (Place::Start, b'{') => {
                self.place = Place::Keys;
                Ok(Some(at + 1))
            }
            (Place::Keys, b'}') => {
                self.place = Place::End;
                Ok(Some(at + 1))
            }
            (Place::Events, b']') => {
                self.place = Place::Keys;
                Ok(Some(at + 1))
            }
            (Place::Keys | Place::Events, b',') => Ok(Some(at + 1)),
            (Place::Keys, b'"') => self.key(text, at).map(Some),
            (Place::Events, b'{') => {
                let mut json = Jiter::new(&text[at..]).with_allow_inf_nan();
                self.trace.read_event(&mut json)?;
                Ok(Some(at + json.current_index()))
            }
            _ => Err(Stop::at(skipped)),
        }
    }

    /// Reads a key of the outermost object with its value; of the events only the opening bracket.
    fn key(&mut self, text: &[u8], at: usize) -> std::result::Result<usize, Stop> {
        let mut json = Jiter::new(&text[at..]).with_allow_inf_nan();
        let key = json.next_str()?.to_string();
        let gap = |from: usize| {
            let blank = text[from..].iter().position(|byte| !byte.is_ascii_whitespace());
            blank.map(|skipped| from + skipped).ok_or(Stop::Incomplete)
        };
        let colon = gap(at + json.current_index())?;
        if text[colon] != b':' {
            return Err(Stop::at(colon - at));
        }
        let begin = gap(colon + 1)?;
        if key == "traceEvents" && text[begin] == b'[' {
            self.place = Place::Events;
            return Ok(begin + 1);
        }
        let mut json = Jiter::new(&text[begin..]).with_allow_inf_nan();
        json.next_skip()?;
        let end = begin + json.current_index();
        if end == text.len() {
            return Err(Stop::Incomplete); // A number may go on.
        }
        self.trace.read_header(&key, &text[begin..end]);
        Ok(end)
    }

    /// The byte behind an event that is no JSON, by its brackets; it is left out, unless its texts alone are no UTF-8.
    fn after_damaged(
        &mut self,
        text: &[u8],
        at: usize,
        (index, what): (usize, String),
    ) -> std::result::Result<usize, Stop> {
        let blank = text[at..].iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
        let begin = at + blank;
        if self.place != Place::Events || text.get(begin) != Some(&b'{') {
            return Err(Stop::at(blank));
        }
        let length = enclosed(&text[begin..]).ok_or(Stop::Incomplete)?;
        let valid = String::from_utf8_lossy(&text[begin..begin + length]);
        let mut json = Jiter::new(valid.as_bytes()).with_allow_inf_nan();
        if self.trace.read_event(&mut json).is_err() {
            let first = self.begin + begin as u64;
            let at = first + index.min(length) as u64;
            let damaged = self.left.damaged.get_or_insert(Damaged { begin: first, at, what, events: 0, bytes: 0 });
            damaged.events += 1;
            damaged.bytes += length as u64;
        }
        Ok(begin + length)
    }
}

/// The length of the object that begins here, by brackets outside of strings.
fn enclosed(text: &[u8]) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for (i, &byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => depth += 1,
            b'}' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The XSpace of a whole text.
pub fn to_space(text: &[u8]) -> Result<(Vec<u8>, Left)> {
    let mut reader = Reader::default();
    for piece in text.chunks(4 << 20) {
        reader.feed(piece)?;
    }
    reader.finish()
}

#[cfg(test)]
mod tests;
