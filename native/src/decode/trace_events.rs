//! Trace-event JSON, as JAX saves it beside a profile, turned into the bytes of an XSpace.
//!
//! One pass over the text finds the events; then planes, lines and metadata are written in wire format, so that everything
//! else needs to know one format only. Processes keep their numbers where a reader would derive the same ones.
//! A sixth of the file is its tests, which need the private parser.

use std::collections::{BTreeMap, HashMap};

use jiter::{Jiter, JiterError, JiterErrorType, JiterResult, JsonErrorType, Peek};

use crate::error::{Error, Problem, Result};
use crate::json::trace_event::{self, Head, Moment, Plain};
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
    head: Head,
    name: String,
    args: Vec<(String, Value)>,
    /// The name of the argument that is read.
    key: String,
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
    let Head { phase, pid, tid, begin, .. } = event.head;
    if !b"MXiIBEC".contains(&phase) {
        return;
    }
    let (process, tid) = (processes.entry(pid.unwrap_or(0)).or_default(), tid.unwrap_or(0));
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
                let ps = begin.in_ps().saturating_sub(begun.head.begin.in_ps());
                begun.head.duration = Moment { ns: 0, ps };
                process.add(tid, begun);
            }
        }
        (b'C', _) => process.add(COUNTERS.0, event),
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
        let placed = Placed {
            begin_ps: event.head.begin.in_ps(),
            duration_ps: event.head.duration.in_ps().max(0),
            metadata,
            stats,
        };
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
    let mut fields = Fields::default();
    fields.head = trace_event::read(json, &mut fields)?;
    Ok(fields)
}

impl trace_event::Texts for Fields {
    fn name(&mut self, text: &str) {
        self.name = text.to_string();
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
        assert_eq!((event.head.begin.in_ps(), event.head.duration.in_ps()), (19_500_542_949_500, 1));
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
