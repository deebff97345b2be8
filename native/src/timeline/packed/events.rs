//! The events of a trace viewer as compressed JSON.
//!
//! Only the numbers of an event are new: begin, duration, the id of a flow, a group. The rest (kind, track, name) is one
//! text, the *tail*, which most likely occurred a few hundred bytes before:
//!
//! ```text
//! ,{"ts":  7035614344.139  ,"dur":  533685.811828  ,"args":{"uid":0},"ph":"X","pid":1003,"tid":1,"name":"fusion.1"}
//!          number          repeat   number         tail
//! ```

use crate::json::text::Sink;
use crate::timeline::model::order::{FLOW_IN, FLOW_OUT, Flow, decode_flow};
use crate::timeline::model::trace::{NO_GROUP, Trace};
use crate::timeline::packed::flow::{category, flow_text, is_quoted};
use crate::timeline::packed::gzip::Part;
use crate::timeline::packed::stream::{Last, Stream};
use crate::timeline::query::select::Run;

/// Events of one host, written behind each other.
pub struct Events<'a> {
    pub trace: &'a Trace,
    /// Number among events with the same begin, by event.
    pub serial: &'a [u8],
    pub runs: Vec<(Run, &'a [u32])>,
    /// Added to every process id.
    pub pid_offset: u32,
}

/// Beginning of an event. It is part of the tail in front of it, so that both are one repeat.
const OPEN: &[u8] = b",{\"ts\":";

/// Slots for tails. The slot follows from the key; a later tail replaces an earlier one.
const TAILS: usize = 2048;

/// Names may be long: beyond so many bytes all tails are dropped.
const MOST_BYTES: usize = 4 << 20;

/// What the tail of an event depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    track: u32,
    name: u32,
    phase: Phase,
    serial: u8,
    grouped: bool,
    /// Category and direction, whether its id is quoted.
    flow: Option<(u8, u8, bool)>,
}

/// An event is complete, an asynchronous one, or one of the two ends of an asynchronous one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Complete,
    Alone,
    Begin,
    End,
}

#[derive(Default)]
struct Tail {
    key: Option<Key>,
    text: Vec<u8>,
    last: Last,
}

struct Writer<'a> {
    trace: &'a Trace,
    serial: &'a [u8],
    pid_offset: u32,
    stream: Stream,
    tails: Vec<Tail>,
    /// Bytes of all tails.
    held: usize,
    duration: Last,
    /// In front of ids and groups, of complete events and of others, quoted or not.
    ids: [[Last; 2]; 2],
    groups: [Last; 2],
}

impl Events<'_> {
    /// Writes the events, each behind a comma.
    pub fn write(&self) -> Part {
        let count: usize = self.runs.iter().map(|(_, events)| events.len()).sum();
        let mut writer = Writer {
            trace: self.trace,
            serial: self.serial,
            pid_offset: self.pid_offset,
            stream: Stream::new(24 * count),
            tails: (0..TAILS).map(|_| Tail::default()).collect(),
            held: 0,
            duration: Last::default(),
            ids: Default::default(),
            groups: Default::default(),
        };
        // The tail of the event before; its last bytes open the next one.
        let mut tail = None;
        for &(Run { track, asynchronous, .. }, events) in &self.runs {
            for &event in events {
                match tail {
                    None => writer.stream.literal(OPEN),
                    Some(at) => writer.tail(at),
                }
                let event = event as usize;
                tail =
                    Some(if asynchronous { writer.asynchronous(track, event) } else { writer.complete(track, event) });
            }
        }
        if let Some(at) = tail {
            let text = &writer.tails[at].text;
            writer.stream.literal(&text[..text.len() - OPEN.len()]);
        }
        writer.stream.finish()
    }
}

