//! Traces of events as JSON, read as they arrive: an object with `traceEvents`, or the bare list.
//!
//! The text is fed in pieces of any size, so that a compressed file is never held as text. Memory: the piece, and one
//! unfinished value of at most `MOST_VALUE` bytes. A damaged value costs itself at most: it is mended where its meaning is
//! plain (`mend`), else reading goes on behind it (`extent`), and what was left out is told.

use jiter::{Jiter, JiterError, JiterErrorType, JiterResult, JsonErrorType};

use super::extent::{End, Seen, View, end_of_object, next_event, next_key};
use super::left::{Damaged, Left};
use super::mend::{Hopeless, mended};
use crate::error::{Error, Problem, Result};

/// A value of the text, such as an event, that is longer than this is refused.
pub const MOST_VALUE: usize = 64 << 20;
/// A value that is longer is looked through for a begin of the next one: brackets that are missing may hide it.
const LONG_VALUE: usize = 8 << 20;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Where the contents of the text go.
pub trait Document {
    /// A key of the outermost object with the text of its value.
    fn header(&mut self, key: &str, value: &[u8]);

    /// Reads an event and keeps it; whether it has a phase, as every event has.
    fn event(&mut self, json: &mut Jiter) -> JiterResult<bool>;

    /// Another text begins behind the one that has ended.
    fn next_text(&mut self);
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

pub struct Reader<D> {
    /// Text that has arrived and is not read yet, and the byte at which it begins.
    text: Vec<u8>,
    begin: u64,
    place: Place,
    /// Whether the list of events is the outermost value.
    bare: bool,
    /// Whether there is a list of events; how many events were read, and how many of them have a phase.
    listed: bool,
    events: u64,
    phased: u64,
    /// The first byte that could not be read.
    wrong: Option<(Problem, u64)>,
    what: &'static str,
    document: D,
    left: Left,
}

/// A step that could not be made: the value is not complete, or it is no JSON from that byte of the text on.
enum Stop {
    Incomplete,
    Wrong(Wrong),
}

struct Wrong {
    at: usize,
    problem: Problem,
    what: String,
}

impl Stop {
    fn at(at: usize) -> Stop {
        Stop::Wrong(Wrong { at, problem: Problem::Syntax, what: String::new() })
    }

    /// The error of a value that begins at `begin`.
    fn of(error: JiterError, begin: usize) -> Stop {
        use JsonErrorType::*;
        let problem = match &error.error_type {
            JiterErrorType::JsonError(
                EofWhileParsingList | EofWhileParsingObject | EofWhileParsingString | EofWhileParsingValue,
            ) => return Stop::Incomplete,
            JiterErrorType::JsonError(RecursionLimitExceeded) => Problem::NestedTooDeep,
            _ => Problem::Syntax,
        };
        Stop::Wrong(Wrong { at: begin + error.index, problem, what: error.error_type.to_string() })
    }
}

type Step<T> = std::result::Result<T, Stop>;

impl<D: Document> Reader<D> {
    /// `what`: the text in errors.
    pub fn new(what: &'static str, document: D) -> Self {
        Reader {
            text: Vec::new(),
            begin: 0,
            place: Place::Start,
            bare: false,
            listed: false,
            events: 0,
            phased: 0,
            wrong: None,
            what,
            document,
            left: Left::default(),
        }
    }

    /// Reads what is complete of the text so far.
    pub fn feed(&mut self, piece: &[u8]) -> Result<()> {
        self.text.extend_from_slice(piece);
        self.advance(false)
    }

    /// What was read, and what was left out; fails if the text holds no list of events, or no event and is cut off.
    pub fn finish(mut self) -> Result<(D, Left)> {
        self.advance(true)?;
        let end = self.begin + self.text.len() as u64;
        let rest = self.text.iter().any(|byte| !byte.is_ascii_whitespace());
        let ends = self.place == Place::End || self.place == Place::Events && self.bare && !rest;
        if self.phased == 0 {
            if let Some((problem, at)) = self.wrong {
                return Err(self.error(problem, at));
            }
            if !ends {
                return Err(self.error(Problem::Truncated, end));
            }
            if !self.listed || self.bare || self.events > 0 {
                return Err(self.error(Problem::NoEvents, 0));
            }
        }
        if !ends {
            self.left.cut = Some(self.begin);
        }
        Ok((self.document, self.left))
    }

    fn error(&self, problem: Problem, at: u64) -> Error {
        Error::new(problem, self.what, at)
    }

