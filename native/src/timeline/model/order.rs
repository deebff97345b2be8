//! All events of a host by time: (begin, longer first, process, thread, name), with the serial of equal begins.
//!
//! Every row is ascending already, so time is cut into slices that hold a few thousand events; each slice is sorted
//! on its own while it is in the cache.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::kernels::rows::Seeded;
use crate::system::memory::zeros;
use crate::system::parallel;
use crate::timeline::model::lengths::{narrow, widen};
use crate::timeline::model::slice::Work;
use crate::timeline::model::sparse::Sparse;
use crate::timeline::model::trace::Trace;

/// Events per slice, about.
const SLICE: usize = 1 << 14;

/// Events per entry of `latest_end`.
pub const BLOCK: usize = 512;

/// Events whose serial does not fit a byte are never shown.
pub const MAX_SERIAL: u8 = u8::MAX;

/// Direction bits of a flow.
pub const FLOW_IN: u8 = 1;
pub const FLOW_OUT: u8 = 2;

/// One end or middle of a flow.
#[derive(Clone, Copy, Default, Debug)]
pub struct Flow {
    /// Dense number of the flow.
    pub key: u32,
    pub id: u64,
    pub category: u8,
    pub direction: u8,
}

/// Events of a trace in time order.
pub struct Order {
    /// Position in the trace.
    pub event: Vec<u32>,
    pub track: Vec<u32>,
    pub begin: Vec<i64>,
    /// See `Order::end`.
    low: Vec<u32>,
    high: Vec<u8>,
    pub kind: Vec<Kind>,
    /// Number among the events with the same begin, by position in the trace.
    pub serial: Vec<u8>,
    /// Flow events by place in the order.
    pub flow: Sparse<Flow>,
    pub flow_place: Vec<u32>,
    pub flow_count: usize,
    /// Latest end of each block of `BLOCK` events.
    pub latest_end: Vec<i64>,
    /// Events that are shown on a track (neither asynchronous nor dropped).
    pub on_tracks: usize,
}

impl Order {
    /// End of the event at a place.
    #[inline(always)]
    pub fn end(&self, trace: &Trace, place: usize) -> i64 {
        self.begin[place].saturating_add(self.length(trace, place))
    }

    /// Duration of the event at a place, at least 0.
    #[inline(always)]
    pub fn length(&self, trace: &Trace, place: usize) -> i64 {
        widen(self.low[place], self.high[place], || trace.duration(self.event[place] as usize))
    }

    pub fn bytes(&self) -> usize {
        self.event.len() * 23 + self.flow.bytes() + self.flow_place.len() * 4 + self.latest_end.len() * 8
    }
}

/// Splits a stored flow value: direction (2 bits), id (56), category (6).
pub fn decode_flow(value: u64) -> Flow {
    Flow { key: 0, id: (value >> 2) & ((1 << 56) - 1), category: (value >> 58) as u8, direction: (value & 3) as u8 }
}

/// Positions in each row at the boundaries of the slices.
struct Slices {
    /// `starts[s][r]`: first event of row r in slice s.
    starts: Vec<Vec<u32>>,
    sizes: Vec<usize>,
}

pub fn order(trace: &Trace, threads: usize) -> Order {
    let n = trace.len();
    let slices = cut(trace);
    let mut order = Order {
        event: zeros(n),
        track: zeros(n),
        begin: zeros(n),
        low: zeros(n),
        high: zeros(n),
        serial: zeros(n),
        kind: vec![Kind::Plain; n],
        flow: Sparse::default(),
        flow_place: Vec::new(),
        flow_count: 0,
        latest_end: Vec::new(),
        on_tracks: 0,
    };
    // A few parts per thread, so that one slow part does not hold up the rest.
    let share = slices.sizes.len().div_ceil(4 * threads.max(1)).max(1);
    let mut jobs = Vec::new();
    let mut rest = order.part();
    for (i, sizes) in slices.sizes.chunks(share).enumerate() {
        let (part, left) = rest.split(sizes.iter().sum());
        jobs.push((i * share..i * share + sizes.len(), part));
        rest = left;
    }
    // Jobs cannot fail.
    let _ = parallel::run(threads, jobs, |(range, part)| {
        sort_slices(trace, &slices, range, part);
        Ok(())
    });
    let mut serial = zeros(n);
    for (&event, &number) in order.event.iter().zip(&order.serial).filter(|(_, number)| **number > 0) {
        serial[event as usize] = number;
    }
    order.serial = serial;
    finish(trace, order)
}

