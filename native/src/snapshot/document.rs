//! What a snapshot says, out of the values of its pickle: segments with their blocks, and the history of each device.

use ahash::AHashMap;

use super::pickle::{Pickle, Value};
use super::stacks::{Stack, Stacks};
use crate::error::{Error, Problem, Result};

/// Keys of a dict that are looked at: those of the documented form are fewer.
const MOST_KEYS: usize = 64;
pub const MOST_DEVICES: usize = 1024;
/// An entry or a block takes more bytes of the file than this, unless containers are shared.
const LEAST_BYTES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Alloc,
    FreeRequested,
    FreeCompleted,
    /// A segment, or a part of an expandable one.
    SegmentAlloc {
        expandable: bool,
    },
    SegmentFree {
        expandable: bool,
    },
    OutOfMemory,
    Snapshot,
}

#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub action: Action,
    pub address: u64,
    pub size: i64,
    /// Unix time in ns, None if it is not recorded.
    pub time: Option<i64>,
    pub stack: Stack,
    /// Number of a text: what the program or the profiler says the memory is for.
    pub label: Option<u32>,
    /// What the device has free when an allocation fails.
    pub device_free: i64,
}

#[derive(Debug)]
pub struct Segment {
    pub device: i64,
    pub address: u64,
    pub size: i64,
    pub expandable: bool,
    pub blocks: Vec<Block>,
}

/// A block that is not free for reuse.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub address: u64,
    pub size: i64,
    pub requested: i64,
    pub stack: Stack,
}

/// A range that the program marked.
#[derive(Debug)]
pub struct Note {
    pub device: i64,
    pub name: u32,
    pub begins: bool,
    pub time: i64,
}

#[derive(Debug, Default)]
pub struct Snapshot {
    pub segments: Vec<Segment>,
    /// By number of the device.
    pub traces: Vec<Vec<Entry>>,
    pub notes: Vec<Note>,
    /// Names and values, as texts.
    pub settings: Vec<(String, String)>,
}

/// Reads the documented form; what has another type than documented is left out. Fails if it is no snapshot.
pub fn read(pickle: &Pickle, length: usize, stacks: &mut Stacks) -> Result<Snapshot> {
    let mut reader = Reader { pickle, left: length / LEAST_BYTES, stacks, stack_of: AHashMap::new() };
    let Some(Value::Dict(root)) = pickle.root else { return Err(not_a_snapshot()) };
    let root = Fields { pickle, dict: root };
    let (segments, traces) = (root.list(b"segments"), root.list(b"device_traces"));
    if segments.is_none() && traces.is_none() {
        return Err(not_a_snapshot());
    }
    let mut snapshot = Snapshot::default();
    for &segment in segments.unwrap_or_default() {
        snapshot.segments.extend(reader.segment(segment)?);
    }
    if traces.is_some_and(|traces| traces.len() > MOST_DEVICES) {
        return Err(Error::new(Problem::TooMany, "snapshot", 0));
    }
    for &trace in traces.unwrap_or_default() {
        reader.count()?;
        let mut entries = Vec::new();
        for &entry in pickle.list(trace) {
            reader.count()?;
            entries.extend(reader.entry(entry));
        }
        snapshot.traces.push(entries);
    }
    for &note in root.list(b"external_annotations").unwrap_or_default() {
        reader.count()?;
        snapshot.notes.extend(reader.note(note));
    }
    if let Some(settings) = root.get(b"allocator_settings").and_then(|value| pickle.fields(value)) {
        for &(name, value) in settings.entries() {
            if let (Some(name), Some(value)) = (pickle.shown(name), pickle.shown(value)) {
                snapshot.settings.push((name, value));
            }
        }
    }
    Ok(snapshot)
}

fn not_a_snapshot() -> Error {
    Error::new(Problem::NoEvents, "pickle: neither segments nor device_traces", 0)
}

impl<'a> Pickle<'a> {
    fn list(&self, value: Value) -> &[Value] {
        match value {
            Value::List(list) => &self.lists[list as usize],
            _ => &[],
        }
    }

    pub(super) fn fields(&self, value: Value) -> Option<Fields<'_, 'a>> {
        match value {
            Value::Dict(dict) => Some(Fields { pickle: self, dict }),
            _ => None,
        }
    }

