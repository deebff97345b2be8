//! Snapshots of PyTorch's allocator for CUDA (`torch.cuda.memory._dump_snapshot`), written as an XSpace.
//!
//! A snapshot is a pickle of plain values (`pickle`) of a documented form (`document`). The memory of each device follows
//! from its history (`memory`); each block becomes an event where it is allocated and one where it is freed.

mod document;
mod memory;
mod pickle;
mod stacks;

use std::collections::BTreeMap;

use crate::error::Result;
use crate::kineto::event::Value;
use crate::kineto::names::Texts;
use crate::kineto::plane::{Line, Plane};
use crate::wire::tags::xplane::XEvent;
use document::{Action, Entry, Segment, Snapshot};
use memory::{Live, Memory, State};
use stacks::{Stack, Stacks};

/// Ns between events whose times are not recorded.
const STRIDE: i64 = 1000;

/// What a reader has to tell beside the XSpace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Entries of the history, and those without a time.
    pub entries: u64,
    pub untimed: u64,
    /// Texts of call stacks that are left out.
    pub stacks_left_out: u64,
}

/// The XSpace of a snapshot.
pub fn to_space(data: &[u8]) -> Result<(Vec<u8>, Told)> {
    let pickle = pickle::read(data)?;
    let mut stacks = Stacks::new(data.len());
    let mut snapshot = document::read(&pickle, data.len(), &mut stacks)?;
    let mut told = Told { stacks_left_out: stacks.left_out, ..Told::default() };
    let (begin, end) = settle(&mut snapshot, &mut told);
    let mut texts = stacks.texts;
    let names: Vec<u32> = pickle.texts.iter().map(|_| 0).collect();
    let mut names = Names { pickled: &pickle.texts, numbers: names };
    let mut out = Vec::new();
    environment(&snapshot, (begin, end), &mut texts, &mut out);
    let mut host = Plane::new(0, "/host:CPU");
    let keys = Keys::of(&mut texts);
    let devices = devices(&snapshot);
    for (&device, segments) in &devices {
        let entries = snapshot.traces.get(device).map_or(&[][..], |entries| entries);
        let mut writer = Writer {
            keys: &keys,
            texts: &mut texts,
            names: &mut names,
            plane: &mut host,
            allocator: 0,
            peak: 0,
            size: 0,
        };
        writer.device(device, segments, entries, begin);
    }
    notes(&snapshot, begin, (&mut host, &mut texts, &mut names));
    host.finish(&texts, &mut out);
    for device in devices.into_keys() {
        Plane::new(device as i64 + 1, &format!("/device:GPU:{device}")).finish(&texts, &mut out);
    }
    Ok((out, told))
}

/// The devices that the snapshot tells something of, with their segments.
fn devices(snapshot: &Snapshot) -> BTreeMap<usize, Vec<&Segment>> {
    let traced = snapshot.traces.iter().enumerate().filter(|(_, entries)| !entries.is_empty());
    let mut devices: BTreeMap<usize, Vec<&Segment>> = traced.map(|(device, _)| (device, Vec::new())).collect();
    for segment in &snapshot.segments {
        if let Some(device) = usize::try_from(segment.device).ok().filter(|&device| device < document::MOST_DEVICES) {
            devices.entry(device).or_default().push(segment);
        }
    }
    devices
}

/// Gives every entry a time that is not before the one of the entry before it. First and last time, in ns.
fn settle(snapshot: &mut Snapshot, told: &mut Told) -> (i64, i64) {
    let entries = || snapshot.traces.iter().flatten();
    told.entries = entries().count() as u64;
    told.untimed = entries().filter(|entry| entry.time.is_none()).count() as u64;
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for trace in &mut snapshot.traces {
        let mut now = 0;
        for entry in trace {
            let time = if told.untimed > 0 { now + STRIDE } else { entry.time.unwrap_or(now).max(now) };
            now = time;
            entry.time = Some(time);
            (first, last) = (first.min(time), last.max(time));
        }
    }
    if told.untimed == 0 {
        for note in &snapshot.notes {
            (first, last) = (first.min(note.time), last.max(note.time));
        }
    } else {
        snapshot.notes.clear();
    }
    if first > last { (0, 0) } else { (first, last) }
}

/// Ps from the begin of the recording to a time.
fn since(begin: i64, time: i64) -> i64 {
    time.saturating_sub(begin).saturating_mul(1000)
}

/// Numbers of the texts of a pickle among those of the XSpace.
struct Names<'p, 'a> {
    pickled: &'p [&'a [u8]],
    numbers: Vec<u32>,
}

impl Names<'_, '_> {
    fn number(&mut self, texts: &mut Texts, text: u32) -> u32 {
        let known = &mut self.numbers[text as usize];
        if *known == 0 {
            let bytes = self.pickled[text as usize];
            *known = texts.number(&String::from_utf8_lossy(&bytes[..bytes.len().min(512)]));
        }
        *known
    }
}

