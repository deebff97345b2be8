//! All events of a host by time: (begin, longer first, process, thread, name), with the serial of equal begins.
//!
//! Every row is ascending already, so time is cut into slices that hold a few thousand events; each slice is sorted
//! on its own while it is in the cache.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::sparse::Sparse;
use super::{Row, Trace};

/// Events per slice, about.
const SLICE: usize = 1 << 14;

/// Events per entry of `latest_end`.
pub const BLOCK: usize = 512;

/// Events whose serial does not fit a byte are never shown.
pub const MAX_SERIAL: u8 = u8::MAX;

/// What an event is besides an interval.
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
    pub event: Vec<u32>,
    pub track: Vec<u32>,
    pub serial: Vec<u8>,
    pub kind: Vec<Kind>,
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
    pub fn bytes(&self) -> usize {
        self.event.len() * 10 + self.flow.bytes() + self.flow_place.len() * 4 + self.latest_end.len() * 8
    }
}

/// Splits a stored flow value: direction (2 bits), id (56), category (6).
pub fn decode_flow(value: u64) -> Flow {
    Flow { key: 0, id: (value >> 2) & ((1 << 56) - 1), category: (value >> 58) as u8, direction: (value & 3) as u8 }
}

/// Where each row stands at the boundaries of the slices.
struct Slices {
    /// `starts[s][r]`: first event of row r in slice s.
    starts: Vec<Vec<u32>>,
    sizes: Vec<usize>,
}

pub fn order(trace: &Trace, threads: usize) -> Order {
    let n = trace.len();
    let slices = cut(trace);
    let mut event = vec![0u32; n];
    let mut track = vec![0u32; n];
    let mut serial = vec![0u8; n];
    let mut kind = vec![Kind::Plain; n];
    {
        let share = slices.sizes.len().div_ceil(threads.max(1)).max(1);
        let (mut e, mut t, mut s, mut k) = (&mut event[..], &mut track[..], &mut serial[..], &mut kind[..]);
        std::thread::scope(|scope| {
            for (part, sizes) in slices.sizes.chunks(share).enumerate() {
                let count = sizes.iter().sum();
                let (e1, e2) = std::mem::take(&mut e).split_at_mut(count);
                let (t1, t2) = std::mem::take(&mut t).split_at_mut(count);
                let (s1, s2) = std::mem::take(&mut s).split_at_mut(count);
                let (k1, k2) = std::mem::take(&mut k).split_at_mut(count);
                (e, t, s, k) = (e2, t2, s2, k2);
                let range = part * share..part * share + sizes.len();
                let slices = &slices;
                let work =
                    move || sort_slices(trace, slices, range, Part { event: e1, track: t1, serial: s1, kind: k1 });
                if (part + 1) * share >= slices.sizes.len() {
                    work();
                } else {
                    scope.spawn(work);
                }
            }
        });
    }
    finish(trace, event, track, serial, kind)
}

fn finish(trace: &Trace, event: Vec<u32>, track: Vec<u32>, serial: Vec<u8>, kind: Vec<Kind>) -> Order {
    let mut keys: HashMap<u64, u32, BuildHasherDefault<Mix>> = HashMap::default();
    keys.reserve(trace.flow.values().len() / 2);
    let mut flow_place = Vec::new();
    let flow = if trace.flow.is_empty() {
        Sparse::default()
    } else {
        flow_place = (0..event.len())
            .filter(|&k| trace.flow.index(trace.source[event[k] as usize] as usize).is_some())
            .map(|k| k as u32)
            .collect();
        Sparse::new(
            event.len(),
            flow_place.iter().map(|&k| {
                let value = trace.flow.get(trace.source[event[k as usize] as usize] as usize).unwrap_or(0);
                let mut flow = decode_flow(value);
                let next = keys.len() as u32;
                flow.key = *keys.entry(flow.id).or_insert(next);
                (k as usize, flow)
            }),
        )
    };
    let latest_end = event
        .chunks(BLOCK)
        .map(|block| block.iter().map(|&e| trace.end(e as usize)).max().unwrap_or(i64::MIN))
        .collect();
    let on_tracks = kind.iter().filter(|&&k| matches!(k, Kind::Plain | Kind::Flow)).count();
    Order { event, track, serial, kind, flow_count: keys.len(), flow, flow_place, latest_end, on_tracks }
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

struct Part<'a> {
    event: &'a mut [u32],
    track: &'a mut [u32],
    serial: &'a mut [u8],
    kind: &'a mut [Kind],
}

