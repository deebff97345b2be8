//! Packets of a host's events: begin and end of every slice, in the order in which slices nest on their lane.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::kernels::rows::Seeded;
use crate::timeline::answer::arguments::{Args, Value};
use crate::timeline::model::order::decode_flow;
use crate::timeline::model::trace::{NO_GROUP, Trace};
use crate::timeline::perfetto::interned::{Interned, shown};
use crate::timeline::perfetto::lanes::lanes;
use crate::wire::tags::perfetto::{self as tags, DebugAnnotation, TracePacket, TrackEvent};
use crate::wire::write::{message, number, varint};

const PS_PER_NS: i64 = 1000;

/// An event has at most this many arguments.
pub const MOST_ARGS: usize = 64;

/// Name of the argument with the duration in ps where times in ns do not give it.
const EXACT: &[u8] = b"duration_ps";

/// The argument that is the category of an event.
const CATEGORY: &[u8] = b"hlo_category";

/// Arguments that events with the same metadata share, as fields of a `TrackEvent`.
#[derive(Clone, Copy)]
struct Shared {
    first: usize,
    last: usize,
    /// Number of the category; 0: that of the table.
    category: u64,
    keys: (usize, usize),
}

/// Times of the file: ns since `origin_ns`, of a clock that `shift_ps` is added to.
#[derive(Clone, Copy, Default)]
pub struct Clock {
    pub origin_ns: i64,
    pub shift_ps: i64,
}

impl Clock {
    fn ns(&self, time_ps: i64) -> u64 {
        let since = time_ps.saturating_add(self.shift_ps).div_euclid(PS_PER_NS);
        since.saturating_add(self.origin_ns).max(0) as u64
    }
}

/// Events of one track that are not written yet.
#[derive(Default)]
struct Cursor {
    event: Vec<u32>,
    /// Lane of each event; empty: all are on the first.
    lane: Vec<u32>,
    next: usize,
    /// Ends of the open slices per lane, innermost last.
    open: Vec<Vec<i64>>,
}

/// Writes the packets of one host, which are one sequence.
pub struct Writer {
    clock: Clock,
    /// Fields of every packet.
    tail: Vec<u8>,
    /// Category of the events of each table.
    categories: Vec<String>,
    texts: Interned,
    shared: HashMap<u64, Shared, Seeded>,
    encoded: Vec<u8>,
    shared_keys: Vec<u32>,
    flows: HashMap<u64, u64, Seeded>,
    next_flow: u64,
    cursor: Cursor,
}

impl Writer {
    /// `sequence`: number of the sequence, whose first packet is another; `first_flow`: least number of a flow.
    pub fn new(sequence: u32, clock: Clock, first_flow: u64, categories: Vec<String>) -> Writer {
        let mut tail = Vec::new();
        number(&mut tail, TracePacket::TRUSTED_PACKET_SEQUENCE_ID, sequence.into());
        let flags = TracePacket::SequenceFlags::SEQ_NEEDS_INCREMENTAL_STATE;
        number(&mut tail, TracePacket::SEQUENCE_FLAGS, flags.into());
        Writer {
            clock,
            tail,
            categories,
            texts: Interned::default(),
            shared: HashMap::default(),
            encoded: Vec::new(),
            shared_keys: Vec::new(),
            flows: HashMap::default(),
            next_flow: first_flow,
            cursor: Cursor::default(),
        }
    }

    /// The least number that no flow has so far.
    pub fn next_flow(&self) -> u64 {
        self.next_flow
    }

    /// Goes to a track; returns the number of its lanes, 0 without events.
    pub fn begin(&mut self, trace: &Trace, track: usize) -> u32 {
        let bound = |i: usize| trace.track_events.get(i).map_or(0, |&at| at);
        let mut event: Vec<u32> = (bound(track)..bound(track + 1)).collect();
        self.cursor = Cursor::default();
        if event.is_empty() {
            return 0;
        }
        let several = bound(track + 1) > bound(track) && trace.track_rows[track + 1] - trace.track_rows[track] > 1;
        let mut count = 1;
        if several {
            event.sort_by_key(|&e| (trace.begin[e as usize], Reverse(trace.duration(e as usize))));
            let times = event.iter().map(|&e| (trace.begin[e as usize], trace.end(e as usize)));
            (self.cursor.lane, count) = lanes(times);
        }
        self.cursor.event = event;
        self.cursor.open = vec![Vec::new(); count as usize];
        count
    }

