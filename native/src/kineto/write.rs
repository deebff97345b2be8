//! A trace as an XSpace: a plane of the host's threads, a plane per device with its streams, and one of what is noted
//! beside them.

use ahash::AHashMap;
use jiter::JsonValue;

use super::attribute::Owners;
use super::event::Value;
use super::names::Texts;
use super::trace::{Record, Trace, Track};
use crate::json::left::{Left, LineTimes};
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
    pub fn begin(&mut self, record: &Record, metadata: u64) -> &mut Vec<u8> {
        self.event.clear();
        number(&mut self.event, XEvent::METADATA_ID, metadata as i64);
        number(&mut self.event, XEvent::OFFSET_PS, record.begin.saturating_sub(self.base));
        number(&mut self.event, XEvent::DURATION_PS, record.duration);
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

/// The XSpace; adds how many events of which kinds are not read, and what has impossible times.
pub fn to_space(mut trace: Trace, left: &mut Left) -> Vec<u8> {
    trace.end();
    left.unread = std::mem::take(&mut trace.unread);
    let owners = Owners::of(&mut trace);
    let records = |tracks: &std::collections::BTreeMap<(i64, i64), Track>| {
        let all = tracks.values().flat_map(|track| &track.records);
        all.map(|record| (record.begin, record.end())).fold((i64::MAX, i64::MIN), |(a, b), (c, d)| (a.min(c), b.max(d)))
    };
    let spans = [records(&trace.threads), records(&trace.streams), records(&trace.notes)];
    let (first, last) = spans.iter().fold((i64::MAX, i64::MIN), |(a, b), &(c, d)| (a.min(c), b.max(d)));
    let first = if first > last { 0 } else { first.div_euclid(1000).saturating_mul(1000) };
    let origin_ns = trace.origin_ns.saturating_add(trace.base_ns);
    let start = Start { timestamp_ns: origin_ns.saturating_add(first / 1000), base: first };
    let mut out = Vec::new();
    environment(&mut trace, start, last.saturating_sub(first).max(0), &mut out);
    let mut links: Vec<(i64, i64)> = Vec::new();
    for (&(device, _), track) in &trace.streams {
        links.extend(track.records.iter().map(|record| (record.link, device)));
    }
    links.sort_unstable();
    links.dedup_by_key(|link| link.0);
    let mut times = Vec::new();
    super::device::planes(&mut trace, &owners, start, (&mut out, &mut times));
    super::host::plane(&mut trace, &owners, &links, start, (&mut out, &mut times));
    super::notes::planes(&mut trace, start, (&mut out, &mut times));
    left.times = times;
    out
}

/// The plane of when the recording ran and what it says of itself; and the host's name.
fn environment(trace: &mut Trace, start: Start, duration: i64, out: &mut Vec<u8>) {
    let mut plane = Plane::new(0, "Task Environment");
    let stop = start.timestamp_ns.saturating_add(duration / 1000);
    for (name, value) in [("profile_start_time", start.timestamp_ns), ("profile_stop_time", stop)] {
        plane.fact(trace.texts.number(name), Value::Int(value));
    }
    let header = std::mem::take(&mut trace.header);
    for (name, value) in &header {
        let key = trace.texts.number(name);
        let value = match value.parse() {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Text(trace.texts.number(value)),
        };
        plane.fact(key, value);
    }
    plane.finish(&trace.texts, out);
    let text = |wanted: &str| header.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let rank = text("distributedInfo").filter(|_| trace.ranks.is_empty()).and_then(rank);
    let rank = rank.map(|rank| format!("rank {rank}"));
    let parts: Vec<&str> = [text("host_name"), rank.as_deref()].into_iter().flatten().collect();
    if !parts.is_empty() {
        message(out, XSpace::HOSTNAMES, parts.join(" ").as_bytes());
    }
}

/// The rank in `{"backend": "nccl", "rank": 3, ...}`.
fn rank(info: &str) -> Option<i64> {
    let JsonValue::Object(fields) = JsonValue::parse(info.as_bytes(), true).ok()? else { return None };
    fields.iter().find_map(|(name, value)| match (name.as_ref(), value) {
        ("rank", JsonValue::Int(rank)) => Some(*rank),
        _ => None,
    })
}

/// Longest path of an op, in bytes: outer modules of a longer one are left out, so that deep ones do not fill memory.
const MOST_PATH: usize = 2 << 10;

/// The module's path and name of an op, as the framework's name of an op: `Net_0/Linear_1/aten::addmm:PyTorch`.
pub fn path_text(texts: &Texts, owners: &Owners, path: u32) -> String {
    let (module, middle, name) = owners.paths[path as usize];
    let mut parts: Vec<&str> = Vec::new();
    let mut room = MOST_PATH;
    let own = [name, middle].into_iter().map(|part| texts.get(part)).filter(|part| !part.is_empty());
    for (number, part) in own.chain(owners.modules.up(module).map(|name| texts.get(name))).enumerate() {
        if number > 0 && part.len() >= room {
            break;
        }
        let part = begin_of(part, MOST_PATH);
        room = room.saturating_sub(part.len() + 1);
        parts.push(part);
    }
    parts.reverse();
    parts.join("/") + ":PyTorch"
}

/// At most so many bytes of a text.
pub fn begin_of(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}
