//! Trace-event JSON, as JAX saves it beside a profile, turned into the bytes of an XSpace.
//!
//! One pass over the text finds the events; then planes, lines and metadata are written in wire format, so that everything
//! else needs to know one format only. Processes keep their numbers where a reader would derive the same ones.
//! A sixth of the file is its tests, which need the private parser.

use std::collections::{BTreeMap, HashMap};

use jiter::{Jiter, JiterError, JiterErrorType, JiterResult, JsonErrorType, Peek};

use crate::error::{Error, Problem, Result};
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
struct Fields {
    name: String,
    phase: String,
    pid: i64,
    tid: i64,
    begin_ps: i64,
    duration_ps: i64,
    args: Vec<(String, Value)>,
}

/// One event on its way to a line.
struct Placed {
    begin_ps: i64,
    duration_ps: i64,
    metadata: u64,
    stats: Vec<(u64, Value)>,
}

#[derive(Default)]
struct Thread {
    name: String,
    events: Vec<Placed>,
    /// Begun and not yet ended.
    open: Vec<Fields>,
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

/// Bytes of an XSpace with the events of a trace: an object with `traceEvents`, or the bare array.
pub fn to_space(text: &[u8]) -> Result<Vec<u8>> {
    let valid = String::from_utf8_lossy(text);
    let mut json = Jiter::new(valid.as_bytes()).with_allow_inf_nan();
    let mut processes = Processes::new();
    read(&mut json, &mut processes).map_err(|error| problem(&error, text.len()))?;
    let mut out = Vec::new();
    for (number, (pid, process)) in processes.iter().enumerate() {
        message(&mut out, XSpace::PLANES, &plane(*pid, number as i64, process));
    }
    Ok(out)
}

fn place(processes: &mut Processes, event: Fields) {
    if !matches!(event.phase.as_str(), "M" | "X" | "i" | "I" | "B" | "E" | "C") {
        return;
    }
    let process = processes.entry(event.pid).or_default();
    let text = |args: &[(String, Value)]| match args.iter().find(|(key, _)| key == "name") {
        Some((_, Value::Text(name))) => name.clone(),
        _ => String::new(),
    };
    match (event.phase.as_str(), event.name.as_str()) {
        ("M", "process_name") => process.name = text(&event.args),
        ("M", "thread_name") => process.threads.entry(event.tid).or_default().name = text(&event.args),
        ("X" | "i" | "I", _) => process.add(event.tid, event),
        ("B", _) => process.threads.entry(event.tid).or_default().open.push(event),
        ("E", _) => {
            if let Some(mut begun) = process.threads.entry(event.tid).or_default().open.pop() {
                begun.duration_ps = event.begin_ps.saturating_sub(begun.begin_ps).max(0);
                process.add(begun.tid, begun);
            }
        }
        ("C", _) => process.add(COUNTERS.0, event),
        _ => {}
    }
}

impl Process {
    fn add(&mut self, tid: i64, mut event: Fields) {
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
        let placed = Placed { begin_ps: event.begin_ps, duration_ps: event.duration_ps, metadata, stats };
        self.threads.entry(tid).or_default().events.push(placed);
    }
}

// ---- reading

type Processes = BTreeMap<i64, Process>;

/// The parser's error at its byte; a truncated text has an error of its own.
///
/// `length` bounds the byte: the parser may look behind the end, and replaced invalid UTF-8 takes more bytes.
fn problem(error: &JiterError, length: usize) -> Error {
    use JsonErrorType::*;
    let problem = match &error.error_type {
        JiterErrorType::JsonError(RecursionLimitExceeded) => Problem::NestedTooDeep,
        JiterErrorType::JsonError(
            EofWhileParsingList | EofWhileParsingObject | EofWhileParsingString | EofWhileParsingValue,
        ) => Problem::Truncated,
        _ => Problem::Syntax,
    };
    Error::new(problem, "trace event JSON", error.index.min(length) as u64)
}

/// Reads an object with `traceEvents`, or the bare array.
fn read(json: &mut Jiter, processes: &mut Processes) -> JiterResult<()> {
    if json.peek()? == Peek::Array {
        return events(json, processes);
    }
    let mut found = json.next_object()?.map(|key| key == "traceEvents");
    while let Some(is_events) = found {
        if is_events {
            events(json, processes)?;
        } else {
            json.next_skip()?;
        }
        found = json.next_key()?.map(|key| key == "traceEvents");
    }
    Ok(())
}

/// Reads the list of events. A trace that was cut off between two events has no closing bracket; its events count.
fn events(json: &mut Jiter, processes: &mut Processes) -> JiterResult<()> {
    let mut next = json.next_array()?;
    while next.is_some() {
        let event = event(json)?;
        place(processes, event);
        next = match json.array_step() {
            Err(error) if problem(&error, 0).problem == Problem::Truncated => None,
            step => step?,
        };
    }
    Ok(())
}

fn event(json: &mut Jiter) -> JiterResult<Fields> {
    let mut event = Fields::default();
    let mut key = json.next_object()?.map(Field::of);
    while let Some(field) = key {
        let peek = json.peek()?;
        match (field, peek) {
            (Field::Name, Peek::String) => event.name = json.known_str()?.to_string(),
            (Field::Phase, Peek::String) => event.phase = json.known_str()?.to_string(),
            (Field::Process, _) => event.pid = whole(value(json)?),
            (Field::Thread, _) => event.tid = whole(value(json)?),
            (Field::Time, _) => event.begin_ps = micro(json)?,
            (Field::Duration, _) => event.duration_ps = micro(json)?.max(0),
            (Field::Args, Peek::Object) => {
                let mut key = json.known_object()?.map(str::to_string);
                while let Some(name) = key {
                    if let Some(value) = value(json)? {
                        event.args.push((name, value));
                    }
                    key = json.next_key()?.map(str::to_string);
                }
            }
            _ => json.known_skip(peek)?,
        }
        key = json.next_key()?.map(Field::of);
    }
    Ok(event)
}

enum Field {
    Name,
    Phase,
    Process,
    Thread,
    Time,
    Duration,
    Args,
    Other,
}

impl Field {
    fn of(key: &str) -> Self {
        match key {
            "name" => Field::Name,
            "ph" => Field::Phase,
            "pid" => Field::Process,
            "tid" => Field::Thread,
            "ts" => Field::Time,
            "dur" => Field::Duration,
            "args" => Field::Args,
            _ => Field::Other,
        }
    }
}

fn whole(value: Option<Value>) -> i64 {
    match value {
        Some(Value::Int(value)) => value,
        Some(Value::Uint(value)) => value as i64,
        Some(Value::Number(value)) => value as i64,
        _ => 0,
    }
}

/// The text of the next value.
fn raw<'j>(json: &mut Jiter<'j>) -> JiterResult<&'j str> {
    json.peek()?;
    let from = json.current_index();
    json.next_skip()?;
    Ok(std::str::from_utf8(json.slice_to_current(from)).unwrap_or_default())
}