impl Writer<'_> {
    /// Writes an event up to its tail; the number of the tail.
    #[inline(always)]
    fn complete(&mut self, track: u32, event: usize) -> usize {
        let flow = self.trace.flow.get(event).map(decode_flow);
        self.stream.micro(self.trace.begin[event]);
        self.stream.repeat(b",\"dur\":", &mut self.duration);
        self.stream.micro(self.trace.duration(event).max(1));
        self.rest(track, event, flow, Phase::Complete)
    }

    /// Writes an asynchronous event up to its tail; of a middle one of its flow both ends, up to the tail of the second.
    fn asynchronous(&mut self, track: u32, event: usize) -> usize {
        let flow = self.trace.flow.get(event).map(decode_flow);
        self.stream.micro(self.trace.begin[event]);
        if flow.is_none_or(|flow| flow.direction != FLOW_IN | FLOW_OUT) {
            return self.rest(track, event, flow, Phase::Alone);
        }
        let tail = self.rest(track, event, flow, Phase::Begin);
        self.tail(tail);
        self.stream.micro(self.trace.end(event));
        self.rest(track, event, flow, Phase::End)
    }

    /// Writes what is between the times of an event and its tail; the number of the tail.
    #[inline(always)]
    fn rest(&mut self, track: u32, event: usize, flow: Option<Flow>, phase: Phase) -> usize {
        let quoted = flow.is_some_and(|flow| is_quoted(flow.id));
        if let Some(flow) = flow {
            let text: &[u8] = match (phase, quoted) {
                (Phase::Complete, false) => b",\"bind_id\":",
                (Phase::Complete, true) => b",\"bind_id\":\"",
                (_, false) => b",\"id\":",
                (_, true) => b",\"id\":\"",
            };
            let last = &mut self.ids[usize::from(phase == Phase::Complete)][usize::from(quoted)];
            self.stream.repeat(text, last);
            self.stream.uint(flow.id);
        }
        let group = self.trace.group_of(event);
        if group != NO_GROUP {
            let text: &[u8] = if quoted { b"\",\"args\":{\"group_id\":" } else { b",\"args\":{\"group_id\":" };
            self.stream.repeat(text, &mut self.groups[usize::from(quoted)]);
            self.stream.int(group);
        }
        let flow = flow.map(|flow| (flow.category, flow.direction, quoted));
        let (name, serial) = (self.trace.name[event], self.serial[event]);
        self.find(Key { track, name, phase, serial, grouped: group != NO_GROUP, flow })
    }

    #[inline(always)]
    fn tail(&mut self, at: usize) {
        let Tail { text, last, .. } = &mut self.tails[at];
        self.stream.repeat(text, last);
    }

    /// The number of a tail, which is made if it is not there.
    #[inline(always)]
    fn find(&mut self, key: Key) -> usize {
        let flow = key.flow.map_or(0, |(category, direction, quoted)| {
            1 | u64::from(quoted) << 1 | u64::from(direction) << 2 | u64::from(category) << 4
        });
        let rest = flow << 16 | u64::from(key.serial) << 8 | u64::from(key.grouped) << 4 | key.phase as u64;
        let mixed = (u64::from(key.track) << 32 | u64::from(key.name)) ^ rest.rotate_right(24);
        let at = (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - TAILS.ilog2())) as usize;
        if self.tails[at].key != Some(key) {
            self.make(at, key);
        }
        at
    }

    #[cold]
    fn make(&mut self, at: usize, key: Key) {
        let text = tail_text(self.trace, &key, self.pid_offset);
        self.held += text.len();
        if self.held > MOST_BYTES {
            self.held = text.len();
            self.tails.iter_mut().for_each(|tail| *tail = Tail::default());
        }
        self.held -= self.tails[at].text.len();
        self.tails[at] = Tail { key: Some(key), text, last: Last::default() };
    }
}

/// The text between the last number of an event and the begin of the next.
fn tail_text(trace: &Trace, key: &Key, pid_offset: u32) -> Vec<u8> {
    let flow = key.flow.map(|(category, direction, _)| Flow { category, direction, ..Flow::default() });
    let mut out = Vec::new();
    let quote = if key.flow.is_some_and(|(_, _, quoted)| quoted) { "\"" } else { "" };
    let uid = format!("\"uid\":{}", key.serial);
    let args = match (key.grouped, key.phase) {
        (false, Phase::End) => quote.to_owned(),
        (true, Phase::End) => "}".to_owned(),
        (false, _) => format!("{quote},\"args\":{{{uid}}}"),
        (true, _) => format!(",{uid}}}"),
    };
    out.put(args.as_bytes());
    let of_flow = match key.phase {
        Phase::Complete => flow.as_ref().map(flow_text).unwrap_or_default(),
        _ => format!(",\"cat\":\"{}\"", flow.as_ref().map_or("", category)),
    };
    let phase = match key.phase {
        Phase::Complete => ",\"ph\":\"X\"",
        Phase::Begin => ",\"ph\":\"b\"",
        Phase::End => ",\"ph\":\"e\"",
        Phase::Alone => phase_alone(flow.map_or(0, |flow| flow.direction)),
    };
    out.put(format!("{phase}{of_flow}").as_bytes());
    if key.serial > 0 {
        out.put(format!(",\"z\":{}", key.serial).as_bytes());
    }
    out.put(track_text(trace, key.track, key.phase != Phase::Complete, pid_offset).as_bytes());
    out.put(trace.names.quoted(key.name));
    out.put(b"}");
    out.put(OPEN);
    out
}

/// Phase of an asynchronous event that begins or ends a flow, or does neither.
pub fn phase_alone(direction: u8) -> &'static str {
    match direction {
        FLOW_IN => ",\"ph\":\"e\"",
        FLOW_OUT => ",\"ph\":\"b\"",
        _ => "",
    }
}

/// Process and thread of an event, up to the name; an asynchronous event has no thread.
pub fn track_text(trace: &Trace, track: u32, asynchronous: bool, pid_offset: u32) -> String {
    let id = trace.tracks[track as usize];
    let pid = id.pid.wrapping_add(pid_offset);
    let thread = if asynchronous { String::new() } else { format!("\"tid\":{},", id.tid) };
    format!(",\"pid\":{pid},{thread}\"name\":")
}
