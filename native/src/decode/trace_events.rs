//! Trace-event JSON, as JAX saves it beside a profile, turned into the bytes of an XSpace.
//!
//! The text is read as it arrives (`json::reader`); then planes, lines and metadata are written in wire format, so that
//! everything else needs to know one format only. Processes keep their numbers where a reader would derive the same ones.

use std::collections::{BTreeMap, HashMap};

use jiter::{Jiter, JiterResult};

use super::xspace::LARGEST_NS;
use crate::error::Result;
use crate::json::left::{Left, LineTimes};
use crate::json::reader;
use crate::json::trace_event::{self, Head, Moment, Plain, Time};
use crate::kernels::possible::Possible;
use crate::wire::tags::xplane::{XEvent, XLine, XPlane, XSpace, XStat};
use crate::wire::write::{message, number, varint};
use crate::wire::xspace::{event_metadata, stat_metadata};

/// A value that an event carries.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Text(String),
    Number(f64),
    Int(i64),
    Uint(u64),
}

/// The fields of one trace event that matter here.
#[derive(Default, Debug)]
struct Event {
    head: Head,
    name: String,
    args: Vec<(String, Value)>,
}

/// The fields of the event that is read.
#[derive(Default, Debug)]
struct Fields {
    name: String,
    args: Vec<(String, Value)>,
    /// The name of the argument that is read.
    key: String,
    /// Processes and threads that are texts, with their numbers.
    places: HashMap<String, i64>,
}

/// One event on its way to a line.
struct Placed {
    begin: Moment,
    duration_ps: i64,
    metadata: u64,
    stats: Vec<(u64, Value)>,
}

#[derive(Default)]
struct Thread {
    name: String,
    events: Vec<Placed>,
    /// Begun and not yet ended.
    open: Vec<Event>,
}

#[derive(Default)]
struct Process {
    name: String,
    threads: BTreeMap<i64, Thread>,
    /// (name, full name) -> id, and the same by id.
    metadata: HashMap<(String, String), u64>,
    metadata_list: Vec<(String, String)>,
    stats: HashMap<String, u64>,
    stats_list: Vec<String>,
}

/// Line that holds samples of counters.
const COUNTERS: (i64, &str) = (i64::MAX, "_counters_");

/// Numbers of processes and threads that are texts count up from here.
const FIRST_TEXT: i64 = 1 << 40;

/// Events by process, and what is read of the next one.
#[derive(Default)]
struct Processes {
    all: BTreeMap<i64, Process>,
    fields: Fields,
}

/// Reads a trace: an object with `traceEvents`, or the bare array.
pub struct Reader(reader::Reader<Processes>);

impl Default for Reader {
    fn default() -> Self {
        Reader(reader::Reader::new("trace event JSON", Processes::default()))
    }
}

impl Reader {
    /// Reads what is complete of the text so far.
    pub fn feed(&mut self, piece: &[u8]) -> Result<()> {
        self.0.feed(piece)
    }