    /// Reads what is complete; `whole`: no more text follows.
    fn advance(&mut self, whole: bool) -> Result<()> {
        let text = std::mem::take(&mut self.text);
        let view = View { text: &text, whole };
        let mut at = 0;
        let outcome = loop {
            let step = match self.step(view, at) {
                Err(Stop::Incomplete) if whole || text.len() - at > LONG_VALUE => match self.after_unclosed(view, at) {
                    Some(next) => Ok(Some(next)),
                    None => Err(Stop::Incomplete),
                },
                Err(Stop::Wrong(wrong)) if self.place != Place::Start => {
                    let first = (wrong.problem, self.begin + wrong.at.min(text.len()) as u64);
                    let before = self.left.parts();
                    let next = self.after_damage(view, at, wrong).map(Some);
                    // What is not complete yet may turn out to be no damage.
                    if self.left.parts() > before || (whole && next.is_err()) {
                        self.wrong.get_or_insert(first);
                    }
                    next
                }
                step => step,
            };
            match step {
                Ok(Some(next)) => at = next,
                Ok(None) => break Ok(()),
                Err(Stop::Incomplete) if text.len() - at > MOST_VALUE => break Err((Problem::TooMany, at)),
                Err(Stop::Incomplete) => break Ok(()),
                Err(Stop::Wrong(wrong)) => break Err((wrong.problem, wrong.at)),
            }
        };
        let outcome = outcome.map_err(|(problem, at)| self.error(problem, self.begin + at as u64));
        self.text = text;
        self.text.drain(..at);
        self.begin += at as u64;
        outcome
    }

    /// Reads one value at `at`; the byte behind it, None at the end of the text or of what has arrived.
    fn step(&mut self, view: View, at: usize) -> Step<Option<usize>> {
        let text = view.text;
        let Some(skipped) = text[at..].iter().position(|byte| !byte.is_ascii_whitespace()) else {
            return Ok(None);
        };
        let at = at + skipped;
        match (self.place, text[at]) {
            (Place::Events, b'{') => {
                let mut json = Jiter::new(&text[at..]).with_allow_inf_nan();
                let phased = self.document.event(&mut json).map_err(|error| Stop::of(error, at))?;
                self.count(phased);
                Ok(Some(at + json.current_index()))
            }
            (Place::Keys | Place::Events, b',') => Ok(Some(at + 1)),
            (Place::Keys, b'"') => self.key(view, at).map(Some),
            (Place::Start, _) if self.begin + at as u64 == 0 && BOM.starts_with(&text[..text.len().min(BOM.len())]) => {
                Ok((text.len() >= BOM.len()).then_some(BOM.len()))
            }
            (Place::Start, byte @ (b'{' | b'[')) => {
                (self.bare, self.listed) = (byte == b'[', byte == b'[');
                self.place = if self.bare { Place::Events } else { Place::Keys };
                Ok(Some(at + 1))
            }
            (Place::Keys, b'}') => {
                self.place = Place::End;
                Ok(Some(at + 1))
            }
            (Place::Events, b']') => {
                self.place = if self.bare { Place::End } else { Place::Keys };
                Ok(Some(at + 1))
            }
            (Place::End, b'{') => match view.begins_event(at) {
                Seen::More => Err(Stop::Incomplete),
                Seen::Yes => Err(Stop::at(at)), // the rest of a longer text, which another was written over
                Seen::No => {
                    self.document.next_text();
                    (self.bare, self.place) = (false, Place::Keys);
                    Ok(Some(at + 1))
                }
            },
            _ => Err(Stop::at(at)),
        }
    }

    fn count(&mut self, phased: bool) {
        self.events += 1;
        self.phased += u64::from(phased);
    }

    /// Reads a key of the outermost object with its value; of the events only the opening bracket.
    fn key(&mut self, view: View, at: usize) -> Step<usize> {
        let text = view.text;
        let (key, begin) = self.key_at(view, at)?;
        if key == "traceEvents" && text[begin] == b'[' {
            (self.listed, self.place) = (true, Place::Events);
            return Ok(begin + 1);
        }
        let mut json = Jiter::new(&text[begin..]).with_allow_inf_nan();
        json.next_skip().map_err(|error| Stop::of(error, begin))?;
        let end = begin + json.current_index();
        if end == text.len() && !view.whole {
            return Err(Stop::Incomplete); // A number may go on.
        }
        match view.next(end) {
            Ok((_, b',' | b'}')) | Err(Seen::No) => {}
            Ok((behind, _)) => return Err(Stop::at(behind)), // a text that a quote within it has ended
            Err(_) => return Err(Stop::Incomplete),
        }
        let within = View { text: &text[begin..end], whole: true };
        if let Some(next) = within.outermost_key().filter(|_| text[begin] == b'{') {
            // An object without its end holds what follows it.
            self.leave_out(at, begin + next, begin, key).count(&mut self.left.keys);
            return Ok(begin + next);
        }
        self.document.header(&key, &text[begin..end]);
        Ok(end)
    }

    /// The key at `at`, and where its value begins.
    fn key_at(&self, view: View, at: usize) -> Step<(String, usize)> {
        let mut json = Jiter::new(&view.text[at..]).with_allow_inf_nan();
        let key = json.next_str().map_err(|error| Stop::of(error, at))?.to_string();
        let next = |from: usize| view.next(from).map_err(|_| Stop::Incomplete);
        let (colon, byte) = next(at + json.current_index())?;
        if byte != b':' {
            return Err(Stop::at(colon));
        }
        Ok((key, next(colon + 1)?.0))
    }

