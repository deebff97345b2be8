//! Where a damaged event ends: at its own closing brace, where the next event begins, or where the list of events ends.
//!
//! Brackets and quotes of damaged text cannot be trusted. The next event can: its first key is one of a few.

/// Keys that events begin with.
const EVENT_KEYS: [&[u8]; 12] =
    [b"ph", b"cat", b"name", b"pid", b"tid", b"ts", b"dur", b"args", b"id", b"s", b"bp", b"tts"];
/// Keys of the outermost object that no value within it has.
const OUTERMOST_KEYS: [&[u8]; 6] = [
    b"traceEvents",
    b"schemaVersion",
    b"deviceProperties",
    b"distributedInfo",
    b"displayTimeUnit",
    b"baseTimeNanoseconds",
];
/// Longer keys are none.
const MOST_KEY: usize = 128;
/// Deeper brackets count as braces.
const DEEPEST: u32 = 64;

/// What a look at the text tells; `More` if it ends too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Yes,
    No,
    More,
}

impl Seen {
    pub fn of(value: bool) -> Seen {
        if value { Seen::Yes } else { Seen::No }
    }
}

/// A text, and whether no more of it follows.
#[derive(Clone, Copy)]
pub struct View<'t> {
    pub text: &'t [u8],
    pub whole: bool,
}

impl View<'_> {
    /// The first byte from `at` on that is not blank, with its place; the error is `No` at the end of a whole text.
    pub fn next(&self, at: usize) -> Result<(usize, u8), Seen> {
        let rest = self.text.get(at..).unwrap_or_default();
        match rest.iter().position(|byte| !byte.is_ascii_whitespace()) {
            Some(skipped) => Ok((at + skipped, rest[skipped])),
            None => Err(if self.whole { Seen::No } else { Seen::More }),
        }
    }

    /// The key whose quote is at `at`, and the byte behind its colon.
    fn key(&self, at: usize) -> Result<(&[u8], usize), Seen> {
        let rest = &self.text[at + 1..];
        let most = rest.len().min(MOST_KEY);
        let Some(length) = rest[..most].iter().position(|&byte| byte == b'"' || byte == b'\n') else {
            return Err(if self.whole || most == MOST_KEY { Seen::No } else { Seen::More });
        };
        if rest[length] == b'\n' {
            return Err(Seen::No);
        }
        let (colon, byte) = self.next(at + length + 2)?;
        if byte == b':' { Ok((&rest[..length], colon + 1)) } else { Err(Seen::No) }
    }

    /// Whether a key with its colon is here.
    pub fn is_key(&self, at: usize) -> Seen {
        self.key(at).map_or_else(|seen| seen, |_| Seen::Yes)
    }

    /// Whether an object with the first key of an event begins here; the key.
    fn event_key(&self, at: usize) -> Result<&[u8], Seen> {
        match self.next(at + 1)? {
            (quote, b'"') => {
                let (key, _) = self.key(quote)?;
                if EVENT_KEYS.contains(&key) { Ok(key) } else { Err(Seen::No) }
            }
            _ => Err(Seen::No),
        }
    }

    pub fn begins_event(&self, at: usize) -> Seen {
        self.event_key(at).map_or_else(|seen| seen, |_| Seen::Yes)
    }

    /// Whether the bracket at `at`, behind a brace, ends the list of events: the outermost object goes on or ends.
    fn ends_list(&self, at: usize) -> Seen {
        match self.next(at + 1) {
            Err(Seen::No) => Seen::Yes,
            Err(seen) => seen,
            Ok((brace, b'}')) => match self.next(brace + 1) {
                Err(Seen::No) => Seen::Yes,
                Err(seen) => seen,
                Ok((_, byte)) => Seen::of(byte == b'{'),
            },
            Ok((comma, b',')) => match self.next(comma + 1) {
                Err(seen) => seen,
                Ok((quote, b'"')) => self.is_key(quote),
                Ok(_) => Seen::No,
            },
            Ok(_) => Seen::No,
        }
    }

    /// Where a key stands that the outermost object alone has.
    pub fn outermost_key(&self) -> Option<usize> {
        let mut quotes = (0..self.text.len()).filter(|&at| self.text[at] == b'"');
        quotes.find(|&at| self.key(at).is_ok_and(|(key, _)| OUTERMOST_KEYS.contains(&key)))
    }

    /// Whether text has keys of events or of the outermost object, as what a text without its closing quote swallows.
    pub fn holds_key(&self) -> bool {
        let is_known = |key: &[u8]| EVENT_KEYS.contains(&key) || OUTERMOST_KEYS.contains(&key);
        let mut quotes = (0..self.text.len()).filter(|&at| self.text[at] == b'"');
        quotes.any(|at| self.key(at).is_ok_and(|(key, _)| is_known(key)))
    }
}

