//! What reading a damaged text has cost.

use std::collections::BTreeMap;

/// What was left out or mended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Byte of the text at which it ends in the middle.
    pub cut: Option<u64>,
    /// Events that are no JSON and were left out.
    pub damaged: Option<Damaged>,
    /// Events that are no JSON, and were mended; `bytes` are theirs.
    pub mended: Option<Damaged>,
    /// Text between events that belongs to none.
    pub stray: Option<Damaged>,
    /// Values of the outermost object that were left out; `what` is the first key.
    pub keys: Option<Damaged>,
    /// Kinds of events that the document does not read, and how many there are.
    pub unread: BTreeMap<String, u64>,
    /// Lines with events of impossible times.
    pub times: Vec<LineTimes>,
}

/// Events of a line with impossible times: how many are left out, and how many end earlier than recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineTimes {
    pub plane: String,
    pub line: String,
    pub left_out: u64,
    pub shortened: u64,
}

impl Left {
    /// How many parts were left out.
    pub fn parts(&self) -> u64 {
        [&self.damaged, &self.stray, &self.keys].into_iter().flatten().map(|one| one.events).sum()
    }
}

/// Damaged parts of the text.
#[derive(Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The first byte of the first one, and that at which it cannot be read.
    pub begin: u64,
    pub at: u64,
    /// What is wrong there.
    pub what: String,
    /// How many there are, with how many bytes.
    pub events: u64,
    pub bytes: u64,
}

impl Damaged {
    /// Adds these parts to all.
    pub fn count(self, all: &mut Option<Damaged>) {
        match all {
            _ if self.bytes == 0 => {}
            Some(all) => {
                all.events += self.events;
                all.bytes += self.bytes;
            }
            None => *all = Some(self),
        }
    }
}
