//! Damaged values, made JSON where it is plain what was meant: quotes and backslashes that were not escaped, control
//! characters, numbers such as `N/A`. Anything else is not guessed.

use super::extent::{Seen, View};

/// Deeper values are not mended.
const DEEPEST: usize = 100;
/// Words that stand for no value, or for a number that JSON does not have.
const WORDS: [(&[u8], &[u8]); 12] = [
    (b"n/a", b"null"),
    (b"na", b"null"),
    (b"none", b"null"),
    (b"nil", b"null"),
    (b"undefined", b"null"),
    (b"true", b"true"),
    (b"false", b"false"),
    (b"nan", b"NaN"),
    (b"-nan", b"NaN"),
    (b"inf", b"Infinity"),
    (b"+inf", b"Infinity"),
    (b"-inf", b"-Infinity"),
];

/// Why a value is not mended: the text ends too early, or its meaning is open.
#[derive(Debug, PartialEq, Eq)]
pub enum Hopeless {
    More,
    Open,
}

impl From<Seen> for Hopeless {
    fn from(seen: Seen) -> Hopeless {
        if seen == Seen::More { Hopeless::More } else { Hopeless::Open }
    }
}

/// What a text is: its closing quote is followed by other things.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Key,
    Member,
    Item,
}

struct Mender<'t> {
    view: View<'t>,
    at: usize,
    out: Vec<u8>,
    open: Vec<u8>,
    /// From this depth on, values that cannot be read are left out; elsewhere they are hopeless.
    lenient: usize,
}

/// The value at the begin of the text as JSON, and its length in the text. Values of members deeper than `lenient` that
/// cannot be read become null.
pub fn mended(view: View, lenient: usize) -> Result<(Vec<u8>, usize), Hopeless> {
    let mut mender = Mender { view, at: 0, out: Vec::with_capacity(view.text.len() + 16), open: Vec::new(), lenient };
    mender.value()?;
    while !mender.open.is_empty() {
        mender.next()?;
    }
    Ok((mender.out, mender.at))
}

