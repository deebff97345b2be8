//! The memory of one device over its history: which blocks are in use, what segments hold, the largest free block.
//!
//! A snapshot tells the state at its end and the last entries of the history. The state before them follows by undoing
//! them from the end.

use std::collections::BTreeMap;

use ahash::AHashMap;

use super::document::{Action, Block, Entry, Segment};
use super::stacks::Stack;

/// Blocks are multiples of this many bytes.
const UNIT: i64 = 512;
/// Larger blocks are in segments of their own kind, whose rest of up to this many bytes is not split off.
const SMALL: i64 = 1 << 20;

/// A block in use.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    pub size: i64,
    pub requested: i64,
    pub stack: Stack,
}

/// Bytes of a device at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub in_use: i64,
    pub reserved: i64,
    /// None if segments and blocks contradict each other so far.
    pub largest_free: Option<i64>,
}

/// The memory of a device at a moment of its history.
pub struct Memory {
    pub blocks: AHashMap<u64, Live>,
    segments: Segments,
    free: Free,
    in_use: i64,
}

impl Memory {
    /// The state before the first entry.
    pub fn before(segments: &[&Segment], entries: &[Entry]) -> Memory {
        let mut blocks: AHashMap<u64, Live> = AHashMap::new();
        let mut mapped = Segments::default();
        for segment in segments {
            mapped.add(segment.address, segment.size, segment.expandable);
            for &Block { address, size, requested, stack } in &segment.blocks {
                blocks.insert(address, Live { size, requested, stack });
            }
        }
        for entry in entries.iter().rev() {
            let (address, requested) = (entry.address, entry.size);
            match entry.action {
                Action::Alloc => {
                    blocks.remove(&address);
                }
                Action::FreeCompleted => {
                    let size = rounded(requested);
                    blocks.insert(address, Live { size, requested, stack: Stack::default() });
                }
                Action::SegmentAlloc { .. } => {
                    mapped.remove(address, requested);
                }
                Action::SegmentFree { expandable } => mapped.add(address, requested, expandable),
                _ => {}
            }
        }
        let in_use = blocks.values().fold(0i64, |sum, block| sum.saturating_add(block.size));
        let mut free = Free::default();
        for (&begin, &(end, _)) in &mapped.parts {
            free.insert(begin, end);
        }
        for (&address, block) in &blocks {
            free.take(address, block.size, 0);
        }
        Memory { blocks, segments: mapped, free, in_use }
    }

    pub fn state(&self) -> State {
        let largest = self.free.sizes.last_key_value().map_or(0, |(&size, _)| size as i64);
        let largest_free = (!self.free.wrong).then_some(largest);
        State { in_use: self.in_use, reserved: self.segments.bytes.min(i64::MAX as u64) as i64, largest_free }
    }

    /// Goes on by an entry; the block that it allocates or frees.
    pub fn step(&mut self, entry: &Entry) -> Option<Live> {
        let address = entry.address;
        match entry.action {
            Action::Alloc => {
                let size = rounded(entry.size);
                let segment = self.segments.around(address, address.saturating_add(size as u64));
                let whole = segment.is_some_and(|(_, _, expandable)| size > SMALL && !expandable);
                let size = self.free.take(address, size, if whole { SMALL } else { 0 });
                let block = Live { size, requested: entry.size, stack: entry.stack };
                let before = self.blocks.insert(address, block).map_or(0, |one| one.size);
                self.in_use = self.in_use.saturating_add(size - before);
                return Some(block);
            }
            Action::FreeCompleted => {
                let freed = self.blocks.remove(&address)?;
                self.in_use -= freed.size;
                self.give(address, freed.size);
                return Some(freed);
            }
            Action::SegmentAlloc { expandable } => {
                self.segments.add(address, entry.size, expandable);
                self.give(address, entry.size);
            }
            Action::SegmentFree { .. } => {
                self.free.wrong |= !self.segments.remove(address, entry.size);
                self.free.take(address, entry.size, 0);
            }
            _ => {}
        }
        None
    }

    fn give(&mut self, address: u64, size: i64) {
        let end = address.saturating_add(size as u64);
        match self.segments.around(address, end) {
            Some((begin, until, _)) => self.free.give(address, end, begin, until),
            None => self.free.wrong = true,
        }
    }
}