fn sort_slices(trace: &Trace, slices: &Slices, range: std::ops::Range<usize>, part: Part) {
    let mut events: Vec<(u32, u32)> = Vec::new();
    let mut keys: Vec<u64> = Vec::new();
    let mut at = 0;
    let mut run = Vec::new();
    for s in range {
        events.clear();
        for ((row, &first), &last) in trace.rows.iter().zip(&slices.starts[s]).zip(&slices.starts[s + 1]) {
            events.extend((first..last).map(|e| (e, row.track)));
        }
        let places = sorted(trace, &events, &mut keys);
        let mut i = 0;
        while i < places.len() {
            let begin = trace.begin[events[places[i] as usize].0 as usize];
            let mut j = i + 1;
            while j < places.len() && trace.begin[events[places[j] as usize].0 as usize] == begin {
                j += 1;
            }
            run.clear();
            run.extend(places[i..j].iter().map(|&p| events[p as usize]));
            if j - i > 1 {
                run.sort_by_cached_key(|&(e, t)| tie(trace, e, t));
            }
            for (serial, &(e, t)) in run.iter().enumerate() {
                part.event[at] = e;
                part.track[at] = t;
                part.serial[at] = serial.min(MAX_SERIAL as usize) as u8;
                part.kind[at] = if serial > MAX_SERIAL as usize { Kind::Dropped } else { kind_of(trace, e) };
                at += 1;
            }
            i = j;
        }
    }
}

fn kind_of(trace: &Trace, event: u32) -> Kind {
    if trace.flow.is_empty() {
        return Kind::Plain;
    }
    let source = trace.source[event as usize] as usize;
    match (trace.flow.index(source), trace.asynchronous.index(source)) {
        (Some(_), Some(_)) => Kind::Async,
        (Some(_), None) => Kind::Flow,
        _ => Kind::Plain,
    }
}

/// Order among events that begin together.
fn tie(trace: &Trace, event: u32, track: u32) -> (std::cmp::Reverse<i64>, u32, bool, u32, u32) {
    let e = event as usize;
    let id = trace.tracks[track as usize];
    (std::cmp::Reverse(trace.duration[e]), id.pid, kind_of(trace, event) != Kind::Async, id.tid, trace.name[e])
}

/// Places of `events` by begin, packed into one word each where the span allows.
fn sorted(trace: &Trace, events: &[(u32, u32)], keys: &mut Vec<u64>) -> Vec<u32> {
    let begin = |i: usize| trace.begin[events[i].0 as usize];
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for i in 0..events.len() {
        low = low.min(begin(i));
        high = high.max(begin(i));
    }
    let bits = usize::BITS - events.len().leading_zeros();
    let span = high.wrapping_sub(low) as u64;
    if events.is_empty() || span.leading_zeros() < bits || high < low {
        let mut places: Vec<u32> = (0..events.len() as u32).collect();
        places.sort_by_key(|&i| begin(i as usize));
        return places;
    }
    keys.clear();
    keys.extend((0..events.len()).map(|i| (begin(i).wrapping_sub(low) as u64) << bits | i as u64));
    keys.sort_unstable();
    let mask = (1u64 << bits) - 1;
    keys.iter().map(|&k| (k & mask) as u32).collect()
}

/// Spreads flow ids, which are well mixed already.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// Rows of a trace that overlap a window's begin, for tests and searches.
pub fn row_range(trace: &Trace, row: &Row, begin: i64, end: i64) -> (usize, usize) {
    let (first, last) = (row.first as usize, row.last as usize);
    let from = first + trace.begin[first..last].partition_point(|&b| b < begin);
    // The interval before may reach into the window; rows are disjoint, so only one can.
    let from = if from > first && trace.end(from - 1) >= begin { from - 1 } else { from };
    let to = first + trace.begin[first..last].partition_point(|&b| b <= end);
    (from, to.max(from))
}

#[cfg(test)]
mod tests {
    use super::super::build::tests::{trace_of, trace_with};
    use super::*;

    #[test]
    fn sorts_over_tracks_and_counts_equal_begins() {
        let trace = trace_of(&[(1, 5, 3, 0), (0, 5, 3, 1), (0, 5, 9, 2), (2, 0, 1, 3)]);
        let order = order(&trace, 2);
        let seen: Vec<_> = order.event.iter().map(|&e| trace.name[e as usize]).collect();
        assert_eq!(seen, [3, 2, 1, 0]);
        assert_eq!(order.serial, [0, 0, 1, 2]);
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
                    (trace.begin[e as usize], trace.duration[e as usize], trace.track_of(e), trace.name[e as usize])
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
        assert_eq!(order.kind, [Kind::Async, Kind::Flow, Kind::Flow]);
        let flow = order.flow.get(1).unwrap_or_default();
        assert_eq!((flow.key, flow.id, flow.category, flow.direction), (0, 42, 5, 1));
        assert_eq!(order.flow_count, 2);
    }
}