fn environment(snapshot: &Snapshot, (begin, end): (i64, i64), texts: &mut Texts, out: &mut Vec<u8>) {
    let mut plane = Plane::new(0, "Task Environment");
    if begin > 0 {
        for (name, value) in [("profile_start_time", begin), ("profile_stop_time", end)] {
            plane.fact(texts.number(name), Value::Int(value));
        }
    }
    for (name, value) in &snapshot.settings {
        let value = texts.number(value);
        plane.fact(texts.number(name), Value::Text(value));
    }
    plane.finish(texts, out);
}

/// Ranges that the program marked, a line per device.
fn notes(snapshot: &Snapshot, begin: i64, (plane, texts, names): (&mut Plane, &mut Texts, &mut Names)) {
    let mut open: Vec<(i64, u32, i64)> = Vec::new();
    let mut ranges: Vec<(i64, i64, i64, u32)> = Vec::new();
    for note in &snapshot.notes {
        let name = names.number(texts, note.name);
        if note.begins {
            open.push((note.device, name, note.time));
        } else if let Some(at) = open.iter().rev().take(64).position(|one| (one.0, one.1) == (note.device, name)) {
            let (device, name, from) = open.remove(open.len() - 1 - at);
            ranges.push((device, from, (note.time - from).max(0), name));
        }
    }
    ranges.sort_unstable();
    for group in ranges.chunk_by(|one, other| one.0 == other.0) {
        let device = group[0].0;
        let mut line = Line::new(device.saturating_add(2_000_000), &format!("GPU {device} annotations"), begin, 0);
        for &(_, from, duration, name) in group {
            let id = plane.event((1, name), || (texts.get(name).to_string(), String::new()));
            line.begin(since(begin, from), duration.saturating_mul(1000), id);
            line.end();
        }
        plane.line(line.bytes());
    }
}

struct Keys {
    allocator: u32,
    numbers: [u32; 8],
    fragmentation: u32,
    op: u32,
    region: u32,
    source: u32,
    lines: u32,
    size: u32,
}

const NUMBERS: [&str; 8] = [
    "addr",
    "requested_bytes",
    "allocation_bytes",
    "bytes_allocated",
    "bytes_available",
    "peak_bytes_in_use",
    "segment_bytes",
    "largest_free_block_bytes",
];
/// The use of blocks that were allocated before the history begins.
const BEFORE: &str = "before the recording";

impl Keys {
    fn of(texts: &mut Texts) -> Keys {
        let mut key = |name: &str| texts.number(name);
        Keys {
            allocator: key("allocator_name"),
            numbers: NUMBERS.map(&mut key),
            fragmentation: key("fragmentation"),
            op: key("tf_op"),
            region: key("region_type"),
            source: key("source"),
            lines: key("source_stack"),
            size: key("bytes"),
        }
    }
}

struct Writer<'w, 'p, 'a> {
    keys: &'w Keys,
    texts: &'w mut Texts,
    names: &'w mut Names<'p, 'a>,
    plane: &'w mut Plane,
    /// Number of the allocator's name.
    allocator: u32,
    peak: i64,
    /// Memory of the device; 0 if unknown.
    size: i64,
}