impl Mender<'_> {
    fn peek(&mut self) -> Result<u8, Hopeless> {
        let (at, byte) = self.view.next(self.at)?;
        self.at = at;
        Ok(byte)
    }

    fn take(&mut self, byte: u8) {
        self.out.push(byte);
        self.at += 1;
    }

    /// Reads a value; of lists and objects only the bracket.
    fn value(&mut self) -> Result<(), Hopeless> {
        match self.peek()? {
            byte @ (b'{' | b'[') if self.open.len() < DEEPEST => {
                self.open.push(byte);
                self.take(byte);
                Ok(())
            }
            b'"' if self.open.last() == Some(&b'[') => self.text(Role::Item),
            b'"' => self.text(Role::Member),
            b'{' | b'[' => Err(Hopeless::Open),
            _ => self.word(),
        }
    }

    /// Goes on within the innermost list or object, or ends it.
    fn next(&mut self) -> Result<(), Hopeless> {
        let object = self.open.last() == Some(&b'{');
        match self.peek()? {
            b',' => {
                self.at += 1;
                Ok(())
            }
            byte @ (b'}' | b']') if object == (byte == b'}') => {
                self.open.pop();
                self.take(byte);
                Ok(())
            }
            b'"' if object => {
                self.separate();
                self.text(Role::Key)?;
                if self.peek()? != b':' {
                    return Err(Hopeless::Open);
                }
                self.take(b':');
                self.value()
            }
            b'}' | b']' => Err(Hopeless::Open),
            _ if object => Err(Hopeless::Open),
            _ => {
                self.separate();
                self.value()
            }
        }
    }

    /// A comma, unless the first member or item follows.
    fn separate(&mut self) {
        if !matches!(self.out.last(), Some(b'{' | b'[')) {
            self.out.push(b',');
        }
    }

    /// A value without quotes and brackets.
    fn word(&mut self) -> Result<(), Hopeless> {
        let rest = &self.view.text[self.at..];
        let length = rest.iter().position(|byte| b",]}".contains(byte));
        let Some(length) = length.or(self.view.whole.then_some(rest.len())) else { return Err(Hopeless::More) };
        let word = rest[..length].trim_ascii();
        let small = word.to_ascii_lowercase();
        let small = small.strip_suffix(b"inity").unwrap_or(&small);
        let small = small.split(|&byte| byte == b'(').next().unwrap_or_default(); // `-nan(ind)`
        if let Some((_, json)) = WORDS.iter().find(|(known, _)| *known == small) {
            self.out.extend_from_slice(json);
        } else if is_number(word) || word == b"null" {
            self.out.extend_from_slice(word);
        } else if self.open.len() >= self.lenient && !word.contains(&b'"') {
            self.out.extend_from_slice(b"null");
        } else {
            return Err(Hopeless::Open);
        }
        self.at += length;
        Ok(())
    }

    /// A text: its closing quote is the first that is followed by what follows texts.
    fn text(&mut self, role: Role) -> Result<(), Hopeless> {
        let begin = self.at + 1;
        // A backslash that was not escaped may stand before the closing quote, as in `"C:\"`.
        for any in [false, true] {
            match self.close(begin, role, any) {
                Ok(end) => {
                    let text = &self.view.text[begin..end];
                    if !(View { text, whole: true }).holds_key() {
                        self.out.push(b'"');
                        escape(&mut self.out, text);
                        self.out.push(b'"');
                        self.at = end + 1;
                        return Ok(());
                    }
                }
                Err(Hopeless::More) => return Err(Hopeless::More),
                Err(Hopeless::Open) => {}
            }
        }
        Err(Hopeless::Open)
    }

    /// The closing quote from `begin` on; `any`: also one behind a backslash.
    fn close(&self, begin: usize, role: Role, any: bool) -> Result<usize, Hopeless> {
        let mut escaped = false;
        for (at, &byte) in self.view.text.iter().enumerate().skip(begin) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if !any => escaped = true,
                b'"' => match self.closes(at, role) {
                    Seen::Yes => return Ok(at),
                    Seen::More => return Err(Hopeless::More),
                    Seen::No => {}
                },
                _ => {}
            }
        }
        Err(if self.view.whole { Hopeless::Open } else { Hopeless::More })
    }

    /// Whether what follows the quote at `at` follows texts.
    fn closes(&self, at: usize, role: Role) -> Seen {
        let view = self.view;
        let (next, byte) = match view.next(at + 1) {
            Ok(found) => found,
            Err(Seen::No) => return if self.open.is_empty() { Seen::Yes } else { Seen::No },
            Err(seen) => return seen,
        };
        match (role, byte) {
            (Role::Key, _) => Seen::of(byte == b':'),
            (_, b',') => match view.next(next + 1) {
                Ok((quote, b'"')) if role == Role::Member => view.is_key(quote),
                Ok((_, byte)) if role == Role::Member => Seen::of(byte == b'}'),
                Ok((_, byte)) => Seen::of(b"\"-{[]tfnN".contains(&byte) || byte.is_ascii_digit()),
                Err(seen) => seen,
            },
            (Role::Member, b'}') | (Role::Item, b']') => match view.next(next + 1) {
                // Behind an object another one may follow, as a further text.
                Ok((_, after)) => Seen::of(b",}]".contains(&after) || byte == b'}' && after == b'{'),
                Err(Seen::No) => Seen::Yes,
                Err(seen) => seen,
            },
            _ => Seen::No,
        }
    }
}

fn is_number(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    let valid = std::str::from_utf8(word).is_ok_and(|word| word.parse::<f64>().is_ok());
    let leading_zero = digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit();
    valid && !leading_zero && digits[0].is_ascii_digit() && digits[digits.len() - 1].is_ascii_digit()
}

/// Appends what is between two quotes, so that it is JSON. If a backslash begins no escape, none does.
fn escape(out: &mut Vec<u8>, text: &[u8]) {
    let literal = is_path(text) || !backslashes(text).all(|at| escape_length(&text[at..]) > 0);
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        match rest[0] {
            b'\\' if literal => {
                let length = if matches!(rest.get(1), Some(b'\\' | b'"')) { 2 } else { 1 };
                out.extend_from_slice(if length == 2 { &rest[..2] } else { b"\\\\" });
                at += length;
                continue;
            }
            b'\\' => {
                let length = escape_length(rest).max(1);
                let lone = length == 6 && rest[1] == b'u' && surrogate(rest).is_some();
                out.extend_from_slice(if lone { b"\\ufffd" } else { &rest[..length] });
                at += length;
                continue;
            }
            b'"' => out.extend_from_slice(b"\\\""),
            0..=0x1f => out.extend_from_slice("\u{fffd}".as_bytes()),
            byte => out.push(byte),
        }
        at += 1;
    }
}