    /// A value of a setting, as Python would show it.
    fn shown(&self, value: Value) -> Option<String> {
        match value {
            Value::Text(text) => Some(String::from_utf8_lossy(self.texts[text as usize]).into_owned()),
            Value::Int(number) => Some(number.to_string()),
            Value::Float(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(if flag { "True" } else { "False" }.to_string()),
            _ => None,
        }
    }
}

/// A dict by its keys.
#[derive(Clone, Copy)]
pub(super) struct Fields<'p, 'a> {
    pickle: &'p Pickle<'a>,
    dict: u32,
}

impl<'p> Fields<'p, '_> {
    fn entries(&self) -> &'p [(Value, Value)] {
        let entries = &self.pickle.dicts[self.dict as usize];
        &entries[..entries.len().min(MOST_KEYS)]
    }

    /// The last value under a key, as in Python.
    pub(super) fn get(&self, key: &[u8]) -> Option<Value> {
        let is_key = |value: &Value| matches!(value, Value::Text(text) if self.pickle.texts[*text as usize] == key);
        self.entries().iter().rev().find(|(name, _)| is_key(name)).map(|&(_, value)| value)
    }

    fn list(&self, key: &[u8]) -> Option<&'p [Value]> {
        match self.get(key) {
            Some(Value::List(list)) => Some(&self.pickle.lists[list as usize]),
            _ => None,
        }
    }

    pub(super) fn integer(&self, key: &[u8]) -> Option<i64> {
        match self.get(key) {
            Some(Value::Int(number)) => Some(number),
            _ => None,
        }
    }

    /// Bytes, not negative.
    fn size(&self, key: &[u8]) -> Option<i64> {
        self.integer(key).filter(|&size| (0..1 << 56).contains(&size))
    }

    pub(super) fn text(&self, key: &[u8]) -> Option<(u32, &'p [u8])> {
        match self.get(key) {
            Some(Value::Text(text)) => Some((text, self.pickle.texts[text as usize])),
            _ => None,
        }
    }

    /// Unix time in ns.
    fn time(&self) -> Option<i64> {
        self.integer(b"time_us").filter(|&time| time > 0).and_then(|time| time.checked_mul(1000))
    }
}

struct Reader<'p, 'a, 's> {
    pickle: &'p Pickle<'a>,
    /// Entries that may still come: a list that is referred to many times has no more than the file has room for.
    left: usize,
    stacks: &'s mut Stacks,
    stack_of: AHashMap<u32, Stack>,
}

impl Reader<'_, '_, '_> {
    fn count(&mut self) -> Result<()> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Error::new(Problem::TooMany, "snapshot", 0)),
        }
    }

    fn stack(&mut self, fields: Fields) -> Stack {
        let Some(Value::List(list)) = fields.get(b"frames") else { return Stack::default() };
        if let Some(&known) = self.stack_of.get(&list) {
            return known;
        }
        let stack = self.stacks.read(self.pickle, &self.pickle.lists[list as usize]);
        self.stack_of.insert(list, stack);
        stack
    }

    fn segment(&mut self, value: Value) -> Result<Option<Segment>> {
        self.count()?;
        let Some(fields) = self.pickle.fields(value) else { return Ok(None) };
        let (Some(address), Some(size)) = (fields.integer(b"address"), fields.size(b"total_size")) else {
            return Ok(None);
        };
        let expandable = fields.get(b"is_expandable") == Some(Value::Bool(true));
        let device = fields.integer(b"device").unwrap_or(0);
        let mut segment = Segment { device, address: address as u64, size, expandable, blocks: Vec::new() };
        let mut next = segment.address;
        for &block in fields.list(b"blocks").unwrap_or_default() {
            self.count()?;
            let Some(fields) = self.pickle.fields(block) else { continue };
            let Some(size) = fields.size(b"size") else { continue };
            let address = fields.integer(b"address").map_or(next, |address| address as u64);
            next = address.wrapping_add(size as u64);
            if fields.text(b"state").is_some_and(|(_, state)| state.starts_with(b"active")) {
                let requested = fields.size(b"requested_size").unwrap_or(size);
                segment.blocks.push(Block { address, size, requested, stack: self.stack(fields) });
            }
        }
        Ok(Some(segment))
    }

    fn entry(&mut self, value: Value) -> Option<Entry> {
        let fields = self.pickle.fields(value)?;
        let action = match fields.text(b"action")?.1 {
            b"alloc" => Action::Alloc,
            b"free_requested" => Action::FreeRequested,
            b"free_completed" | b"free" => Action::FreeCompleted,
            b"segment_alloc" => Action::SegmentAlloc { expandable: false },
            b"segment_free" => Action::SegmentFree { expandable: false },
            b"segment_map" => Action::SegmentAlloc { expandable: true },
            b"segment_unmap" => Action::SegmentFree { expandable: true },
            b"oom" => Action::OutOfMemory,
            b"snapshot" => Action::Snapshot,
            _ => return None,
        };
        let label = [b"category".as_slice(), b"user_metadata"].into_iter().filter_map(|key| fields.text(key));
        Some(Entry {
            action,
            address: fields.integer(b"addr").unwrap_or(0) as u64,
            size: fields.size(b"size").unwrap_or(0),
            time: fields.time(),
            stack: self.stack(fields),
            label: label.filter(|(_, text)| !text.is_empty()).map(|(number, _)| number).next(),
            device_free: fields.size(b"device_free").unwrap_or(0),
        })
    }

    fn note(&self, value: Value) -> Option<Note> {
        let fields = self.pickle.fields(value)?;
        let (name, _) = fields.text(b"name")?;
        let begins = match fields.text(b"stage")?.1 {
            b"START" => true,
            b"END" => false,
            _ => return None,
        };
        Some(Note { device: fields.integer(b"device").unwrap_or(0), name, begins, time: fields.time()? })
    }
}