/// Where something ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Behind the brace that closes it.
    Closed(usize),
    /// Where the next event begins.
    Event(usize),
    /// At the bracket that ends the list of events.
    List(usize),
    /// The text ends before; more may follow.
    More,
    /// The text ends before.
    Open,
}

/// Brackets and quotes of a text that is read byte by byte.
#[derive(Default)]
struct Nesting {
    depth: u32,
    /// A bit per depth: whether a list is open there.
    lists: u64,
    quoted: bool,
    escaped: bool,
}

impl Nesting {
    fn step(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.quoted => self.escaped = true,
            b'"' => self.quoted = !self.quoted,
            b'{' | b'[' if !self.quoted => {
                let bit = 1u64.checked_shl(self.depth).unwrap_or(0);
                self.lists = if byte == b'[' { self.lists | bit } else { self.lists & !bit };
                self.depth += 1;
            }
            b'}' | b']' if !self.quoted => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn in_list(&self) -> bool {
        !self.quoted && (1..=DEEPEST).contains(&self.depth) && self.lists >> (self.depth - 1) & 1 == 1
    }
}

/// Where the object that begins at `begin` ends. The next event's begin is looked for behind it.
pub fn end_of_object(view: View, begin: usize) -> End {
    let mut nesting = Nesting::default();
    let mut closed = false;
    let mut before = b' ';
    for (at, &byte) in view.text.iter().enumerate().skip(begin) {
        let found = match byte {
            b'{' if at > begin && before != b':' => match view.event_key(at) {
                // A list of objects may be an argument; none of them has a phase.
                Ok(key) if !closed && nesting.in_list() && key != b"ph" => Seen::No,
                Ok(_) => return End::Event(at),
                Err(seen) => seen,
            },
            b']' if before == b'}' && (closed || !nesting.in_list()) => match view.ends_list(at) {
                Seen::Yes => return End::List(at),
                seen => seen,
            },
            _ => Seen::No,
        };
        if found == Seen::More {
            return End::More;
        }
        if !closed {
            nesting.step(byte);
            if nesting.depth == 0 {
                match view.next(at + 1) {
                    Err(Seen::No) | Ok((_, b',' | b']' | b'}' | b'{')) => return End::Closed(at + 1),
                    Err(_) => return End::More,
                    Ok(_) => closed = true, // by a brace that is part of a text
                }
            }
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
    }
    if view.whole { End::Open } else { End::More }
}

/// Where reading goes on behind text that is no event: at the next event, or, within the list, at its end.
pub fn next_event(view: View, from: usize, in_list: bool) -> End {
    let mut before = b' ';
    for (at, &byte) in view.text.iter().enumerate().skip(from) {
        let (found, end) = match byte {
            b'{' if before != b':' => (view.begins_event(at), End::Event(at)),
            b']' if in_list => (view.ends_list(at), End::List(at)),
            _ => (Seen::No, End::Open),
        };
        match found {
            Seen::Yes => return end,
            Seen::More => return End::More,
            Seen::No => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
    }
    if view.whole { End::Open } else { End::More }
}

/// Where reading goes on behind a damaged key or value of the outermost object: at the comma before the next key, at a key
/// that the outermost object alone has, or within the list of events.
pub fn next_key(view: View, from: usize) -> End {
    let mut nesting = Nesting::default();
    let mut before = b' ';
    for (at, &byte) in view.text.iter().enumerate().skip(from) {
        let outermost = nesting.depth == 0 && !nesting.quoted;
        let (found, end) = match byte {
            // Neither a list nor a text goes on with a key.
            b',' if outermost || nesting.quoted || nesting.in_list() => {
                let found = match view.next(at + 1) {
                    Ok((quote, b'"')) => view.is_key(quote),
                    Ok(_) => Seen::No,
                    Err(seen) => seen,
                };
                (found, End::Closed(at))
            }
            b'}' if outermost => (Seen::Yes, End::Closed(at)),
            b'"' => match view.key(at) {
                Ok((key, _)) => (Seen::of(OUTERMOST_KEYS.contains(&key)), End::Closed(at)),
                Err(seen) => (seen, End::Open),
            },
            // The devices of the outermost object have ids and names as well.
            b'{' if before != b':' => match view.event_key(at) {
                Ok(key) => (Seen::of(key != b"id" && key != b"name"), End::Event(at)),
                Err(seen) => (seen, End::Open),
            },
            _ => (Seen::No, End::Open),
        };
        match found {
            Seen::Yes => return end,
            Seen::More => return End::More,
            Seen::No => {}
        }
        nesting.step(byte);
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
    }
    if view.whole { End::Open } else { End::More }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str) -> End {
        end_of_object(View { text: text.as_bytes(), whole: true }, 0)
    }

    #[test]
    fn an_object_ends_at_its_brace_or_where_the_next_event_begins() {
        assert_eq!(end(r#"{"ph":!,"args":{"a":[1]}}, {"ph":"X"}"#), End::Closed(25));
        assert_eq!(end(r#"{"ph":"X","name":"a"b","ts":1},{"ph":"X"}"#), End::Event(31));
        assert_eq!(end(r#"{"ph":"X","name":"a"b","ts":1}],"traceName":"x"}"#), End::List(30));
        assert_eq!(end(r#"{"ph":"X","name":"a"b","ts":1}"#), End::Open);
        assert_eq!(end(r#"{"ph":"X","cat":"ac2g"{"schemaVersion":1,"traceEvents":[{"ph":"X"}]}"#), End::Event(56));
        assert_eq!(end(r#"{"ph":"X","args":{"a":[{"name":1},{"id":2}],"b":1},"ts":!}]"#), End::Closed(58));
    }

    #[test]
    fn what_is_not_known_yet_is_waited_for() {
        let text = br#"{"ph":"X","name":"a"b","ts":1},{"ph":"X"}"#;
        for length in 0..text.len() {
            let found = end_of_object(View { text: &text[..length], whole: false }, 0);
            assert_eq!(found, if length < 37 { End::More } else { End::Event(31) }, "{length}");
        }
    }

    #[test]
    fn keys_follow_damaged_values() {
        let next = |text: &str| next_key(View { text: text.as_bytes(), whole: true }, 0);
        assert_eq!(next(r#"N/A, "b": 1}"#), End::Closed(3));
        assert_eq!(next(r#"[{"id": 0, "x": "a"b"}], "traceEvents": [{"ph": 1}]"#), End::Closed(23));
        assert_eq!(next(r#"!}"#), End::Closed(1));
        assert_eq!(next(r#"{"a": 1, "traceEvents": [{"ph": 1}]"#), End::Closed(9));
        assert_eq!(next(r#"[1, 2, "traceName": 1"#), End::Closed(5));
        assert_eq!(next(r#""abc, "b": 1"#), End::Closed(4));
    }
}
