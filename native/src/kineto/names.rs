//! Texts of a trace as numbers: each distinct text is kept once.

use std::sync::Arc;

use ahash::AHashMap;

/// Names of arguments that are left out, because other fields have the same value or no tool uses them.
const LEFT_OUT: [&str; 9] = [
    "Ev Idx",
    "Profiler Event Index",
    "Record function id",
    "Trace name",
    "Trace iteration",
    "Python thread",
    "cbid",
    "queued",
    "context",
];

/// Names of arguments as the first versions wrote them, and as later ones do.
const FORMER: [(&str, &str); 1] = [("external id", "External id")];

/// Texts by number; 0 is the empty text, those of `LEFT_OUT` follow, then the pairs of `FORMER`.
#[derive(Debug)]
pub struct Texts {
    numbers: AHashMap<Arc<str>, u32>,
    list: Vec<Arc<str>>,
}

impl Default for Texts {
    fn default() -> Self {
        let mut texts = Texts { numbers: AHashMap::new(), list: Vec::new() };
        for name in [""].into_iter().chain(LEFT_OUT).chain(FORMER.into_iter().flat_map(|(old, new)| [old, new])) {
            texts.number(name);
        }
        texts
    }
}

impl Texts {
    /// The number of a text.
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.list.len() as u32;
        let text: Arc<str> = text.into();
        self.numbers.insert(text.clone(), number);
        self.list.push(text);
        number
    }

    /// The number of a text that is known.
    pub fn known(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    /// The number of an argument's name; None for those that are left out.
    pub fn key(&mut self, name: &str) -> Option<u32> {
        let number = self.number(name);
        let behind = (number as usize).checked_sub(LEFT_OUT.len() + 1)?;
        Some(if behind < 2 * FORMER.len() && behind % 2 == 0 { number + 1 } else { number })
    }

    pub fn get(&self, number: u32) -> &str {
        &self.list[number as usize]
    }
}

/// At most so many bytes of a text.
pub fn begin_of(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}