    /// The XSpace, and what was left out; fails if the text holds no list of events, or no event and is cut off.
    pub fn finish(self) -> Result<(Vec<u8>, Left)> {
        let (processes, mut left) = self.0.finish()?;
        let axis = Axis::of(&processes.all);
        let texts = processes.fields.places.into_iter().map(|(text, number)| (number, text)).collect();
        let mut out = Vec::new();
        for (number, (pid, process)) in processes.all.iter().enumerate() {
            message(&mut out, XSpace::PLANES, &plane(*pid, number as i64, process, &texts, (axis, &mut left.times)));
        }
        Ok((out, left))
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

impl reader::Document for Processes {
    fn header(&mut self, _key: &str, _value: &[u8]) {}

    fn event(&mut self, json: &mut Jiter) -> JiterResult<bool> {
        let head = trace_event::read(json, &mut self.fields);
        let event = Event {
            head: *head.as_ref().unwrap_or(&Head::default()),
            name: std::mem::take(&mut self.fields.name),
            args: std::mem::take(&mut self.fields.args),
        };
        let phase = head?.phase;
        self.place(event);
        Ok(phase != 0)
    }

    fn next_text(&mut self) {}
}

impl Processes {
    fn place(&mut self, event: Event) {
        let Head { phase, pid, tid, begin, .. } = event.head;
        if !b"MXiIBEC".contains(&phase) {
            return;
        }
        let (process, tid) = (self.all.entry(pid.unwrap_or(0)).or_default(), tid.unwrap_or(0));
        let text = |args: &[(String, Value)]| match args.iter().find(|(key, _)| key == "name") {
            Some((_, Value::Text(name))) => name.clone(),
            _ => String::new(),
        };
        match (phase, event.name.as_str()) {
            (b'M', "process_name") => process.name = text(&event.args),
            (b'M', "thread_name") => process.threads.entry(tid).or_default().name = text(&event.args),
            (b'X' | b'i' | b'I', _) => process.add(tid, event),
            (b'B', _) => process.threads.entry(tid).or_default().open.push(event),
            (b'E', _) => {
                if let Some(mut begun) = process.threads.entry(tid).or_default().open.pop() {
                    begun.head.duration = match (begun.head.begin, begin) {
                        (Time::At(from), Time::At(to)) => {
                            Time::At(Moment { ns: to.ns.saturating_sub(from.ns), ps: to.ps - from.ps })
                        }
                        _ => Time::NoNumber,
                    };
                    process.add(tid, begun);
                }
            }
            (b'C', _) => process.add(COUNTERS.0, event),
            _ => {}
        }
    }
}

impl Process {
    fn add(&mut self, tid: i64, mut event: Event) {
        let mut long_name = String::new();
        event.args.retain_mut(|(key, value)| match value {
            Value::Text(text) if key == "long_name" => {
                long_name = std::mem::take(text);
                false
            }
            _ => true,
        });
        let next = self.metadata_list.len() as u64 + 1;
        let metadata = *self.metadata.entry((event.name.clone(), long_name.clone())).or_insert(next);
        if metadata == next {
            self.metadata_list.push((event.name, long_name));
        }
        let mut stats = Vec::with_capacity(event.args.len());
        for (key, value) in event.args {
            let next = self.stats_list.len() as u64 + 1;
            let id = *self.stats.entry(key.clone()).or_insert(next);
            if id == next {
                self.stats_list.push(key);
            }
            stats.push((id, value));
        }
        let placed = Placed {
            begin: match event.head.begin {
                Time::At(begin) => begin,
                Time::Missing | Time::NoNumber => Moment { ns: i64::MIN, ps: 0 },
            },
            duration_ps: match event.head.duration {
                Time::NoNumber => -1,
                duration => duration.or_zero().in_ps(),
            },
            metadata,
            stats,
        };
        self.threads.entry(tid).or_default().events.push(placed);
    }
}

impl trace_event::Texts for Fields {
    fn name(&mut self, text: &str) {
        self.name = text.to_string();
    }

    fn place(&mut self, text: &str) -> i64 {
        let next = FIRST_TEXT + self.places.len() as i64;
        *self.places.entry(text.to_string()).or_insert(next)
    }

    fn key(&mut self, key: &str) -> bool {
        self.key = key.to_string();
        true
    }

    /// Texts that are integers become integers; objects and lists become their text.
    fn value(&mut self, value: Plain) {
        let value = match value {
            Plain::Text(text) => integer(text).unwrap_or_else(|| Value::Text(text.to_string())),
            Plain::Json(text) => Value::Text(text.to_string()),
            Plain::Bool(value) => Value::Text(value.to_string()),
            Plain::Int(value) => Value::Int(value),
            Plain::Uint(value) => Value::Uint(value),
            Plain::Double(value) => Value::Number(value),
        };
        self.args.push((std::mem::take(&mut self.key), value));
    }
}

fn integer(text: &str) -> Option<Value> {
    let canonical = text == "0" || !text.trim_start_matches('-').starts_with('0') && !text.starts_with('+');
    if !canonical {
        return None;
    }
    text.parse().map(Value::Int).or_else(|_| text.parse().map(Value::Uint)).ok()
}

// ---- writing

/// The plane's name and id from which a reader derives the process id again.
fn role(pid: i64, number: i64, name: &str) -> (String, i64) {
    let known = ["/host:CPU", "/device:GPU:", "/device:TPU:"].iter().any(|prefix| name.starts_with(prefix));
    match (known, name.starts_with("/device:CUSTOM:")) {
        (true, _) => (name.to_string(), (pid - 1).max(0)),
        (_, true) => (name.to_string(), (pid - 501).max(0)),
        _ if name.is_empty() => (format!("/device:CUSTOM:process {pid}"), number),
        _ => (format!("/device:CUSTOM:{name}"), number),
    }
}

/// Which events have possible times, and the ns that these are counted from.
#[derive(Clone, Copy)]
struct Axis {
    origin_ns: i64,
    /// In ps from the origin.
    possible: Possible,
}

impl Axis {
    /// Times count from 0, unless they are too large in ps.
    fn of(processes: &BTreeMap<i64, Process>) -> Axis {
        let events = || processes.values().flat_map(|one| one.threads.values()).flat_map(|one| &one.events);
        let possible = Possible::of_spans(events().map(|one| (one.begin.ns, one.duration_ps / 1000)), 1_000_000_000);
        let begins = || events().map(|event| event.begin.ns).filter(|&begin| possible.begins(begin));
        let far = begins().any(|begin| begin.unsigned_abs() > LARGEST_NS);
        let origin_ns = if far { begins().min().unwrap_or(0) } else { 0 };
        Axis { origin_ns, possible: possible.scaled(origin_ns, 1000) }
    }

    /// Begin and duration of an event in ps, if they are possible.
    fn place(self, event: &Placed) -> Option<(i64, i64)> {
        let begin = event.begin.ns.saturating_sub(self.origin_ns).saturating_mul(1000).saturating_add(event.begin.ps);
        let duration = event.duration_ps;
        self.possible.has(begin, begin.saturating_add(duration)).then_some((begin, duration))
    }
}

/// `texts`: processes and threads that are texts, by their numbers; to `times` lines are added with impossible times.
fn plane(
    pid: i64,
    count: i64,
    process: &Process,
    texts: &HashMap<i64, String>,
    (axis, times): (Axis, &mut Vec<LineTimes>),
) -> Vec<u8> {
    let own = if process.name.is_empty() { texts.get(&pid) } else { None };
    let (name, id) = role(pid, count, own.unwrap_or(&process.name));
    let mut out = Vec::new();
    number(&mut out, XPlane::ID, id);
    message(&mut out, XPlane::NAME, name.as_bytes());
    for (&tid, thread) in &process.threads {
        message(&mut out, XPlane::LINES, &line(tid, thread, texts, axis, &name, times));
    }
    for (i, (name, long_name)) in process.metadata_list.iter().enumerate() {
        let (full, display) =
            if long_name.is_empty() { (name.as_str(), "") } else { (long_name.as_str(), name.as_str()) };
        event_metadata(&mut out, i as i64 + 1, full, display);
    }
    // A plane that knows groups is not grouped again: what the profiler derived is in the trace already.
    let grouped = std::iter::once("group_id").filter(|name| !process.stats.contains_key(*name));
    for (i, name) in process.stats_list.iter().map(String::as_str).chain(grouped).enumerate() {
        stat_metadata(&mut out, i as i64 + 1, name);
    }
    out
}

fn line(
    tid: i64,
    thread: &Thread,
    texts: &HashMap<i64, String>,
    axis: Axis,
    plane: &str,
    times: &mut Vec<LineTimes>,
) -> Vec<u8> {
    let mut out = Vec::new();
    number(&mut out, XLine::ID, tid);
    let name = match texts.get(&tid) {
        _ if tid == COUNTERS.0 => COUNTERS.1,
        Some(text) if thread.name.is_empty() => text,
        _ => &thread.name,
    };
    message(&mut out, XLine::NAME, name.as_bytes());
    if axis.origin_ns != 0 {
        number(&mut out, XLine::TIMESTAMP_NS, axis.origin_ns);
    }
    let mut order: Vec<(i64, i64, &Placed)> = thread
        .events
        .iter()
        .filter_map(|event| axis.place(event).map(|(begin, lasts)| (begin, lasts, event)))
        .collect();
    if order.len() < thread.events.len() {
        let left_out = (thread.events.len() - order.len()) as u64;
        times.push(LineTimes { plane: plane.to_string(), line: name.to_string(), left_out, shortened: 0 });
    }
    order.sort_by_key(|&(begin, lasts, _)| (begin, std::cmp::Reverse(lasts)));
    for (begin, lasts, event) in order {
        let mut body = Vec::new();
        number(&mut body, XEvent::METADATA_ID, event.metadata as i64);
        number(&mut body, XEvent::OFFSET_PS, begin);
        number(&mut body, XEvent::DURATION_PS, lasts);
        for (id, value) in &event.stats {
            message(&mut body, XEvent::STATS, &stat(*id, value));
        }
        message(&mut out, XLine::EVENTS, &body);
    }
    out
}

fn stat(id: u64, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    number(&mut out, XStat::METADATA_ID, id as i64);
    match value {
        Value::Text(text) => message(&mut out, XStat::STR_VALUE, text.as_bytes()),
        Value::Int(value) => number(&mut out, XStat::INT64_VALUE, *value),
        Value::Uint(value) => number(&mut out, XStat::UINT64_VALUE, *value as i64),
        Value::Number(value) => {
            varint(&mut out, XStat::DOUBLE_VALUE.into());
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Problem;
    use crate::json::reader::Document;

    #[test]
    fn times_are_exact_and_values_keep_their_kind() {
        let text = r#"[{"ph":"X","ts":19500542.9495,"dur":1e-06,"args":{"a":"12","b":"007","c":"-3","d":1.5,"e":null,
            "f":[1,{"g":"]"}],"h":"18446744073709551615","i":"caf\u00e9 \ud83d\ude00\n"}}"#;
        let mut json = Jiter::new(&text.as_bytes()[1..]);
        let mut processes = Processes::default();
        assert!(processes.event(&mut json).expect("an event"));
        let process = &processes.all[&0];
        let event = &process.threads[&0].events[0];
        assert_eq!((event.begin.in_ps(), event.duration_ps), (19_500_542_949_500, 1));
        let name = |id: u64| process.stats_list[id as usize - 1].as_str();
        let values: Vec<_> = event.stats.iter().map(|(id, value)| (name(*id), value.clone())).collect();
        assert_eq!(
            values,
            [
                ("a", Value::Int(12)),
                ("b", Value::Text("007".into())),
                ("c", Value::Int(-3)),
                ("d", Value::Number(1.5)),
                ("f", Value::Text("[1,{\"g\":\"]\"}]".into())),
                ("h", Value::Uint(u64::MAX)),
                ("i", Value::Text("café 😀\n".into())),
            ]
        );
    }

    #[test]
    fn broken_text_says_where() {
        for (text, problem, offset) in [
            ("", Problem::Truncated, 0),
            ("x", Problem::Syntax, 0),
            ("{\"traceEvents\":[{\"ts\":}]}", Problem::Syntax, 22),
            ("{\"traceEvents\":[{\"name\":\"abc", Problem::Truncated, 28),
            ("[}", Problem::Syntax, 1),
            ("[\"\\", Problem::Syntax, 1),
            ("[{\"\\", Problem::Truncated, 4),
        ] {
            let error = to_space(text.as_bytes()).expect_err(text);
            assert_eq!((error.problem, error.offset), (problem, offset), "{text}");
        }
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        assert_eq!(to_space(deep.as_bytes()).expect_err("deep").problem, Problem::NestedTooDeep);
        assert!(
            to_space(b"[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1},").is_ok(),
            "a trace that was cut between events"
        );
    }

    #[test]
    fn a_damaged_event_costs_itself_alone() {
        let event = |name: &str| format!(r#"{{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":{name}}}"#);
        let text = |middle: &str| format!(r#"{{"traceEvents":[{},{middle},{}]}}"#, event("\"a\""), event("\"b\""));
        for (middle, lost, mended) in [
            (event("\"x\""), false, false),
            (event("x"), true, false),
            (event("\"say \"x\" y\""), false, true),
            (event("\"C:\\new\\Users\""), false, true),
            (r#"{"ph":"X","pid":1"#.to_string(), true, false),
            ("17".to_string(), false, false),
        ] {
            let (space, left) = to_space(text(&middle).as_bytes()).expect("the rest");
            assert_eq!((left.damaged.is_some(), left.mended.is_some(), left.cut), (lost, mended, None), "{middle}");
            assert_eq!(left.stray.is_some(), middle == "17");
            let found = String::from_utf8_lossy(&space).into_owned();
            assert!(found.contains("\u{1}a") && found.contains("\u{1}b"), "{middle}");
        }
    }

    #[test]
    fn processes_and_threads_may_be_texts() {
        let text =
            br#"[{"ph":"X","pid":"worker","tid":"loop","ts":1,"name":"a"},{"ph":"X","pid":"other","ts":1,"name":"b"}]"#;
        let found = String::from_utf8_lossy(&to_space(text).expect("a trace").0).into_owned();
        assert!(["/device:CUSTOM:worker", "/device:CUSTOM:other", "loop"].iter().all(|name| found.contains(name)));
    }

    #[test]
    fn json_without_events_is_no_trace() {
        for text in ["{\"hello\": 1}", "[]", "[{\"a\": 1}]", "{\"traceEvents\": {}}", "{}"] {
            assert_eq!(to_space(text.as_bytes()).expect_err(text).problem, Problem::NoEvents, "{text}");
        }
    }

    #[test]
    fn every_prefix_of_a_trace_is_read_or_refused() {
        let text = br#"{"traceEvents":[{"ph":"M","pid":701,"name":"process_name","args":{"name":"\/host:CPU"}},
            {"ph":"B","pid":701,"tid":5,"ts":1.5,"name":"a"},{"ph":"E","pid":701,"tid":5,"ts":3},{}]}"#;
        for end in 0..text.len() {
            let _ = to_space(&text[..end]);
        }
        assert!(to_space(text).is_ok());
    }
}
