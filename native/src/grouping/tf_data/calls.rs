//! The calls of iterators as columns, and the roles of the events that they come from.

use crate::kernels::rows::Rows;

/// Roles of events by name. Producers and consumers of kind k are `PRODUCE + 2 * k` and one more.
pub const ITERATOR: u8 = 1;
pub const ROOT: u8 = 2;
pub const PRODUCE: u8 = 4;

/// Calls are numbered in the order of the file, iterators in the order of their first call.
#[derive(Debug, Default)]
pub struct IteratorCalls {
    /// Per call: its event, times (durations are at least 0), and iterator ([`NONE`] when the event names none).
    pub event: Vec<u32>,
    pub begin: Vec<i64>,
    pub duration: Vec<i64>,
    pub iterator: Vec<u32>,
    /// Per iterator: its id, that of its parent (0: none), and its first call.
    pub id: Vec<u64>,
    pub parent: Vec<u64>,
    pub first: Vec<u32>,
    /// Calls of iterators by the program itself.
    pub roots: Vec<u32>,
    pub(super) children: Rows,
    /// Place of each iterator in the order of ids.
    pub(super) rank: Vec<u32>,
}

impl IteratorCalls {
    /// The iterator id of a call, if its event has one.
    pub fn id_of_call(&self, call: u32) -> Option<u64> {
        self.id.get(*self.iterator.get(call as usize)? as usize).copied()
    }

    pub(super) fn end(&self, call: u32) -> i64 {
        self.begin[call as usize].saturating_add(self.duration[call as usize])
    }

    /// Bytes held.
    pub fn size(&self) -> usize {
        self.event.len() * 24 + self.children.size() + self.id.len() * 28 + self.roots.len() * 4
    }
}