    /// Packets of the next events of the track, at most `most`; empty at its end. Its lanes are tracks from `uuid` on.
    pub fn events(&mut self, trace: &Trace, args: &Args, uuid: u64, most: usize) -> Vec<u8> {
        let category = (0..args.keys.len() as u32).find(|&key| args.keys.text(key) == CATEGORY);
        let has_exact = (0..args.keys.len() as u32).any(|key| args.keys.text(key) == EXACT);
        let (first, count) = (self.cursor.next, self.cursor.event.len());
        let last = count.min(first.saturating_add(most));
        let mut out = Vec::with_capacity((last - first) * 96);
        let (mut body, mut scratch, mut list) = (Vec::new(), Vec::new(), Vec::new());
        for i in first..last {
            let event = self.cursor.event[i] as usize;
            let lane = self.cursor.lane.get(i).map_or(0, |&lane| lane as usize);
            let (begin, end) = (trace.begin[event], trace.end(event));
            self.close(lane, begin, uuid, &mut out);
            body.clear();
            let kind = if end > begin { TrackEvent::Type::TYPE_SLICE_BEGIN } else { TrackEvent::Type::TYPE_INSTANT };
            number(&mut body, TrackEvent::TYPE, kind.into());
            number(&mut body, TrackEvent::TRACK_UUID, uuid.wrapping_add(lane as u64) as i64);
            let name = trace.name[event];
            let name = self.texts.name(name, || trace.names.text(name));
            number(&mut body, TrackEvent::NAME_IID, name as i64);
            self.arguments(args, trace.source[event] as usize, category, &mut list, &mut scratch, &mut body);
            let group = trace.group_of(event);
            if group != NO_GROUP {
                self.annotation(args, (args.group_id, Value::Int(group)), false, &mut scratch, &mut body);
            }
            let (begin_ns, end_ns) = (self.clock.ns(begin), self.clock.ns(end));
            let duration = end.wrapping_sub(begin);
            if !has_exact && end_ns.wrapping_sub(begin_ns).wrapping_mul(PS_PER_NS as u64) != duration as u64 {
                self.annotation(args, (args.keys.len() as u32, Value::Int(duration)), false, &mut scratch, &mut body);
            }
            if let Some(flow) = trace.flow.get(event) {
                let next = self.next_flow;
                let flow = *self.flows.entry(decode_flow(flow).id).or_insert(next);
                self.next_flow += u64::from(flow == next);
                varint(&mut body, TrackEvent::FLOW_IDS.into());
                body.extend_from_slice(&flow.to_le_bytes());
            }
            self.packet(begin_ns, &body, &mut out);
            if end > begin {
                self.cursor.open[lane].push(end);
            }
        }
        self.cursor.next = last;
        if last == count {
            for lane in 0..self.cursor.open.len() {
                self.close(lane, i64::MAX, uuid, &mut out);
            }
        }
        self.with_texts(out)
    }

    /// Packets of a counter's samples.
    pub fn counter(&mut self, uuid: u64, begin: &[i64], value: &[f64]) -> Vec<u8> {
        const WHOLE: f64 = (1u64 << 53) as f64;
        let whole = value.iter().all(|v| v.fract() == 0.0 && v.abs() <= WHOLE);
        let (mut out, mut body) = (Vec::with_capacity(begin.len() * 32), Vec::new());
        for (&begin, &value) in begin.iter().zip(value) {
            body.clear();
            number(&mut body, TrackEvent::TYPE, TrackEvent::Type::TYPE_COUNTER.into());
            number(&mut body, TrackEvent::TRACK_UUID, uuid as i64);
            if whole {
                number(&mut body, TrackEvent::COUNTER_VALUE, value as i64);
            } else {
                varint(&mut body, TrackEvent::DOUBLE_COUNTER_VALUE.into());
                body.extend_from_slice(&value.to_le_bytes());
            }
            self.packet(self.clock.ns(begin), &body, &mut out);
        }
        out
    }

    /// Ends the slices of a lane that end until `time`.
    #[inline]
    fn close(&mut self, lane: usize, time: i64, uuid: u64, out: &mut Vec<u8>) {
        while let Some(&end) = self.cursor.open[lane].last().filter(|end| **end <= time) {
            self.cursor.open[lane].pop();
            let mut body = Vec::with_capacity(16);
            number(&mut body, TrackEvent::TYPE, TrackEvent::Type::TYPE_SLICE_END.into());
            number(&mut body, TrackEvent::TRACK_UUID, uuid.wrapping_add(lane as u64) as i64);
            self.packet(self.clock.ns(end), &body, out);
        }
    }

    fn packet(&self, ns: u64, event: &[u8], out: &mut Vec<u8>) {
        let parts = size(TracePacket::TIMESTAMP.into()) + size(ns) + size(TracePacket::TRACK_EVENT.into());
        let length = parts + size(event.len() as u64) + event.len() + self.tail.len();
        varint(out, tags::Trace::PACKET.into());
        varint(out, length as u64);
        number(out, TracePacket::TIMESTAMP, ns as i64);
        message(out, TracePacket::TRACK_EVENT, event);
        out.extend_from_slice(&self.tail);
    }

