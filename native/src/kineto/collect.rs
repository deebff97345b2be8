//! Collects a trace while its texts arrive: each event is put on its thread or stream, and in the end the run is told from
//! texts that captured its graphs.

use jiter::{Jiter, JiterResult, JsonValue};

use super::event::{self, Fields, Keys, Kind, Value, integer_of, number_of};
use super::names::Texts;
use super::places::Places;
use super::trace::{Document, Place, Properties, Record, Trace};
use super::{evidence, graphs, ranks, times};
use crate::json::reader;
use crate::json::trace_event::{Head, Moment, Time, integer};

/// Longer values of the header are left out.
const MOST_HEADER: usize = 1 << 20;
/// More keys of the header are left out.
const MOST_KEYS: usize = 1000;

#[derive(Debug)]
pub struct Collector {
    texts: Texts,
    keys: Keys,
    places: Places,
    /// The text that is read.
    document: Document,
    earlier: Vec<Document>,
    fields: Fields,
}

impl Default for Collector {
    fn default() -> Self {
        let mut texts = Texts::default();
        let keys = Keys::of(&mut texts);
        let (places, document, earlier, fields) = Default::default();
        Collector { texts, keys, places, document, earlier, fields }
    }
}

impl Collector {
    /// Of several texts, that with most work on devices is the run; the others may tell what it replays.
    pub fn finish(mut self) -> Trace {
        reader::Document::next_text(&mut self);
        let Collector { texts, keys, mut places, mut earlier, .. } = self;
        for document in &mut earlier {
            times::settle(document);
            evidence::sort_out(document, &texts, &keys, &mut places);
            ranks::tell_apart(document, &texts, &keys, &places);
            times::shorten(document);
        }
        let work = |text: &Document| text.streams.values().map(|track| track.records.len()).sum::<usize>();
        let most = (0..earlier.len()).rev().max_by_key(|&number| work(&earlier[number]));
        let (mut run, mut captured) = (Document::default(), Vec::new());
        for (number, document) in earlier.into_iter().enumerate() {
            if Some(number) == most {
                run = document;
            } else if graphs::captures(&texts, &document.threads) {
                captured.extend(document.threads.into_values());
            }
        }
        Trace { texts, keys, places, run, captured }
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
            self.document.devices.insert(id, properties);
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
                *self.document.unread.entry(format!("phase {}", char::from(phase))).or_default() += 1;
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
            self.document.threads.entry((pid, tid)).or_default().name = self.texts.get(*name).to_string();
        }
    }
}

impl reader::Document for Collector {
    fn header(&mut self, key: &str, text: &[u8]) {
        let value = String::from_utf8_lossy(text);
        match key {
            "baseTimeNanoseconds" => self.document.base_ns = integer(&value).unwrap_or(0),
            "deviceProperties" => self.read_devices(value.as_bytes()),
            _ if text.len() <= MOST_HEADER && self.document.header.len() < MOST_KEYS => {
                let plain = value.trim().trim_matches('"').to_string();
                self.document.header.push((key.to_string(), plain));
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