    /// The byte behind what is no JSON at `at`, which is mended or left out.
    fn after_damage(&mut self, view: View, at: usize, wrong: Wrong) -> Step<usize> {
        let begin = at + view.text[at..].iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
        match (self.place, view.text.get(begin)) {
            (Place::Events, Some(b'{')) => self.after_event(view, begin, wrong),
            (Place::Keys, Some(b'"')) => self.after_value(view, begin),
            (Place::Keys, _) => self.after_keys(view, begin, begin, String::new()),
            _ => self.after_stray(view, begin),
        }
    }

    /// Behind a value that does not end, if another one begins within it.
    fn after_unclosed(&mut self, view: View, at: usize) -> Option<usize> {
        let (begin, byte) = view.next(at).ok()?;
        let wrong = Wrong { at: begin, problem: Problem::Truncated, what: "no end".to_string() };
        let next = match (self.place, byte) {
            (Place::Events, b'{') if matches!(end_of_object(view, begin), End::Event(_) | End::List(_)) => {
                self.after_event(view, begin, wrong)
            }
            (Place::Keys, b'"') => {
                let (key, value) = self.key_at(view, begin).ok()?;
                self.after_keys(view, begin, value, key)
            }
            _ => return None,
        };
        next.ok()
    }

    /// Behind a damaged event; it is left out, unless its texts alone are no UTF-8, or it can be mended.
    fn after_event(&mut self, view: View, begin: usize, wrong: Wrong) -> Step<usize> {
        let found = end_of_object(view, begin);
        let end = match found {
            End::Closed(end) | End::Event(end) | End::List(end) => end,
            End::More => return Err(Stop::Incomplete),
            End::Open => view.text.len(),
        };
        let bytes = end - begin;
        let at = self.begin + wrong.at.min(end) as u64;
        let part = Damaged { begin: self.begin + begin as u64, at, what: wrong.what, events: 1, bytes: bytes as u64 };
        let valid = String::from_utf8_lossy(&view.text[begin..end]);
        if let Ok(phased) = self.document.event(&mut Jiter::new(valid.as_bytes()).with_allow_inf_nan()) {
            self.count(phased);
            return Ok(end);
        }
        let whole = View { text: valid.as_bytes(), whole: true };
        if let Ok((json, length)) = mended(whole, 2)
            && let Ok(phased) = self.document.event(&mut Jiter::new(&json).with_allow_inf_nan())
        {
            self.count(phased);
            part.count(&mut self.left.mended);
            // Behind the last event of the text there may be more than the event.
            return Ok(if found == End::Open { begin + length.min(bytes) } else { end });
        }
        if found == End::Open {
            return Err(Stop::Incomplete); // the event at which the text is cut off
        }
        part.count(&mut self.left.damaged);
        Ok(end)
    }

    /// Behind a key of the outermost object whose value is damaged.
    fn after_value(&mut self, view: View, at: usize) -> Step<usize> {
        let Ok((key, begin)) = self.key_at(view, at) else { return self.after_keys(view, at, at + 1, String::new()) };
        match mended(View { text: &view.text[begin..], ..view }, 0) {
            Ok((json, length)) => {
                self.document.header(&key, &json);
                return Ok(begin + length);
            }
            Err(Hopeless::More) => return Err(Stop::Incomplete),
            Err(Hopeless::Open) => {}
        }
        self.after_keys(view, at, begin, key)
    }

    /// Behind text of the outermost object that cannot be read; what follows is looked for from `from` on.
    fn after_keys(&mut self, view: View, begin: usize, from: usize, key: String) -> Step<usize> {
        let end = match next_key(view, from) {
            End::Closed(end) | End::List(end) => end,
            End::Event(end) => {
                (self.listed, self.place) = (true, Place::Events);
                end
            }
            End::More | End::Open => return Err(Stop::Incomplete),
        };
        self.leave_out(begin, end, from, key).count(&mut self.left.keys);
        Ok(if self.place == Place::Events { end } else { end.max(begin + 1) })
    }

    /// Behind text that is no event.
    fn after_stray(&mut self, view: View, begin: usize) -> Step<usize> {
        let end = match next_event(view, begin, self.place == Place::Events) {
            End::Event(end) => {
                (self.listed, self.place) = (true, Place::Events);
                end
            }
            End::List(end) | End::Closed(end) => end,
            End::More => return Err(Stop::Incomplete),
            End::Open => view.text.len(),
        };
        self.leave_out(begin, end, begin, String::new()).count(&mut self.left.stray);
        Ok(end)
    }

    fn leave_out(&self, begin: usize, end: usize, at: usize, what: String) -> Damaged {
        let [begin, end, at] = [begin, end, at].map(|byte| self.begin + byte as u64);
        Damaged { begin, at, what, events: 1, bytes: end - begin }
    }
}
