//! What a trace says, collected while its text arrives: host threads, streams, devices, and the names of all.

use std::collections::BTreeMap;

use jiter::{Jiter, JiterResult, JsonValue};

use super::event::{self, Fields, Kind, Value};
use super::keys::{Keys, integer_of, number_of};
use super::names::Texts;
use super::places::Places;
use super::{evidence, graphs, ranks, times};
use crate::json::reader;
use crate::json::trace_event::{Head, Moment, Time, integer};

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

#[derive(Debug)]
pub struct Trace {
    pub texts: Texts,
    pub keys: Keys,
    pub places: Places,
    /// The text that is read, in the end that of the run.
    document: Document,
    earlier: Vec<Document>,
    /// Threads of other texts, which captured graphs that the run replays.
    pub captured: Vec<Track>,
    fields: Fields,
}

impl std::ops::Deref for Trace {
    type Target = Document;

    fn deref(&self) -> &Document {
        &self.document
    }
}

impl std::ops::DerefMut for Trace {
    fn deref_mut(&mut self) -> &mut Document {
        &mut self.document
    }
}

impl Default for Trace {
    fn default() -> Self {
        let mut texts = Texts::default();
        let keys = Keys::of(&mut texts);
        let (places, document, earlier, captured, fields) = Default::default();
        Trace { texts, keys, places, document, earlier, captured, fields }
    }
}

/// Longer values of the header are left out.
const MOST_HEADER: usize = 1 << 20;
/// More keys of the header are left out.
const MOST_KEYS: usize = 1000;

impl Trace {
    /// Of several texts, that with most work on devices is the run; the others may tell what it replays.
    pub fn end(&mut self) {
        reader::Document::next_text(self);
        let (texts, keys, places) = (&self.texts, &self.keys, &mut self.places);
        for document in &mut self.earlier {
            times::settle(document);
            evidence::sort_out(document, texts, keys, places);
            ranks::tell_apart(document, texts, keys, places);
            times::shorten(document);
        }
        let work = |one: &Document| one.streams.values().map(|track| track.records.len()).sum::<usize>();
        let run = (0..self.earlier.len()).rev().max_by_key(|&number| work(&self.earlier[number]));
        for (number, document) in std::mem::take(&mut self.earlier).into_iter().enumerate() {
            if Some(number) == run {
                self.document = document;
            } else if graphs::captures(&self.texts, &document.threads) {
                self.captured.extend(document.threads.into_values());
            }
        }
    }

    /// The threads of the run, then those that captured.
    pub fn all_threads(&self) -> impl Iterator<Item = &Track> {
        self.threads.values().chain(&self.captured)
    }

    /// Texts, keys and all threads, to be used together.
    pub fn parts(&mut self) -> (&mut Texts, &Keys, Vec<&Track>) {
        let tracks = self.document.threads.values().chain(&self.captured).collect();
        (&mut self.texts, &self.keys, tracks)
    }

    fn read_devices(&mut self, text: &[u8]) {
        let Ok(JsonValue::Array(devices)) = JsonValue::parse(text, true) else {
            return;
        };
        for (position, device) in devices.iter().enumerate().take(MOST_KEYS) {
            let JsonValue::Object(fields) = device else {
                continue;
            };
            let mut properties = Properties::new();
            let mut id = position as i64;
            for (name, value) in fields.iter() {
                let text = match value {
                    JsonValue::Str(text) => text.to_string(),
                    JsonValue::Int(number) => number.to_string(),
                    JsonValue::Float(number) => number.to_string(),
                    _ => continue,
                };
                if let ("id", Some(number)) = (name.as_ref(), integer(&text)) {
                    id = number;
                }
                properties.push((name.to_string(), text));
            }
            self.devices.insert(id, properties);
        }
    }

    fn keep(&mut self, fields: &Fields) {
        match fields.head.phase {
            b'M' => self.name_track(fields),
            b'X' | b'i' | b'I' => {
                if let Some(kind) = self.kind(fields) {
                    self.keep_as(kind, fields);
                }
            }
            phase @ (b'B' | b'E' | b'b' | b'e' | b'n') => {
                *self.unread.entry(format!("phase {}", char::from(phase))).or_default() += 1;
            }
            _ => {}
        }
    }

    /// What an event is; None for those that are left out.
    fn kind(&self, fields: &Fields) -> Option<Kind> {
        let instant = fields.head.phase != b'X';
        match fields.kind {
            Kind::Ignored => None,
            _ if instant && self.texts.get(fields.name) == "[memory]" => Some(Kind::Memory),
            Kind::Unknown if instant && fields.category == 0 => None, // marks of the profiler itself
            Kind::Unknown => Some(self.legacy_kind(fields).unwrap_or(Kind::Unknown)),
            kind => Some(kind),
        }
    }