    /// The packets behind one with the texts that they are the first to need.
    fn with_texts(&mut self, packets: Vec<u8>) -> Vec<u8> {
        let texts = self.texts.take();
        if texts.is_empty() {
            return packets;
        }
        let mut body = Vec::with_capacity(texts.len() + 32);
        message(&mut body, TracePacket::INTERNED_DATA, &texts);
        body.extend_from_slice(&self.tail);
        let mut out = Vec::with_capacity(body.len() + packets.len() + 16);
        message(&mut out, tags::Trace::PACKET, &body);
        out.extend_from_slice(&packets);
        out
    }

    /// Category and arguments of an event; each key once, that of the event before that of its metadata.
    fn arguments<'a>(
        &mut self,
        args: &Args<'a>,
        source: usize,
        category: Option<u32>,
        list: &mut Vec<(u32, Value<'a>)>,
        scratch: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        let Some(place) = args.locate(source) else { return };
        let key = (place.sheet as u64) << 32 | u64::from(place.row);
        let shared = match self.shared.get(&key) {
            Some(&shared) => shared,
            None => {
                list.clear();
                args.of_metadata(&place, list);
                let shared = self.share(args, category, list, scratch);
                self.shared.insert(key, shared);
                shared
            }
        };
        let category_iid = if shared.category != 0 {
            shared.category
        } else {
            let name = self.categories.get(place.sheet).map_or("", String::as_str);
            self.texts.category(name.as_bytes())
        };
        number(out, TrackEvent::CATEGORY_IIDS, category_iid as i64);
        list.clear();
        args.of_event(&place, list);
        let known = &self.shared_keys[shared.keys.0..shared.keys.1];
        if list.iter().any(|(key, _)| known.contains(key)) {
            args.collect(source, list);
            list.retain(|(key, _)| Some(*key) != category);
        } else {
            out.extend_from_slice(&self.encoded[shared.first..shared.last]);
        }
        for &argument in list.iter().filter(|(key, _)| *key != args.group_id).take(MOST_ARGS) {
            self.annotation(args, argument, false, scratch, out);
        }
    }

    /// Keeps the encoded arguments that all events with one metadata have.
    fn share(&mut self, args: &Args, category: Option<u32>, list: &[(u32, Value)], scratch: &mut Vec<u8>) -> Shared {
        let (first, first_key) = (self.encoded.len(), self.shared_keys.len());
        let mut encoded = std::mem::take(&mut self.encoded);
        let mut number = 0;
        for &(key, value) in list.iter().filter(|(key, _)| *key != args.group_id).take(MOST_ARGS) {
            self.shared_keys.push(key);
            match args.text(value) {
                Some(text) if Some(key) == category && !text.is_empty() => number = self.texts.category(text),
                _ => self.annotation(args, (key, value), true, scratch, &mut encoded),
            }
        }
        self.encoded = encoded;
        Shared { first, last: self.encoded.len(), category: number, keys: (first_key, self.shared_keys.len()) }
    }

    /// One argument; texts that many events may have (`shared`) are numbered.
    fn annotation(
        &mut self,
        args: &Args,
        (key, value): (u32, Value),
        shared: bool,
        scratch: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        if value == Value::Opaque || key == args.flow {
            return;
        }
        scratch.clear();
        let name = self.texts.key(key, || {
            // The number behind those of the profile's keys.
            if key as usize == args.keys.len() { EXACT } else { args.keys.text(key) }
        });
        number(scratch, DebugAnnotation::NAME_IID, name as i64);
        match value {
            Value::Int(value) => number(scratch, DebugAnnotation::INT_VALUE, value),
            Value::Uint(value) => number(scratch, DebugAnnotation::UINT_VALUE, value as i64),
            Value::Double(value) => {
                varint(scratch, DebugAnnotation::DOUBLE_VALUE.into());
                scratch.extend_from_slice(&value.to_le_bytes());
            }
            Value::Known(id) => {
                let id = self.texts.known(id, || args.texts.text(id));
                number(scratch, DebugAnnotation::STRING_VALUE_IID, id as i64);
            }
            Value::Text(text) if shared => {
                let id = self.texts.placed(text);
                number(scratch, DebugAnnotation::STRING_VALUE_IID, id as i64);
            }
            Value::Text(text) => message(scratch, DebugAnnotation::STRING_VALUE, &shown(text)),
            Value::Opaque => {}
        }
        message(out, TrackEvent::DEBUG_ANNOTATIONS, scratch);
    }
}

/// Bytes of a varint.
#[inline]
fn size(value: u64) -> usize {
    (63 - (value | 1).leading_zeros() as usize) / 7 + 1
}
