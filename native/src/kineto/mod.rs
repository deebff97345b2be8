//! Traces of PyTorch's profiler (Kineto's Chrome trace JSON), read as they arrive and written as an XSpace.
//!
//! The text is fed in pieces of any size (`json::reader`). Memory: about one byte per byte of text for what the events say.
//! Further texts may follow: traces of the captures of graphs that the run replays.

mod attribute;
mod collect;
mod costs;
mod device;
pub(crate) mod event;
mod evidence;
mod frames;
mod graphs;
mod hardware;
mod host;
pub(crate) mod names;
mod owners;
mod places;
pub(crate) mod plane;
mod ranks;
mod steps;
mod times;
mod trace;

use jiter::JsonValue;

use crate::error::Result;
use crate::json::left::Left;
use crate::json::reader;
use crate::wire::tags::xplane::XSpace;
use crate::wire::write::message;
use collect::Collector;
use event::Value;
use plane::{Plane, Start};
use trace::{Trace, Track};

pub struct Reader(reader::Reader<Collector>);

impl Default for Reader {
    fn default() -> Self {
        Reader(reader::Reader::new("PyTorch trace", Collector::default()))
    }
}

impl Reader {
    /// Reads what is complete of the text so far.
    pub fn feed(&mut self, piece: &[u8]) -> Result<()> {
        self.0.feed(piece)
    }

    /// The XSpace, and what was left out; fails if the text holds no list of events, or no event and is cut off.
    pub fn finish(self) -> Result<(Vec<u8>, Left)> {
        let (collector, mut left) = self.0.finish()?;
        Ok((space_of(collector.finish(), &mut left), left))
    }
}

/// The XSpace of a whole text.
pub fn to_space(text: &[u8]) -> Result<(Vec<u8>, Left)> {
    let mut reader = Reader::default();
    for piece in text.chunks(4 << 20) {
        reader.feed(piece)?;
    }
    reader.finish()
}

/// The XSpace; adds how many events of which kinds are not read, and what has impossible times.
fn space_of(mut trace: Trace, left: &mut Left) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::columns::{Options, decode};
    use crate::error::Problem;
    use crate::json::left::Damaged;
    use crate::json::reader::MOST_VALUE;

    fn decodes(space: &[u8]) -> bool {
        decode(space, 0, Options::ALL).is_ok()
    }

    const TRACE: &str = r#"{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H100 80GB HBM3","numSms":132}],
"distributedInfo":{"rank":3,"world_size":8},"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#7","pid":1,"tid":2,"ts":100.001,"dur":50},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":110,"dur":10,"args":{"Input Dims":[[2,3],[3,5]],"Input type":["float","float"]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":112,"dur":1,"args":{"correlation":9}},
{"ph":"X","cat":"kernel","name":"gemm \"x\" caf\u00e9","pid":0,"tid":7,"ts":120.5,"dur":2.25,"args":{"stream":7,"device":0,"correlation":9,"grid":[1,2,3]}},
{"ph":"M","name":"thread_name","pid":1,"tid":2,"ts":1,"args":{"name":"thread 2 (python)"}}
],"baseTimeNanoseconds":1700000000000000000}"#;

    #[test]
    fn pieces_of_any_size_give_the_same_space() {
        let whole = to_space(TRACE.as_bytes()).expect("a trace");
        assert_eq!(whole.1, Left::default());
        assert!(decodes(&whole.0));
        for size in 1..40 {
            let mut reader = Reader::default();
            for piece in TRACE.as_bytes().chunks(size) {
                reader.feed(piece).expect("a piece");
            }
            assert_eq!(reader.finish().expect("a trace"), whole, "{size}");
        }
    }

    #[test]
    fn a_trace_that_is_cut_anywhere_is_read_so_far() {
        let events = TRACE.find("},\n{").expect("a second event") + 1;
        for end in 0..TRACE.trim_end().len() {
            match to_space(&TRACE.as_bytes()[..end]) {
                Ok((space, left)) => {
                    assert!(end >= events && left.cut.is_some(), "{end}");
                    assert!(decodes(&space));
                }
                Err(error) => assert!(end < events && error.problem == Problem::Truncated, "{end}: {error}"),
            }
        }
    }

    #[test]
    fn damaged_events_are_left_out() {
        let damaged = TRACE.replace(r#""ts":112"#, r#""ts":!"#);
        let (_, left) = to_space(damaged.as_bytes()).expect("the rest");
        let begin = damaged.find(r#"{"ph":"X","cat":"cuda_runtime""#).expect("the event") as u64;
        let bytes = TRACE.lines().nth(4).expect("the event").len() as u64 - 3;
        let at = damaged.find("!").expect("the damage") as u64;
        let what = "expected value".to_string();
        assert_eq!(left, Left { damaged: Some(Damaged { begin, at, what, events: 1, bytes }), ..Left::default() });
        let invalid: Vec<u8> = TRACE.bytes().map(|byte| if byte == b'g' { 0xff } else { byte }).collect();
        assert!(to_space(&invalid).is_ok(), "text that is no UTF-8");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "  ", "[]", "{\"a\"}", "{\"traceEvents\":[1]}", "x"] {
            assert!(to_space(text.as_bytes()).is_err(), "{text}");
        }
        let (space, left) = to_space(b"{\"traceEvents\":[]}").expect("no events");
        assert!(decodes(&space) && left == Left::default());
    }

    #[test]
    fn a_damaged_event_that_never_ends_is_not_kept() {
        let mut text = br#"{"traceEvents":[{"ph":!, "name":""#.to_vec();
        text.resize(MOST_VALUE + (1 << 20), b'x');
        let mut reader = Reader::default();
        let outcome = text.chunks(1 << 25).try_for_each(|piece| reader.feed(piece));
        assert_eq!(outcome.expect_err("too long").problem, Problem::TooMany);
    }

    #[test]
    fn deep_modules_and_long_names_do_not_multiply() {
        let nested = |depth: usize, name: &str| {
            let mut text = String::from(r#"{"traceEvents":["#);
            for i in 0..depth {
                let end = 10 * (depth - i);
                text += &format!(
                    r#"{{"ph":"X","cat":"python_function","name":"nn.Module: {name}{i}","pid":1,"tid":2,"ts":{i},"dur":{end}}},
{{"ph":"X","cat":"cpu_op","name":"op{i}","pid":1,"tid":2,"ts":{i}.5,"dur":0.1}},"#
                );
            }
            text + r#"{"ph":"M","name":"x","pid":1,"tid":2,"ts":0}]}"#
        };
        for (depth, name) in [(3, String::new()), (3000, "m".repeat(40)), (3, "é".repeat(40_000))] {
            let text = nested(depth, &name);
            let (space, _) = to_space(text.as_bytes()).expect("a trace");
            assert!(decodes(&space) && space.len() <= 4096 + 64 * text.len(), "{} of {}", space.len(), text.len());
            let names = String::from_utf8_lossy(&space).into_owned();
            assert_eq!(names.contains("0/1/2/op2:PyTorch"), name.is_empty());
            assert!(names.contains(&format!("/op{}:PyTorch", depth - 1)) || name.len() > 2048);
        }
    }

    #[test]
    fn begins_beyond_the_range_of_picoseconds_are_read() {
        let text = br#"{"traceEvents":[{"ph":"X","cat":"python_function","name":"b.py(1): g","pid":0,"tid":0,"ts":86666666666666666,"dur":9},
{"ph":"X","cat":"python_function","name":"b.py(2): h","pid":0,"tid":0,"ts":2,"dur":3}]}"#;
        let (space, _) = to_space(text).expect("a trace");
        assert!(decodes(&space));
    }
}