fn finish(trace: &Trace, mut order: Order) -> Order {
    if !trace.flow.is_empty() {
        let mut keys: HashMap<u64, u32, Seeded> = HashMap::default();
        keys.reserve(trace.flow.values().len() / 2);
        let flows = order.kind.iter().enumerate().filter(|(_, kind)| matches!(kind, Kind::Flow | Kind::Async));
        order.flow_place = flows.map(|(k, _)| k as u32).collect();
        let numbered = order.flow_place.iter().map(|&k| {
            let mut flow = decode_flow(trace.flow.get(order.event[k as usize] as usize).unwrap_or(0));
            let next = keys.len() as u32;
            flow.key = *keys.entry(flow.id).or_insert(next);
            (k as usize, flow)
        });
        order.flow = Sparse::new(trace.len(), numbered);
        order.flow_count = keys.len();
    }
    let blocks = (0..trace.len()).step_by(BLOCK).map(|first| first..trace.len().min(first + BLOCK));
    order.latest_end = blocks.map(|block| block.map(|k| order.end(trace, k)).max().unwrap_or(i64::MIN)).collect();
    order.on_tracks = order.kind.iter().filter(|&&k| matches!(k, Kind::Plain | Kind::Flow)).count();
    order
}

fn cut(trace: &Trace) -> Slices {
    // Every row gives each of its SLICE/8-th begins; every eighth of those, sorted, is a boundary.
    const STEP: usize = SLICE / 8;
    let mut sample: Vec<i64> = trace
        .rows
        .iter()
        .flat_map(|r| (r.first as usize..r.last as usize).step_by(STEP).skip(1).map(|e| trace.begin[e]))
        .collect();
    sample.sort_unstable();
    let mut bounds: Vec<i64> = sample.into_iter().step_by(8).skip(1).collect();
    bounds.dedup();
    let mut starts = vec![trace.rows.iter().map(|r| r.first).collect::<Vec<u32>>()];
    for bound in bounds {
        let before = &starts[starts.len() - 1];
        let next =
            trace.rows.iter().zip(before).map(|(r, &from)| lower_bound(&trace.begin, from, r.last, bound)).collect();
        starts.push(next);
    }
    starts.push(trace.rows.iter().map(|r| r.last).collect());
    let sizes = starts.windows(2).map(|w| w[0].iter().zip(&w[1]).map(|(a, b)| (b - a) as usize).sum()).collect();
    Slices { starts, sizes }
}

/// First event in `from..last` that begins at or after `bound`, found by galloping.
fn lower_bound(begin: &[i64], from: u32, last: u32, bound: i64) -> u32 {
    let slice = &begin[from as usize..last as usize];
    let mut high = 1;
    while high <= slice.len() && slice[high - 1] < bound {
        high *= 2;
    }
    let low = high / 2;
    let high = high.min(slice.len());
    from + (low + slice[low..high].partition_point(|&b| b < bound)) as u32
}

/// Columns of some slices, to be filled.
#[derive(Default)]
struct Part<'a> {
    event: &'a mut [u32],
    track: &'a mut [u32],
    begin: &'a mut [i64],
    low: &'a mut [u32],
    high: &'a mut [u8],
    serial: &'a mut [u8],
    kind: &'a mut [Kind],
}

impl Order {
    fn part(&mut self) -> Part<'_> {
        Part {
            event: &mut self.event,
            track: &mut self.track,
            begin: &mut self.begin,
            low: &mut self.low,
            high: &mut self.high,
            serial: &mut self.serial,
            kind: &mut self.kind,
        }
    }
}

