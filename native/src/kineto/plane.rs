//! Planes and lines of an XSpace in the making.

use ahash::AHashMap;

use super::event::Value;
use super::names::Texts;
use super::trace::Track;
use crate::json::left::LineTimes;
use crate::wire::tags::xplane::{XEvent, XLine, XPlane, XSpace, XStat};
use crate::wire::write::{message, number, varint};
use crate::wire::xspace::{event_metadata, stat_metadata};

/// A plane in the making. Names of stats and texts that stats refer to have one table.
pub struct Plane {
    body: Vec<u8>,
    events: AHashMap<(u32, u32), u64>,
    event_names: Vec<(String, String)>,
    stats: AHashMap<u32, u64>,
    stat_texts: Vec<u32>,
}

impl Plane {
    pub fn new(id: i64, name: &str) -> Plane {
        let mut body = Vec::new();
        number(&mut body, XPlane::ID, id);
        message(&mut body, XPlane::NAME, name.as_bytes());
        let (events, event_names, stats, stat_texts) = Default::default();
        Plane { body, events, event_names, stats, stat_texts }
    }

    /// The id of an event's name, by a key of the caller; `name` makes name and display name.
    pub fn event(&mut self, key: (u32, u32), name: impl FnOnce() -> (String, String)) -> u64 {
        if let Some(&id) = self.events.get(&key) {
            return id;
        }
        self.event_names.push(name());
        let id = self.event_names.len() as u64;
        self.events.insert(key, id);
        id
    }

    /// The id of a text, as the name of a stat or as what a stat refers to.
    fn text(&mut self, text: u32) -> u64 {
        if let Some(&id) = self.stats.get(&text) {
            return id;
        }
        self.stat_texts.push(text);
        let id = self.stat_texts.len() as u64;
        self.stats.insert(text, id);
        id
    }

    /// Appends a stat to a message under the field `tag`.
    pub fn stat(&mut self, out: &mut Vec<u8>, tag: u32, key: u32, value: Value) {
        varint(out, tag.into());
        let length = out.len();
        out.push(0);
        number(out, XStat::METADATA_ID, self.text(key) as i64);
        match value {
            Value::Int(value) => number(out, XStat::INT64_VALUE, value),
            Value::Text(text) => number(out, XStat::REF_VALUE, self.text(text) as i64),
            Value::Double(value) => {
                varint(out, XStat::DOUBLE_VALUE.into());
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
        // A key and a number are two tags and two varints, too short for a length of two bytes.
        out[length] = (out.len() - length - 1) as u8;
    }

    /// A stat of the plane itself.
    pub fn fact(&mut self, key: u32, value: Value) {
        let mut body = std::mem::take(&mut self.body);
        self.stat(&mut body, XPlane::STATS, key, value);
        self.body = body;
    }

    pub fn line(&mut self, line: &[u8]) {
        message(&mut self.body, XPlane::LINES, line);
    }

    pub fn finish(mut self, texts: &Texts, out: &mut Vec<u8>) {
        for (i, (name, display)) in self.event_names.iter().enumerate() {
            event_metadata(&mut self.body, i as i64 + 1, name, display);
        }
        for (i, &text) in self.stat_texts.iter().enumerate() {
            stat_metadata(&mut self.body, i as i64 + 1, texts.get(text));
        }
        message(out, XSpace::PLANES, &self.body);
    }
}

/// A line in the making; events are appended in order of their begins.
pub struct Line {
    body: Vec<u8>,
    event: Vec<u8>,
    base: i64,
}

impl Line {
    /// `base` is subtracted from the events' begins, in ps.
    pub fn new(id: i64, name: &str, timestamp_ns: i64, base: i64) -> Line {
        let mut body = Vec::new();
        number(&mut body, XLine::ID, id);
        message(&mut body, XLine::NAME, name.as_bytes());
        number(&mut body, XLine::TIMESTAMP_NS, timestamp_ns);
        Line { body, event: Vec::new(), base }
    }

    /// Begins an event; its stats may be appended to what is returned, under `XEvent::STATS`.
    pub fn begin(&mut self, begin: i64, duration: i64, metadata: u64) -> &mut Vec<u8> {
        self.event.clear();
        number(&mut self.event, XEvent::METADATA_ID, metadata as i64);
        number(&mut self.event, XEvent::OFFSET_PS, begin.saturating_sub(self.base));
        number(&mut self.event, XEvent::DURATION_PS, duration);
        &mut self.event
    }

    pub fn end(&mut self) {
        message(&mut self.body, XLine::EVENTS, &self.event);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.body
    }
}

/// Bytes of the XSpace, and the lines with impossible times.
pub type Out<'o> = (&'o mut Vec<u8>, &'o mut Vec<LineTimes>);

/// Adds the events of a line with impossible times.
pub fn tell(times: &mut Vec<LineTimes>, plane: &str, line: &str, track: &Track) {
    if track.left_out + track.shortened > 0 {
        let (plane, line) = (plane.to_string(), line.to_string());
        times.push(LineTimes { plane, line, left_out: track.left_out, shortened: track.shortened });
    }
}

/// Where all lines begin: Unix time in ns, and the same on the axis of the records in ps.
#[derive(Clone, Copy)]
pub struct Start {
    pub timestamp_ns: i64,
    pub base: i64,
}
