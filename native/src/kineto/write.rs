//! A trace as an XSpace: a plane of the host's threads, a plane per device with its streams, and one of what is noted
//! beside them.

use jiter::JsonValue;

use super::event::Value;
use super::plane::{Plane, Start};
use super::trace::{Trace, Track};
use super::{attribute, device, host};
use crate::json::left::Left;
use crate::wire::tags::xplane::XSpace;
use crate::wire::write::message;

/// The XSpace; adds how many events of which kinds are not read, and what has impossible times.
pub fn to_space(mut trace: Trace, left: &mut Left) -> Vec<u8> {
    left.unread = std::mem::take(&mut trace.unread);
    let owners = attribute::attribute(&mut trace);
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
    device::planes(&mut trace, &owners, start, (&mut out, &mut times));
    host::plane(&mut trace, &owners, &links, start, (&mut out, &mut times));
    device::note_planes(&mut trace, start, (&mut out, &mut times));
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