impl<'a> Part<'a> {
    fn split(self, count: usize) -> (Part<'a>, Part<'a>) {
        let (event, event_left) = self.event.split_at_mut(count);
        let (track, track_left) = self.track.split_at_mut(count);
        let (begin, begin_left) = self.begin.split_at_mut(count);
        let (low, low_left) = self.low.split_at_mut(count);
        let (high, high_left) = self.high.split_at_mut(count);
        let (serial, serial_left) = self.serial.split_at_mut(count);
        let (kind, kind_left) = self.kind.split_at_mut(count);
        let left = Part {
            event: event_left,
            track: track_left,
            begin: begin_left,
            low: low_left,
            high: high_left,
            serial: serial_left,
            kind: kind_left,
        };
        (Part { event, track, begin, low, high, serial, kind }, left)
    }

    #[inline]
    fn put(&mut self, trace: &Trace, at: usize, (event, track): (u32, u32), begin: i64, mut serial: usize) {
        let kind = kind_of(trace, event);
        if !trace.samples.is_empty() {
            let name = (kind == Kind::Async).then(|| trace.name[event as usize]);
            serial += trace.samples_before(event as usize, trace.tracks[track as usize].pid, name);
        }
        self.event[at] = event;
        self.track[at] = track;
        self.begin[at] = begin;
        (self.low[at], self.high[at]) = narrow(trace.duration(event as usize).max(0));
        self.serial[at] = serial.min(MAX_SERIAL as usize) as u8;
        self.kind[at] = if serial > MAX_SERIAL as usize { Kind::Dropped } else { kind };
    }
}

fn sort_slices(trace: &Trace, slices: &Slices, range: std::ops::Range<usize>, mut part: Part) {
    let mut work = Work::default();
    let mut run: Vec<(u32, u32)> = Vec::new();
    let mut at = 0;
    for s in range {
        work.gather(trace, &slices.starts[s], &slices.starts[s + 1]);
        work.sort();
        let mut i = 0;
        while i < work.len() {
            let begin = work.begin(i);
            let mut j = i + 1;
            while j < work.len() && work.begin(j) == begin {
                j += 1;
            }
            if j - i == 1 {
                part.put(trace, at, work.event(i), begin, 0);
                at += 1;
            } else {
                run.clear();
                for k in i..j {
                    let event = work.event(k);
                    run.push(event);
                }
                run.sort_by(|&a, &b| before(trace, a, b));
                for (serial, &event) in run.iter().enumerate() {
                    part.put(trace, at, event, begin, serial);
                    at += 1;
                }
            }
            i = j;
        }
    }
}

/// Kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    Plain,
    Flow,
    /// Asynchronous flow event: has no track of its own in a trace viewer.
    Async,
    /// One of more than 256 events with the same begin.
    Dropped,
}

/// Kind of an event, by its flow and whether it is asynchronous.
pub fn kind_of(trace: &Trace, event: u32) -> Kind {
    if trace.flow.is_empty() {
        return Kind::Plain;
    }
    let event = event as usize;
    match (trace.flow.index(event), trace.asynchronous.index(event)) {
        (Some(_), Some(_)) => Kind::Async,
        (Some(_), None) => Kind::Flow,
        _ => Kind::Plain,
    }
}

/// Order among events that begin together.
fn tie(trace: &Trace, event: u32, track: u32) -> (Reverse<i64>, u32, bool, u32, u32) {
    let e = event as usize;
    let id = trace.tracks[track as usize];
    let asynchronous = kind_of(trace, event) == Kind::Async;
    // Asynchronous events belong to no thread and come behind those that do.
    (Reverse(trace.duration(e)), id.pid, asynchronous, if asynchronous { 0 } else { id.tid }, trace.name[e])
}