    /// What an event of the profiler before Kineto is: `pid` tells it, and the thread is that of the host or a device.
    fn legacy_kind(&self, fields: &Fields) -> Option<Kind> {
        let named = self.places.named(fields.head.pid?)?;
        let is_bare = fields.kind == Kind::Unknown && fields.category == 0;
        let owner = named.text.strip_suffix(" functions").filter(|_| is_bare)?;
        Some(if owner == "CPU" { Kind::Op } else { Kind::Kernel })
    }

    fn keep_as(&mut self, kind: Kind, fields: &Fields) {
        let Head { pid, tid, begin, duration, .. } = fields.head;
        let [pid, tid] = [pid, tid].map(|place| place.unwrap_or_else(|| self.places.number("")));
        let link = match kind {
            Kind::Op => self.keys.sequence,
            Kind::Frame => self.keys.frame,
            _ => self.keys.correlation,
        };
        let link = integer_of(&self.texts, self.arg(fields, link));
        let on_device = kind.on_stream() || kind == Kind::DeviceNote;
        let place = if on_device { self.place_on_device(fields, kind, (pid, tid)) } else { (pid, tid) };
        let (keys, document) = (&self.keys, &mut self.document);
        let track = match kind {
            Kind::DeviceNote => document.notes.entry(place).or_default(),
            Kind::Unknown => document.unknown.entry((pid, tid, fields.category)).or_default(),
            _ if on_device => document.streams.entry(place).or_default(),
            _ => document.threads.entry(place).or_default(),
        };
        let begin = match begin {
            Time::At(begin) => begin,
            Time::Missing | Time::NoNumber => Moment { ns: i64::MIN, ps: 0 },
        };
        let duration = if duration == Time::NoNumber { -1 } else { duration.or_zero().in_ps() };
        // Of Python functions the parent alone matters, and only where the thread is not known.
        let args = match kind {
            Kind::Frame if tid != 0 => &[],
            Kind::Frame => {
                fields.args.iter().find(|(key, _)| *key == keys.parent_frame).map_or(&[][..], std::slice::from_ref)
            }
            _ => &fields.args[..fields.args.len().min(usize::from(u16::MAX))],
        };
        let Ok(first) = u32::try_from(track.args.len()) else { return };
        track.args.extend_from_slice(args);
        track.records.push(Record {
            begin: begin.ns,
            rest: begin.ps.clamp(0, 999) as u16,
            duration,
            link: link.unwrap_or(-1),
            name: fields.name,
            first,
            count: args.len() as u16,
            kind,
        });
    }

    /// Device and stream of an event.
    fn place_on_device(&mut self, fields: &Fields, kind: Kind, (pid, tid): Place) -> Place {
        if kind == Kind::Kernel && self.legacy_kind(fields).is_some() {
            return (self.places.device(pid, Some(tid), tid), 0);
        }
        let number = |key: u32| number_of(&self.texts, self.arg(fields, key));
        let (device, stream) = (number(self.keys.device), number(self.keys.stream));
        (self.places.device(pid, device, tid), stream.unwrap_or(tid))
    }

    fn arg(&self, fields: &Fields, key: u32) -> Option<Value> {
        fields.args.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    fn name_track(&mut self, fields: &Fields) {
        if self.texts.get(fields.name) != "thread_name" {
            return;
        }
        let (Some(pid), Some(tid)) = (fields.head.pid, fields.head.tid) else { return };
        let name = fields.args.iter().find(|(key, _)| *key == self.keys.name);
        if let Some((_, Value::Text(name))) = name {
            self.threads.entry((pid, tid)).or_default().name = self.texts.get(*name).to_string();
        }
    }
}

impl reader::Document for Trace {
    fn header(&mut self, key: &str, text: &[u8]) {
        let value = String::from_utf8_lossy(text);
        match key {
            "baseTimeNanoseconds" => self.base_ns = integer(&value).unwrap_or(0),
            "deviceProperties" => self.read_devices(value.as_bytes()),
            _ if text.len() <= MOST_HEADER && self.header.len() < MOST_KEYS => {
                let plain = value.trim().trim_matches('"').to_string();
                self.header.push((key.to_string(), plain));
            }
            _ => {}
        }
    }

    fn event(&mut self, json: &mut Jiter) -> JiterResult<bool> {
        let mut fields = std::mem::take(&mut self.fields);
        let read = event::read(json, &self.keys, &mut self.texts, &mut self.places, &mut fields);
        if read.is_ok() {
            self.keep(&fields);
        }
        let phased = fields.head.phase != 0;
        self.fields = fields;
        read.map(|()| phased)
    }

    fn next_text(&mut self) {
        self.earlier.push(std::mem::take(&mut self.document));
    }
}
