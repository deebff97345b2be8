//! What a trace says, collected while its text arrives: host threads, streams, devices, and the names of all.

use std::collections::BTreeMap;

use jiter::{Jiter, JiterResult, JsonValue};

use super::event::{self, Fields, Kind, Moment, Value};
use super::names::Texts;

/// Stands for no text, no event, no step.
pub const NONE: u32 = u32::MAX;

/// An event; times in ps since the origin.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub begin: i64,
    pub duration: i64,
    /// Of a call or of work on a stream the correlation id, of an op its sequence number; -1 for none.
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

/// A host thread or a stream.
#[derive(Debug, Default)]
pub struct Track {
    pub name: String,
    pub records: Vec<Record>,
    pub args: Vec<(u32, Value)>,
}

impl Track {
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
        }
    }
}

/// A device as `deviceProperties` describes it: names and values, numbers as they are written.
pub type Properties = Vec<(String, String)>;

#[derive(Debug)]
pub struct Trace {
    pub texts: Texts,
    pub keys: Keys,
    pub origin: Option<Moment>,
    pub base_ns: i64,
    /// By process and thread.
    pub threads: BTreeMap<(i64, i64), Track>,
    /// By device and stream.
    pub streams: BTreeMap<(i64, i64), Track>,
    /// Ranges and synchronisation beside streams, likewise.
    pub notes: BTreeMap<(i64, i64), Track>,
    pub devices: BTreeMap<i64, Properties>,
    /// Other keys of the text: names and values.
    pub header: Vec<(String, String)>,
    pub events: u64,
    fields: Fields,
}

impl Default for Trace {
    fn default() -> Self {
        let mut texts = Texts::default();
        let keys = Keys::of(&mut texts);
        let (threads, streams, notes) = Default::default();
        let (origin, base_ns, devices, header, events) = Default::default();
        let fields = Fields::default();
        Trace { texts, keys, origin, base_ns, threads, streams, notes, devices, header, events, fields }
    }
}

/// Longer values of the header are left out.
const MOST_HEADER: usize = 1 << 20;
/// More keys of the header are left out.
const MOST_KEYS: usize = 1000;

impl Trace {
    /// Takes a key of the outermost object with the text of its value.
    pub fn read_header(&mut self, key: &str, text: &[u8]) {
        let value = String::from_utf8_lossy(text);
        match key {
            "baseTimeNanoseconds" => self.base_ns = event::integer(&value).unwrap_or(0),
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
        match fields.phase {
            b'M' => self.name_track(fields),
            b'X' | b'i' | b'I' if fields.kind != Kind::Ignored => {}
            _ => return,
        }
        if fields.phase == b'M' || fields.category == 0 {
            return;
        }
        let instant = fields.phase != b'X';
        let is_memory = instant && self.texts.get(fields.name) == "[memory]";
        let kind = if is_memory { Kind::Memory } else { fields.kind };
        let own = |key: u32| match fields.args.iter().find(|(name, _)| *name == key) {
            Some((_, Value::Int(value))) => Some(*value),
            _ => None,
        };
        let keys = &self.keys;
        let place = (fields.pid, fields.tid);
        let (group, place) = if kind.on_stream() || kind == Kind::DeviceNote {
            let device = own(keys.device).or(place.0).unwrap_or(0);
            let stream = own(keys.stream).or(place.1).unwrap_or(0);
            (if kind.on_stream() { &mut self.streams } else { &mut self.notes }, (device, stream))
        } else {
            let (Some(pid), Some(tid)) = place else { return };
            (&mut self.threads, (pid, tid))
        };
        let link = match kind {
            Kind::Op => own(keys.sequence),
            _ => own(keys.correlation),
        };
        let origin = *self.origin.get_or_insert(Moment { ns: fields.begin.ns, ps: 0 });
        let ns = fields.begin.ns.saturating_sub(origin.ns);
        let begin = ns.saturating_mul(1000).saturating_add(fields.begin.ps);
        let track = group.entry(place).or_default();
        let count = fields.args.len().min(usize::from(u16::MAX));
        let Ok(first) = u32::try_from(track.args.len()) else { return };
        track.args.extend_from_slice(&fields.args[..count]);
        track.records.push(Record {
            begin,
            duration: fields.duration_ps,
            link: link.unwrap_or(-1),
            name: fields.name,
            first,
            count: count as u16,
            kind,
        });
    }

    fn name_track(&mut self, fields: &Fields) {
        if self.texts.get(fields.name) != "thread_name" {
            return;
        }
        let (Some(pid), Some(tid)) = (fields.pid, fields.tid) else { return };
        let name = fields.args.iter().find(|(key, _)| *key == self.keys.name);
        if let Some((_, Value::Text(name))) = name {
            self.threads.entry((pid, tid)).or_default().name = self.texts.get(*name).to_string();
        }
    }
}
