//! Category and arguments of events: those that events with the same metadata share are encoded once. Texts are told by
//! number: packets name them by it, and a packet with the texts precedes those that need them.

use std::collections::HashMap;

use crate::kernels::rows::Seeded;
use crate::timeline::answer::arguments::{Args, LONGEST_NAME, Value};
use crate::timeline::model::trace::HIDDEN;
use crate::timeline::perfetto::packets::fixed;
use crate::wire::tags::perfetto::{DebugAnnotation, InternedData, InternedText, TrackEvent};
use crate::wire::write::{message, number};

/// An event has at most this many arguments of its own, and as many of its metadata.
const MOST_ARGS: usize = 64;

/// Name of the argument with the duration in ps where times in ns do not give it.
const EXACT: &[u8] = b"duration_ps";

/// The argument that is the category of an event.
const CATEGORY: &[u8] = b"hlo_category";

/// Arguments that events with the same metadata share, as fields of a `TrackEvent`.
#[derive(Clone, Copy)]
struct Shared {
    first: usize,
    last: usize,
    /// Number of the category; 0: that of the table.
    category: u64,
    keys: (usize, usize),
}

/// Keys with a meaning.
pub struct Known {
    category: Option<u32>,
    /// Whether stats have the name of the exact duration.
    has_exact: bool,
}

impl Known {
    pub fn of(args: &Args) -> Known {
        let find = |name: &[u8]| (0..args.keys.len() as u32).find(|&key| args.keys.text(key) == name);
        Known { category: find(CATEGORY), has_exact: find(EXACT).is_some() }
    }
}

/// Encodes the arguments of one host's events.
#[derive(Default)]
pub struct Annotations {
    pub texts: Interned,
    /// Category of the events of each table.
    categories: Vec<String>,
    shared: HashMap<u64, Shared, Seeded>,
    encoded: Vec<u8>,
    keys: Vec<u32>,
    scratch: Vec<u8>,
}

impl Annotations {
    pub fn new(categories: Vec<String>) -> Annotations {
        Annotations { categories, ..Annotations::default() }
    }

    /// Group of an event.
    pub fn group(&mut self, args: &Args, group: i64, out: &mut Vec<u8>) {
        self.annotation(args, (args.group_id, Value::Int(group)), false, out);
    }

    /// Duration of an event in ps; nothing where a stat has the name.
    pub fn exact(&mut self, args: &Args, known: &Known, duration: i64, out: &mut Vec<u8>) {
        if !known.has_exact {
            // The number behind those of the profile's keys.
            self.annotation(args, (args.keys.len() as u32, Value::Int(duration)), false, out);
        }
    }

    /// Category and arguments of an event; each key once, that of the event before that of its metadata.
    pub fn stats<'a>(
        &mut self,
        args: &Args<'a>,
        known: &Known,
        source: usize,
        list: &mut Vec<(u32, Value<'a>)>,
        out: &mut Vec<u8>,
    ) {
        let Some(place) = args.locate(source) else { return };
        let key = (place.sheet as u64) << 32 | u64::from(place.row);
        let shared = match self.shared.get(&key) {
            Some(&shared) => shared,
            None => {
                list.clear();
                args.of_metadata(&place, list);
                let shared = self.share(args, known.category, list);
                self.shared.insert(key, shared);
                shared
            }
        };
        let category_iid = if shared.category != 0 {
            shared.category
        } else {
            let name = self.categories.get(place.sheet).map_or("", String::as_str);
            self.texts.category(name.as_bytes())
        };
        number(out, TrackEvent::CATEGORY_IIDS, category_iid as i64);
        list.clear();
        args.of_event(&place, list);
        let taken = &self.keys[shared.keys.0..shared.keys.1];
        if list.iter().any(|(key, _)| taken.contains(key)) {
            args.collect(source, list);
            list.retain(|(key, _)| Some(*key) != known.category);
        } else {
            out.extend_from_slice(&self.encoded[shared.first..shared.last]);
        }
        for &argument in list.iter().filter(|(key, _)| *key != args.group_id).take(MOST_ARGS) {
            self.annotation(args, argument, false, out);
        }
    }

    /// Keeps the encoded arguments that all events with one metadata have.
    fn share(&mut self, args: &Args, category: Option<u32>, list: &[(u32, Value)]) -> Shared {
        let (first, first_key) = (self.encoded.len(), self.keys.len());
        let mut encoded = std::mem::take(&mut self.encoded);
        let mut number = 0;
        for &(key, value) in list.iter().filter(|(key, _)| *key != args.group_id).take(MOST_ARGS) {
            self.keys.push(key);
            match args.text(value) {
                Some(text) if Some(key) == category && !text.is_empty() => number = self.texts.category(text),
                _ => self.annotation(args, (key, value), true, &mut encoded),
            }
        }
        self.encoded = encoded;
        Shared { first, last: self.encoded.len(), category: number, keys: (first_key, self.keys.len()) }
    }