/// Whether backslashes separate the folders of a path: `C:\temp`.
fn is_path(text: &[u8]) -> bool {
    matches!(text, [drive, b':', b'\\', next, ..] if drive.is_ascii_alphabetic() && !b"\\\"/".contains(next))
}

/// The places of backslashes that are not escaped by another.
fn backslashes(text: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let found = at + text.get(at..)?.iter().position(|&byte| byte == b'\\')?;
        at = found + 2;
        Some(found)
    })
}

/// The length of the escape at the begin of the text, two escapes for a pair of surrogates; 0 for none.
fn escape_length(text: &[u8]) -> usize {
    match text.get(1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
        Some(b'u') if hex(text).is_some() => {
            let low = text.get(6..).and_then(surrogate);
            if surrogate(text) == Some(true) && low == Some(false) { 12 } else { 6 }
        }
        _ => 0,
    }
}

/// The number of `\uXXXX`.
fn hex(text: &[u8]) -> Option<u32> {
    let digits =
        text.get(2..6).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit) && text.starts_with(b"\\u"))?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Whether the escape at the begin is the first or second half of a character; None for others.
fn surrogate(text: &[u8]) -> Option<bool> {
    match hex(text)? {
        0xd800..=0xdbff => Some(true),
        0xdc00..=0xdfff => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> Option<String> {
        let (json, length) = mended(View { text: text.as_bytes(), whole: true }, 2).ok()?;
        assert_eq!(length, text.len());
        jiter::JsonValue::parse(&json, true).expect("JSON");
        String::from_utf8(json).ok()
    }

    #[test]
    fn what_is_plain_is_mended() {
        for (damaged, json) in [
            (r#"{"name": "say"x.py(12): run", "pid": 1}"#, r#"{"name":"say\"x.py(12): run","pid":1}"#),
            (r#"{"name": "print("a", end="")", "pid": 1}"#, r#"{"name":"print(\"a\", end=\"\")","pid":1}"#),
            (r#"{"name": ""}"#, r#"{"name":""}"#),
            (r#"{"a": ["f"x"", "y"], "b": {"c": "d"e"}}"#, r#"{"a":["f\"x\"","y"],"b":{"c":"d\"e"}}"#),
            (r#"{"name": "C:\Users\me\train.py(3): f"}"#, r#"{"name":"C:\\Users\\me\\train.py(3): f"}"#),
            (r#"{"name": "C:\temp\new.py(3): f"}"#, r#"{"name":"C:\\temp\\new.py(3): f"}"#),
            (r#"{"name": "D:\data\", "pid": 1}"#, r#"{"name":"D:\\data\\","pid":1}"#),
            ("{\"name\": \"S\x01(1)\"}", "{\"name\":\"S\u{fffd}(1)\"}"),
            (r#"{"name": "\ud800x \ud83d\ude00 \n"}"#, r#"{"name":"\ufffdx \ud83d\ude00 \n"}"#),
            (r#"{"ts": nan, "dur": -Inf, "x": None,}"#, r#"{"ts":NaN,"dur":-Infinity,"x":null}"#),
            (
                r#"{"args": {"context": N/A, "b": not known, "c": 07}}"#,
                r#"{"args":{"context":null,"b":null,"c":null}}"#,
            ),
        ] {
            assert_eq!(event(damaged).as_deref(), Some(json), "{damaged}");
        }
    }

    #[test]
    fn what_is_open_is_not_guessed() {
        for damaged in [
            r#"{"name": "abc, "pid": 1, "tid": 2}"#,
            r#"{"name": aten::copy_, "pid": 1}"#,
            r#"{"ts": !}"#,
            r#"{"ts": }"#,
            r#"{"a" 1}"#,
            r#"{"pid": 1 "tid": 2}"#,
            r#"{"a": [1}"#,
            r#"{"a": 1"#,
        ] {
            assert_eq!(event(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn a_value_that_is_not_complete_is_waited_for() {
        let text = br#"["INFO: {"event_id": 5, "stream": 7}", N/A], "next": 1}"#;
        for length in 0..text.len() {
            let found = mended(View { text: &text[..length], whole: false }, 0);
            match found {
                Ok((json, end)) => {
                    assert_eq!((end, &json[..]), (43, &br#"["INFO: {\"event_id\": 5, \"stream\": 7}",null]"#[..]));
                    assert!(length >= 43);
                }
                Err(why) => assert!(why == Hopeless::More && length < 43, "{length}"),
            }
        }
    }
}