/// A number of microseconds in picoseconds, exact for up to six digits behind the point.
fn micro(json: &mut Jiter) -> JiterResult<i64> {
    let text = raw(json)?.trim_matches('"');
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let plain = rest.len() <= 6 && rest.bytes().all(|b| b.is_ascii_digit());
    if let (Ok(whole), true) = (whole.parse::<i64>(), plain && !whole.starts_with('-')) {
        let rest = rest.parse::<i64>().unwrap_or(0) * 10i64.pow(6 - rest.len() as u32);
        return Ok(whole.saturating_mul(1_000_000).saturating_add(rest));
    }
    Ok((text.parse::<f64>().unwrap_or(0.0) * 1e6).round() as i64)
}

/// A value as a stat: texts that are integers become integers; objects and lists become their text.
fn value(json: &mut Jiter) -> JiterResult<Option<Value>> {
    match json.peek()? {
        Peek::String => {
            let text = json.known_str()?;
            Ok(Some(integer(text).unwrap_or_else(|| Value::Text(text.to_string()))))
        }
        Peek::Null => json.known_null().map(|()| None),
        _ => {
            let text = raw(json)?;
            let number = || text.parse().ok().map(Value::Number);
            Ok(Some(integer(text).or_else(number).unwrap_or_else(|| Value::Text(text.to_string()))))
        }
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

fn plane(pid: i64, count: i64, process: &Process) -> Vec<u8> {
    let (name, id) = role(pid, count, &process.name);
    let mut out = Vec::new();
    number(&mut out, XPlane::ID, id);
    message(&mut out, XPlane::NAME, name.as_bytes());
    for (&tid, thread) in &process.threads {
        message(&mut out, XPlane::LINES, &line(tid, thread));
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

fn line(tid: i64, thread: &Thread) -> Vec<u8> {
    let mut out = Vec::new();
    number(&mut out, XLine::ID, tid);
    let name = if tid == COUNTERS.0 { COUNTERS.1 } else { &thread.name };
    message(&mut out, XLine::NAME, name.as_bytes());
    let mut order: Vec<&Placed> = thread.events.iter().collect();
    order.sort_by_key(|event| (event.begin_ps, std::cmp::Reverse(event.duration_ps)));
    for event in order {
        let mut body = Vec::new();
        number(&mut body, XEvent::METADATA_ID, event.metadata as i64);
        number(&mut body, XEvent::OFFSET_PS, event.begin_ps);
        number(&mut body, XEvent::DURATION_PS, event.duration_ps);
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

    #[test]
    fn times_are_exact_and_values_keep_their_kind() {
        let text = r#"[{"ph":"X","ts":19500542.9495,"dur":1e-06,"args":{"a":"12","b":"007","c":"-3","d":1.5,"e":null,
            "f":[1,{"g":"]"}],"h":"18446744073709551615","i":"caf\u00e9 \ud83d\ude00\n"}}"#;
        let mut json = Jiter::new(text.as_bytes());
        json.next_array().expect("an array");
        let event = event(&mut json).expect("an event");
        assert_eq!((event.begin_ps, event.duration_ps), (19_500_542_949_500, 1));
        let values: Vec<_> = event.args.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
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
    fn every_prefix_of_a_trace_is_read_or_refused() {
        let text = br#"{"traceEvents":[{"ph":"M","pid":701,"name":"process_name","args":{"name":"\/host:CPU"}},
            {"ph":"B","pid":701,"tid":5,"ts":1.5,"name":"a"},{"ph":"E","pid":701,"tid":5,"ts":3},{}]}"#;
        for end in 0..text.len() {
            let _ = to_space(&text[..end]);
        }
        assert!(to_space(text).is_ok());
    }
}