    /// One argument; texts that many events may have (`shared`) are numbered.
    fn annotation(&mut self, args: &Args, (key, value): (u32, Value), shared: bool, out: &mut Vec<u8>) {
        if value == Value::Opaque || key == args.flow {
            return;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let name = self.texts.key(key, || if key as usize == args.keys.len() { EXACT } else { args.keys.text(key) });
        number(&mut scratch, DebugAnnotation::NAME_IID, name as i64);
        match value {
            Value::Int(value) => number(&mut scratch, DebugAnnotation::INT_VALUE, value),
            Value::Uint(value) => number(&mut scratch, DebugAnnotation::UINT_VALUE, value as i64),
            Value::Double(value) => fixed(&mut scratch, DebugAnnotation::DOUBLE_VALUE, value.to_bits()),
            Value::Known(id) => {
                let id = self.texts.known(id, || args.texts.text(id));
                number(&mut scratch, DebugAnnotation::STRING_VALUE_IID, id as i64);
            }
            Value::Text(text) if shared => {
                let id = self.texts.placed(text);
                number(&mut scratch, DebugAnnotation::STRING_VALUE_IID, id as i64);
            }
            Value::Text(text) => message(&mut scratch, DebugAnnotation::STRING_VALUE, &shown(text)),
            Value::Opaque => {}
        }
        message(out, TrackEvent::DEBUG_ANNOTATIONS, &scratch);
        self.scratch = scratch;
    }
}

/// Numbers that are in the file already: of texts, and what stands for a text that the profile lacks.
#[derive(Default)]
struct Seen {
    words: Vec<u64>,
    lacking: bool,
}

impl Seen {
    /// Whether the number is new; it is not from then on.
    #[inline]
    fn add(&mut self, id: u32) -> bool {
        if id == HIDDEN {
            return !std::mem::replace(&mut self.lacking, true);
        }
        let (word, bit) = (id as usize / 64, 1u64 << (id % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }
}

/// The texts of a sequence of packets.
#[derive(Default)]
pub struct Interned {
    names: Seen,
    keys: Seen,
    known: Seen,
    places: HashMap<(usize, usize), u64, Seeded>,
    categories: HashMap<Vec<u8>, u64>,
    /// Fields of `InternedData` that are not in the file yet.
    pending: Vec<u8>,
}

impl Interned {
    /// Number of the name of an event; `text` is asked for once.
    #[inline]
    pub fn name<'a>(&mut self, id: u32, text: impl FnOnce() -> &'a [u8]) -> u64 {
        if self.names.add(id) {
            self.entry(InternedData::EVENT_NAMES, u64::from(id) + 1, text());
        }
        u64::from(id) + 1
    }

    /// Number of the name of an argument.
    pub fn key<'a>(&mut self, id: u32, text: impl FnOnce() -> &'a [u8]) -> u64 {
        if self.keys.add(id) {
            self.entry(InternedData::DEBUG_ANNOTATION_NAMES, u64::from(id) + 1, text());
        }
        u64::from(id) + 1
    }

    /// Number of a text value that has an id.
    pub fn known<'a>(&mut self, id: u32, text: impl FnOnce() -> &'a [u8]) -> u64 {
        let number = 2 * u64::from(id) + 1;
        if self.known.add(id) {
            self.entry(InternedData::DEBUG_ANNOTATION_STRING_VALUES, number, text());
        }
        number
    }

    /// Number of a text value in the profile's bytes, by its place there.
    pub fn placed(&mut self, text: &[u8]) -> u64 {
        let next = 2 * self.places.len() as u64 + 2;
        let number = *self.places.entry((text.as_ptr() as usize, text.len())).or_insert(next);
        if number == next {
            self.entry(InternedData::DEBUG_ANNOTATION_STRING_VALUES, number, text);
        }
        number
    }

    /// Number of a category.
    pub fn category(&mut self, text: &[u8]) -> u64 {
        if let Some(&number) = self.categories.get(text) {
            return number;
        }
        let number = self.categories.len() as u64 + 1;
        self.categories.insert(text.to_vec(), number);
        self.entry(InternedData::EVENT_CATEGORIES, number, text);
        number
    }

    fn entry(&mut self, field: u32, iid: u64, text: &[u8]) {
        let mut body = Vec::with_capacity(text.len().min(LONGEST_NAME) + 16);
        number(&mut body, InternedText::IID, iid as i64);
        message(&mut body, InternedText::TEXT, &shown(text));
        message(&mut self.pending, field, &body);
    }

    /// Takes the fields of `InternedData` that are not in the file yet.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }
}

/// A text as UTF-8, cut if it is very long; the text may change while it is read (`wire::text`), so its copy is checked.
fn shown(text: &[u8]) -> Vec<u8> {
    let copy = text[..text.len().min(LONGEST_NAME)].to_vec();
    let mut shown = match String::from_utf8(copy) {
        Ok(valid) => valid.into_bytes(),
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned().into_bytes(),
    };
    if text.len() > LONGEST_NAME {
        shown.extend_from_slice(b"...<truncated>");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_written_once() {
        let mut texts = Interned::default();
        assert_eq!([texts.name(70, || b"a"), texts.name(70, || b"a"), texts.key(70, || b"k")], [71, 71, 71]);
        let data = b"one two";
        assert_eq!([texts.known(0, || b"v"), texts.placed(&data[..3]), texts.placed(&data[4..])], [1, 2, 4]);
        assert_eq!([texts.placed(&data[..3]), texts.category(b"c"), texts.category(b"c")], [2, 1, 1]);
        let written = texts.take();
        let count = |text: &[u8]| written.windows(text.len()).filter(|part| *part == text).count();
        assert_eq!([count(b"\x12\x01a"), count(b"\x12\x03one"), count(b"\x12\x01c")], [1; 3]);
        assert!(texts.take().is_empty());
    }

    #[test]
    fn a_text_that_the_profile_lacks_takes_no_room() {
        let mut texts = Interned::default();
        let number = 2 * u64::from(HIDDEN) + 1;
        assert_eq!(
            [texts.known(HIDDEN, || b""), texts.known(HIDDEN, || panic!("twice")), texts.known(64, || b"v")],
            [number, number, 129]
        );
        assert_eq!(texts.known.words.len(), 2);
    }

    #[test]
    fn texts_are_utf8_and_of_bounded_length() {
        assert_eq!(shown(b"a\xff"), "a\u{fffd}".as_bytes());
        assert_eq!(shown(&[b'x'; 20_000]).len(), LONGEST_NAME + "...<truncated>".len());
    }
}
