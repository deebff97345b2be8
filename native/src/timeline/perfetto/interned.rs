//! Texts by number: packets name them by it, and a packet with the texts precedes those that need them.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::kernels::rows::Seeded;
use crate::timeline::answer::arguments::LONGEST_NAME;
use crate::timeline::model::trace::HIDDEN;
use crate::wire::tags::perfetto::{InternedData, InternedText};
use crate::wire::write::{message, number};

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

/// A text as UTF-8, cut if it is very long.
pub fn shown(text: &[u8]) -> Cow<'_, [u8]> {
    let whole = text.len() <= LONGEST_NAME;
    let part = if whole { text } else { &text[..LONGEST_NAME] };
    match (whole, String::from_utf8_lossy(part)) {
        (true, Cow::Borrowed(_)) => Cow::Borrowed(text),
        (true, Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
        (false, cut) => Cow::Owned(format!("{cut}...<truncated>").into_bytes()),
    }
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
        assert_eq!(shown(b"a\xff").as_ref(), "a\u{fffd}".as_bytes());
        let cut = shown(&[b'x'; 20_000]).into_owned();
        assert_eq!(cut.len(), LONGEST_NAME + "...<truncated>".len());
    }
}