impl Writer<'_, '_, '_> {
    fn device(&mut self, device: usize, segments: &[&Segment], entries: &[Entry], begin: i64) {
        self.allocator = self.texts.number(&format!("GPU_{device}_caching"));
        let mut memory = Memory::before(segments, entries);
        self.size = device_size(segments, entries);
        let name = format!("GPU {device} allocator");
        let (mut blocks, mut others) = (
            Line::new(device as i64 + 1, &name, begin, 0),
            Line::new(device as i64 + 1_000_001, &format!("GPU {device} segments"), begin, 0),
        );
        self.before(&memory, &mut blocks);
        let mut has_others = false;
        let mut freeing = ahash::AHashMap::new();
        for entry in entries {
            let time = since(begin, entry.time.unwrap_or(begin));
            let block = memory.step(entry);
            match entry.action {
                Action::Alloc => {
                    if let Some(block) = block {
                        let region = entry.label.map_or(0, |label| self.names.number(self.texts, label));
                        self.event(&mut blocks, time, true, (entry.address, block, region), Some(memory.state()));
                    }
                }
                Action::FreeCompleted => {
                    let asked = freeing.remove(&entry.address).unwrap_or_default();
                    if let Some(block) = block {
                        let stack = if entry.stack == Stack::default() { asked } else { entry.stack };
                        let block = Live { stack, ..block };
                        self.event(&mut blocks, time, false, (entry.address, block, 0), Some(memory.state()));
                    }
                }
                Action::FreeRequested => {
                    freeing.insert(entry.address, entry.stack);
                }
                action => {
                    has_others = true;
                    self.other(&mut others, time, action, entry);
                }
            }
        }
        self.plane.line(blocks.bytes());
        if has_others {
            self.plane.line(others.bytes());
        }
    }

    /// Events of the blocks that are in use before the history begins, by address; the state is that after all of them.
    fn before(&mut self, memory: &Memory, line: &mut Line) {
        let mut blocks: Vec<(u64, Live)> = memory.blocks.iter().map(|(&address, &block)| (address, block)).collect();
        blocks.sort_unstable_by_key(|&(address, _)| address);
        let region = if blocks.is_empty() { 0 } else { self.texts.number(BEFORE) };
        let (count, mut in_use) = (blocks.len(), 0i64);
        for (at, (address, block)) in blocks.into_iter().enumerate() {
            in_use = in_use.saturating_add(block.size);
            let state = memory.state();
            let state = if at + 1 == count { state } else { State { in_use, largest_free: None, ..state } };
            self.event(line, 0, true, (address, block, region), Some(state));
        }
    }

    fn event(
        &mut self,
        line: &mut Line,
        time: i64,
        allocates: bool,
        (address, block, region): (u64, Live, u32),
        state: Option<State>,
    ) {
        let Some(state) = state else { return };
        let name = if allocates { "MemoryAllocation" } else { "MemoryDeallocation" };
        let id = self.plane.event((0, allocates.into()), || (name.to_string(), String::new()));
        self.peak = self.peak.max(state.in_use);
        let event = line.begin(time, 0, id);
        let (plane, keys) = (&mut *self.plane, self.keys);
        let mut stat = |key: u32, value: Value| plane.stat(event, XEvent::STATS, key, value);
        stat(keys.allocator, Value::Text(self.allocator));
        let available = if self.size > 0 { (self.size - state.in_use).max(0) } else { 0 };
        let mut values = [
            address as i64,
            block.requested,
            block.size,
            state.in_use,
            available,
            self.peak,
            state.reserved,
            state.largest_free.unwrap_or(-1),
        ]
        .into_iter();
        for (&key, value) in keys.numbers.iter().zip(&mut values) {
            if value >= 0 || key == keys.numbers[0] {
                stat(key, Value::Int(value));
            }
        }
        let free = state.reserved - state.in_use;
        if let Some(largest) = state.largest_free.filter(|_| free > 0) {
            stat(keys.fragmentation, Value::Double((1.0 - largest as f64 / free as f64).max(0.0)));
        }
        let Stack { source, lines, op } = block.stack;
        for (key, text) in [(keys.op, op), (keys.region, region), (keys.source, source), (keys.lines, lines)] {
            if text != 0 {
                stat(key, Value::Text(text));
            }
        }
        line.end();
    }

    /// What happens to segments, and allocations that fail.
    fn other(&mut self, line: &mut Line, time: i64, action: Action, entry: &Entry) {
        let (kind, name) = match action {
            Action::SegmentAlloc { expandable: false } => (0, "segment allocated"),
            Action::SegmentAlloc { expandable: true } => (1, "segment mapped"),
            Action::SegmentFree { expandable: false } => (2, "segment freed"),
            Action::SegmentFree { expandable: true } => (3, "segment unmapped"),
            Action::OutOfMemory => (4, "out of memory"),
            _ => (5, "snapshot"),
        };
        let id = self.plane.event((2, kind), || (name.to_string(), String::new()));
        let event = line.begin(time, 0, id);
        let (plane, keys) = (&mut *self.plane, self.keys);
        let mut stat = |key: u32, value: Value| plane.stat(event, XEvent::STATS, key, value);
        if action != Action::Snapshot {
            stat(keys.size, Value::Int(entry.size));
        }
        let Stack { source, lines, .. } = entry.stack;
        for (key, text) in [(keys.source, source), (keys.lines, lines)] {
            if text != 0 {
                stat(key, Value::Text(text));
            }
        }
        line.end();
    }
}

/// The memory of a device, if an allocation failed: what segments hold and what the device has free.
fn device_size(segments: &[&Segment], entries: &[Entry]) -> i64 {
    let mut memory = Memory::before(segments, entries);
    let mut size = 0;
    for entry in entries {
        memory.step(entry);
        if entry.action == Action::OutOfMemory && entry.device_free > 0 {
            size = size.max(memory.state().reserved.saturating_add(entry.device_free));
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_pickle_of_plain_values_is_refused_at_its_opcode() {
        let refused = |data: &[u8]| to_space(data).unwrap_err().to_string();
        assert_eq!(refused(b"\x80\x04cos\nsystem\n."), "only plain values are read, not opcode GLOBAL at byte 2");
        assert_eq!(refused(b"\x80\x02]q\x00q\x05."), "too many entries in memo of pickle at byte 5");
        assert_eq!(refused(b"\x80\x04X\xff\xff\xff\xff"), "truncated pickle at byte 2");
        assert_eq!(refused(b"\x80\x04."), "unexpected character in pickle at byte 2");
        assert_eq!(refused(&[b'('; 1000]), "groups nested too deeply in pickle at byte 64");
        assert_eq!(refused(b"\x80\x04}."), "no list of events in pickle: neither segments nor device_traces at byte 0");
    }
}
