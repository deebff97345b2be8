//! What a trace says, collected while its text arrives: host threads, streams, devices, and the names of all.

use std::collections::BTreeMap;

use jiter::{Jiter, JiterResult, JsonValue};

use super::event::{self, Fields, Kind, Value};
use super::graphs;
use super::names::Texts;
use crate::json::trace_event::{Head, Moment, integer};

/// Stands for no text, no event, no step.
pub const NONE: u32 = u32::MAX;

/// An event; times in ps since the origin.
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
    pub records: Vec<Record>,
    pub args: Vec<(u32, Value)>,
}

impl Track {
    /// Puts the records in order: what encloses others comes first.
    pub fn sort(&mut self) {
        self.records.sort_by_key(|record| (record.begin, std::cmp::Reverse(record.duration), record.kind));
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

/// Numbers of the names of arguments that are read here.
#[derive(Debug)]
pub struct Keys {
    pub correlation: u32,
    pub device: u32,
    pub stream: u32,
    pub sequence: u32,
    pub forward_thread: u32,
    pub external: u32,
    pub name: u32,
    /// The kernel that a call launches, and its grid.
    pub kernel: u32,
    pub grid: u32,
    pub graph: u32,
    pub frame: u32,
    pub parent_frame: u32,
}

impl Keys {
    fn of(texts: &mut Texts) -> Keys {
        Keys {
            correlation: texts.number("correlation"),
            device: texts.number("device"),
            stream: texts.number("stream"),
            sequence: texts.number("Sequence number"),
            forward_thread: texts.number("Fwd thread id"),
            external: texts.number("External id"),
            name: texts.number("name"),
            kernel: texts.number("kernel"),
            grid: texts.number("grid"),
            graph: texts.number("graph id"),
            frame: texts.number("Python id"),
            parent_frame: texts.number("Python parent id"),
        }
    }
}

/// A device as `deviceProperties` describes it: names and values, numbers as they are written.
pub type Properties = Vec<(String, String)>;

/// What one text says.
#[derive(Debug, Default)]
pub struct Document {
    pub origin: Option<Moment>,
    pub base_ns: i64,
    /// By process and thread.
    pub threads: BTreeMap<Place, Track>,
    /// By device and stream.
    pub streams: BTreeMap<Place, Track>,
    /// Ranges and synchronisation beside streams, likewise.
    pub notes: BTreeMap<Place, Track>,
    pub devices: BTreeMap<i64, Properties>,
    /// Other keys of the text: names and values.
    pub header: Vec<(String, String)>,
}

#[derive(Debug)]
pub struct Trace {
    pub texts: Texts,
    pub keys: Keys,
    /// The text that is read, in the end that of the run.
    document: Document,
    earlier: Vec<Document>,
    /// Threads of other texts, which captured graphs that the run replays.
    pub captured: Vec<Track>,
    pub events: u64,
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
        let (document, earlier, captured, events, fields) = Default::default();
        Trace { texts, keys, document, earlier, captured, events, fields }
    }
}

/// Longer values of the header are left out.
const MOST_HEADER: usize = 1 << 20;
/// More keys of the header are left out.
const MOST_KEYS: usize = 1000;

impl Trace {
    /// Another text begins.
    pub fn next_document(&mut self) {
        self.earlier.push(std::mem::take(&mut self.document));
    }

    /// Of several texts, that with most work on devices is the run; the others may tell what it replays.
    pub fn end(&mut self) {
        self.next_document();
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

    /// Takes a key of the outermost object with the text of its value.
    pub fn read_header(&mut self, key: &str, text: &[u8]) {
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
                if let ("id", JsonValue::Int(number)) = (name.as_ref(), value) {
                    id = *number;
                }
                properties.push((name.to_string(), text));
            }
            self.devices.insert(id, properties);
        }
    }

    /// Reads and keeps an event.
    pub fn read_event(&mut self, json: &mut Jiter) -> JiterResult<()> {
        let mut fields = std::mem::take(&mut self.fields);
        let read = event::read(json, &mut self.texts, &mut fields);
        if read.is_ok() {
            self.keep(&fields);
        }
        self.fields = fields;
        read
    }

    fn keep(&mut self, fields: &Fields) {
        self.events += 1;
        let Head { phase, pid, tid, begin, duration } = fields.head;
        match phase {
            b'M' => self.name_track(fields),
            b'X' | b'i' | b'I' if fields.kind != Kind::Ignored => {}
            _ => return,
        }
        if phase == b'M' || !fields.has_category {
            return;
        }
        let instant = phase != b'X';
        let is_memory = instant && self.texts.get(fields.name) == "[memory]";
        let kind = if is_memory { Kind::Memory } else { fields.kind };
        let own = |key: u32| match fields.args.iter().find(|(name, _)| *name == key) {
            Some((_, Value::Int(value))) => Some(*value),
            _ => None,
        };
        let (keys, document) = (&self.keys, &mut self.document);
        let (group, place) = if kind.on_stream() || kind == Kind::DeviceNote {
            let device = own(keys.device).or(pid).unwrap_or(0);
            let stream = own(keys.stream).or(tid).unwrap_or(0);
            (if kind.on_stream() { &mut document.streams } else { &mut document.notes }, (device, stream))
        } else {
            let (Some(pid), Some(tid)) = (pid, tid) else { return };
            (&mut document.threads, (pid, tid))
        };
        let link = match kind {
            Kind::Op => own(keys.sequence),
            Kind::Frame => own(keys.frame),
            _ => own(keys.correlation),
        };
        let origin = *document.origin.get_or_insert(Moment { ns: begin.ns, ps: 0 });
        let ns = begin.ns.saturating_sub(origin.ns);
        let begin = ns.saturating_mul(1000).saturating_add(begin.ps);
        let track = group.entry(place).or_default();
        // Of Python functions the parent alone matters, and only where the thread is not known.
        let args = match kind {
            Kind::Frame if place.1 != 0 => &[],
            Kind::Frame => {
                fields.args.iter().find(|(key, _)| *key == keys.parent_frame).map_or(&[][..], std::slice::from_ref)
            }
            _ => &fields.args[..fields.args.len().min(usize::from(u16::MAX))],
        };
        let Ok(first) = u32::try_from(track.args.len()) else { return };
        track.args.extend_from_slice(args);
        track.records.push(Record {
            begin,
            duration: duration.in_ps().max(0),
            link: link.unwrap_or(-1),
            name: fields.name,
            first,
            count: args.len() as u16,
            kind,
        });
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