/// The block that the allocator makes for a request.
fn rounded(size: i64) -> i64 {
    size.max(1).saturating_add(UNIT - 1) / UNIT * UNIT
}

/// Segments, or what is mapped of expandable ones: begin to end and whether parts join; and their bytes.
#[derive(Default)]
struct Segments {
    parts: BTreeMap<u64, (u64, bool)>,
    bytes: u64,
}

impl Segments {
    /// Adds a segment; parts of expandable ones join with their neighbours.
    fn add(&mut self, address: u64, size: i64, expandable: bool) {
        let (mut begin, Some(mut end)) = (address, address.checked_add(size as u64)) else { return };
        if size == 0 {
            return;
        }
        if expandable {
            let before = self.parts.range(..begin).next_back().map(|(&begin, &part)| (begin, part));
            if let Some((first, (until, true))) = before
                && until == begin
            {
                self.drop(first);
                begin = first;
            }
            if let Some(&(until, true)) = self.parts.get(&end) {
                self.drop(end);
                end = until;
            }
        }
        self.drop(begin);
        self.insert(begin, end, expandable);
    }

    /// Removes a segment or a part of one; whether it was there.
    fn remove(&mut self, address: u64, size: i64) -> bool {
        let Some(end) = address.checked_add(size as u64) else { return false };
        let Some((begin, until, expandable)) = self.around(address, end) else { return false };
        self.drop(begin);
        self.insert(begin, address, expandable);
        self.insert(end, until, expandable);
        true
    }

    fn insert(&mut self, begin: u64, end: u64, expandable: bool) {
        if begin < end {
            self.parts.insert(begin, (end, expandable));
            self.bytes = self.bytes.saturating_add(end - begin);
        }
    }

    fn drop(&mut self, begin: u64) {
        if let Some((end, _)) = self.parts.remove(&begin) {
            self.bytes -= end - begin;
        }
    }

    /// The segment that holds a block.
    fn around(&self, address: u64, end: u64) -> Option<(u64, u64, bool)> {
        let (&begin, &(until, expandable)) = self.parts.range(..=address).next_back()?;
        (address <= end && end <= until).then_some((begin, until, expandable))
    }
}

/// Free parts of segments: begin to end, and how many there are of each size.
#[derive(Default)]
struct Free {
    parts: BTreeMap<u64, u64>,
    sizes: BTreeMap<u64, usize>,
    wrong: bool,
}

impl Free {
    fn insert(&mut self, begin: u64, end: u64) {
        if begin < end && self.parts.insert(begin, end).is_none() {
            *self.sizes.entry(end - begin).or_default() += 1;
        }
    }

    fn remove(&mut self, begin: u64) {
        let Some(end) = self.parts.remove(&begin) else { return };
        if let Some(count) = self.sizes.get_mut(&(end - begin)) {
            *count -= 1;
            if *count == 0 {
                self.sizes.remove(&(end - begin));
            }
        }
    }

    /// Takes a block and a rest behind it of up to `rest` bytes; the bytes that are taken.
    fn take(&mut self, address: u64, size: i64, rest: i64) -> i64 {
        let end = address.saturating_add(size as u64);
        match self.parts.range(..=address).next_back().map(|(&begin, &until)| (begin, until)) {
            Some((begin, until)) if end <= until => {
                self.remove(begin);
                self.insert(begin, address);
                if until - end <= rest as u64 {
                    return (until - address) as i64;
                }
                self.insert(end, until);
            }
            _ => self.wrong |= size > 0,
        }
        size
    }

    /// Frees a part of the segment from `first` to `last`.
    fn give(&mut self, address: u64, end: u64, first: u64, last: u64) {
        let (mut from, mut to) = (address, end);
        if let Some((&begin, &until)) = self.parts.range(..end).next_back() {
            if until > address {
                self.wrong = true;
                return;
            }
            if until == address && begin >= first {
                self.remove(begin);
                from = begin;
            }
        }
        if let Some(&until) = self.parts.get(&end).filter(|&&until| until <= last) {
            self.remove(end);
            to = until;
        }
        self.insert(from, to);
    }
}
