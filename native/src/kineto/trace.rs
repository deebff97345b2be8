//! A trace in memory: host threads, streams of devices, and the names of all.

use std::collections::BTreeMap;

use super::event::{Keys, Kind, Value};
use super::names::Texts;
use super::places::Places;

/// Stands for no text, no event, no step.
pub const NONE: u32 = u32::MAX;

/// An event; times in ps since the origin, the begin in ns until `times::settle`.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub begin: i64,
    pub duration: i64,
    /// Of a call or of work on a stream the correlation id, of an op its sequence number, of a Python function its id;
    /// -1 for none.
    pub link: i64,
    pub name: u32,
    /// Its arguments among those of the track: the first, and how many.
    pub first: u32,
    pub count: u16,
    pub kind: Kind,
    /// What the begin has in ps beyond its ns.
    pub rest: u16,
}

impl Record {
    pub fn end(&self) -> i64 {
        self.begin.saturating_add(self.duration)
    }
}

/// Process and thread, or device and stream.
pub type Place = (i64, i64);

/// A host thread or a stream.
#[derive(Debug, Default)]
pub struct Track {
    pub name: String,
    /// Its rank among those of the text.
    pub rank: u32,
    pub records: Vec<Record>,
    pub args: Vec<(u32, Value)>,
    /// Events with impossible times that are left out, or end earlier than recorded.
    pub left_out: u64,
    pub shortened: u64,
}

impl Track {
    /// Puts the records in order: what encloses others comes first.
    pub fn sort(&mut self) {
        self.records.sort_by_key(|record| (record.begin, std::cmp::Reverse(record.duration), record.kind));
    }

    /// Adds the records of another one.
    pub fn append(&mut self, other: Track) {
        let shift = self.args.len();
        self.left_out += other.left_out;
        self.shortened += other.shortened;
        for record in other.records {
            if let Ok(first) = u32::try_from(record.first as usize + shift) {
                self.records.push(Record { first, ..record });
            }
        }
        self.args.extend(other.args);
    }

    pub fn args_of(&self, record: &Record) -> &[(u32, Value)] {
        let first = record.first as usize;
        &self.args[first..first + usize::from(record.count)]
    }

    pub fn arg(&self, record: &Record, key: u32) -> Option<Value> {
        self.args_of(record).iter().find(|(own, _)| *own == key).map(|(_, value)| *value)
    }

    pub fn integer(&self, record: &Record, key: u32) -> Option<i64> {
        match self.arg(record, key) {
            Some(Value::Int(value)) => Some(value),
            _ => None,
        }
    }
}

/// A device as `deviceProperties` describes it: names and values, numbers as they are written.
pub type Properties = Vec<(String, String)>;

/// What one text says.
#[derive(Debug, Default)]
pub struct Document {
    pub origin_ns: i64,
    pub base_ns: i64,
    /// By process and thread.
    pub threads: BTreeMap<Place, Track>,
    /// By device and stream.
    pub streams: BTreeMap<Place, Track>,
    /// Ranges and synchronisation beside streams, likewise.
    pub notes: BTreeMap<Place, Track>,
    /// Events of unknown categories, by process, thread and category.
    pub unknown: BTreeMap<(i64, i64, u32), Track>,
    pub devices: BTreeMap<i64, Properties>,
    /// The rank and the device's number there, of those that have another number here.
    pub renumbered: BTreeMap<i64, (u32, i64)>,
    /// Names of the ranks whose traces were merged; none of a single one.
    pub ranks: Vec<String>,
    /// Categories of events that are neither on a thread of the host nor on a device, and phases that are not read.
    pub unread: BTreeMap<String, u64>,
    /// Other keys of the text: names and values.
    pub header: Vec<(String, String)>,
}

/// A recording: the text of its run, and threads of the texts whose graphs the run replays.
#[derive(Debug)]
pub struct Trace {
    pub texts: Texts,
    pub keys: Keys,
    pub places: Places,
    pub run: Document,
    /// Threads of other texts, which captured graphs that the run replays.
    pub captured: Vec<Track>,
}

impl std::ops::Deref for Trace {
    type Target = Document;

    fn deref(&self) -> &Document {
        &self.run
    }
}

impl std::ops::DerefMut for Trace {
    fn deref_mut(&mut self) -> &mut Document {
        &mut self.run
    }
}

impl Trace {
    /// The threads of the run, then those that captured.
    pub fn all_threads(&self) -> impl Iterator<Item = &Track> {
        self.threads.values().chain(&self.captured)
    }

    /// Texts, keys and all threads, to be used together.
    pub fn parts(&mut self) -> (&mut Texts, &Keys, Vec<&Track>) {
        let tracks = self.run.threads.values().chain(&self.captured).collect();
        (&mut self.texts, &self.keys, tracks)
    }
}