/// Compares two events that begin together; most of them differ in length.
#[inline]
fn before(trace: &Trace, a: (u32, u32), b: (u32, u32)) -> std::cmp::Ordering {
    let length = |(event, _): (u32, u32)| trace.duration(event as usize);
    length(b).cmp(&length(a)).then_with(|| tie(trace, a.0, a.1).cmp(&tie(trace, b.0, b.1)))
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;
    use crate::timeline::model::build::tests::{trace_of, trace_with};

    #[test]
    fn samples_are_numbered_behind_the_threads_of_their_process() {
        let events = [(0, 5, 0, 1), (1, 5, 0, 1), (0, 5, 9, 1), (0, 5, 0, 3), (0, 6, 0, 2)];
        let mut trace = trace_with(&events, &[(3, 7)], &[3]);
        let sample = |begin, duration, pid, name| (begin, Reverse(duration), pid, name);
        trace.samples = vec![sample(5, 3, 1, 0), sample(5, 0, 1, 2), sample(5, 0, 1, 4), sample(6, 0, 1, 0)];
        let found = order(&trace, 1);
        // The long event, a long sample, the instant of the thread, a sample, the asynchronous instant, ...
        let serials: Vec<u8> = found.event.iter().map(|&e| found.serial[e as usize]).collect();
        assert_eq!(serials, [0, 2, 4, 6, 0]);
        trace.samples = vec![sample(5, 3, 1, 0); 255];
        assert_eq!(order(&trace, 1).kind[1..4], [Kind::Dropped; 3]);
    }

    #[test]
    fn sorts_over_tracks_and_counts_equal_begins() {
        let trace = trace_of(&[(1, 5, 3, 0), (0, 5, 3, 1), (0, 5, 9, 2), (2, 0, 1, 3)]);
        let order = order(&trace, 2);
        let seen: Vec<_> = order.event.iter().map(|&e| trace.name[e as usize]).collect();
        assert_eq!(seen, [3, 2, 1, 0]);
        let serials: Vec<u8> = order.event.iter().map(|&e| order.serial[e as usize]).collect();
        assert_eq!(serials, [0, 0, 1, 2]);
        assert_eq!(order.track, [2, 0, 0, 1]);
    }

    #[test]
    fn equals_a_plain_sort_over_many_slices() {
        let mut seed = 1u64;
        let events: Vec<(usize, i64, i64, u32)> = (0..100_000)
            .map(|_| {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (
                    (seed >> 60) as usize,
                    (seed >> 20) as i64 % 1_000_000,
                    (seed >> 50) as i64 % 50,
                    (seed >> 33) as u32 % 10,
                )
            })
            .collect();
        let trace = trace_of(&events);
        let order = order(&trace, 3);
        let mut expected: Vec<u32> = (0..trace.len() as u32).collect();
        expected.sort_by_key(|&e| (trace.begin[e as usize], tie(&trace, e, trace.track_of(e) as u32)));
        let times = |list: &[u32]| -> Vec<(i64, i64, usize, u32)> {
            list.iter()
                .map(|&e| {
                    (trace.begin[e as usize], trace.duration(e as usize), trace.track_of(e), trace.name[e as usize])
                })
                .collect()
        };
        assert_eq!(times(&order.event), times(&expected));
    }

    #[test]
    fn the_257th_of_equal_begins_is_dropped() {
        let events: Vec<_> = (0..300).map(|i| (i, 7, 1, 0)).collect();
        let trace = trace_of(&events);
        let order = order(&trace, 1);
        assert_eq!(order.kind.iter().filter(|&&k| k == Kind::Dropped).count(), 300 - 256);
        assert_eq!(order.on_tracks, 256);
    }

    #[test]
    fn flows_are_split_and_numbered_and_asynchronous_ones_come_without_a_thread() {
        let value = (5 << 58) | (42 << 2) | 1;
        let trace = trace_with(
            &[(0, 0, 9, 0), (0, 0, 9, 1), (0, 1, 1, 2)],
            &[(0, value), (1, 42 << 2 | 2), (2, 7 << 2 | 3)],
            &[1],
        );
        let order = order(&trace, 1);
        assert_eq!(order.kind, [Kind::Flow, Kind::Async, Kind::Flow]);
        let flow = order.flow.get(0).unwrap_or_default();
        assert_eq!((flow.key, flow.id, flow.category, flow.direction), (0, 42, 5, 1));
        assert_eq!(order.flow_count, 2);
    }
}
