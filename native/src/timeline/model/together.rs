//! Events that begin together: their serials, and those beyond the 256th, which are never shown.
//!
//! No order over all events is kept: one pass over the begins marks in a table of hashes which of them may occur with
//! others, and only those events are sorted.

use std::ops::RangeInclusive;

use crate::system::parallel;
use crate::timeline::model::sparse::Sparse;
use crate::timeline::model::ties::{Kind, before, kind_of};
use crate::timeline::model::trace::Trace;

/// The largest serial; events beyond it are never shown.
pub const MAX_SERIAL: u8 = u8::MAX;

/// The fewest events that are counted as one job.
const SHARE: usize = 1 << 18;

/// Begins by hash: `1 << bits` slots.
#[derive(Clone, Copy)]
struct Slots {
    bits: u32,
}

impl Slots {
    fn for_count(count: usize, per_slot: f64) -> Self {
        let wanted = (count as f64 / per_slot) as usize;
        Slots { bits: wanted.next_power_of_two().ilog2().clamp(10, 24) }
    }

    fn len(self) -> usize {
        1 << self.bits
    }

    #[inline(always)]
    fn of(self, begin: i64) -> usize {
        ((begin as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - self.bits)) as usize
    }
}

/// An event that may begin together with others.
type Found = (i64, u32);

/// Sorts, and calls `visit` for each group of events that begin together, in their order; for single ones only if there
/// are samples.
fn groups(trace: &Trace, mut found: Vec<Found>, mut visit: impl FnMut(&[(u32, u32)])) {
    found.sort_unstable();
    let least = if trace.samples.is_empty() { 2 } else { 1 };
    let mut group: Vec<(u32, u32)> = Vec::new();
    for run in found.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() >= least) {
        group.clear();
        group.extend(run.iter().map(|&(_, event)| (event, trace.track_of(event) as u32)));
        if group.len() > 1 {
            group.sort_by(|&a, &b| before(trace, a, b));
        }
        visit(&group);
    }
}

/// Number of an event among those that begin with it, samples of counters included; `place`: its place in the group.
fn serial(trace: &Trace, place: usize, (event, track): (u32, u32)) -> usize {
    if trace.samples.is_empty() {
        return place;
    }
    let name = (kind_of(trace, event) == Kind::Async).then(|| trace.name[event as usize]);
    place + trace.samples_before(event as usize, trace.tracks[track as usize].pid, name)
}

/// The events with a serial beyond `MAX_SERIAL`.
pub fn dropped(trace: &Trace, threads: usize) -> Sparse<()> {
    if trace.len() + trace.samples.len() <= usize::from(MAX_SERIAL) {
        return Sparse::default();
    }
    let slots = Slots::for_count(trace.len(), 16.0);
    let size = trace.len().div_ceil(threads.max(1)).max(SHARE);
    let count = |begins: &[i64]| {
        let mut counts = vec![0u8; slots.len()];
        for &begin in begins {
            let slot = &mut counts[slots.of(begin)];
            *slot = slot.saturating_add(1);
        }
        Ok(counts)
    };
    let mut counts = parallel::run(threads, trace.begin.chunks(size).collect(), count).unwrap_or_default();
    let mut all = counts.pop().unwrap_or_default();
    for part in counts {
        all.iter_mut().zip(part).for_each(|(all, own)| *all = all.saturating_add(own));
    }
    for sample in &trace.samples {
        let slot = &mut all[slots.of(sample.0)];
        *slot = slot.saturating_add(1);
    }
    if !all.contains(&u8::MAX) {
        return Sparse::default();
    }
    let crowded = trace.begin.iter().zip(0..).filter(|(begin, _)| all[slots.of(**begin)] == u8::MAX);
    let mut dropped = Vec::new();
    groups(trace, crowded.map(|(&begin, event)| (begin, event)).collect(), |group| {
        let beyond = |(place, event): &(usize, &(u32, u32))| serial(trace, *place, **event) > usize::from(MAX_SERIAL);
        dropped.extend(group.iter().enumerate().filter(beyond).map(|(_, &(event, _))| (event as usize, ())));
    });
    dropped.sort_unstable();
    Sparse::new(trace.len(), dropped.into_iter())
}

/// Serials of these events by position, and of some others; 0 elsewhere.
///
/// Args: `from`, a time before which only few of the events begin, such as the begin of a window.
pub fn serials(trace: &Trace, events: &[u32], from: i64, threads: usize) -> Vec<u8> {
    let begin = |event: &u32| trace.begin[*event as usize];
    let early: Vec<i64> = events.iter().map(begin).filter(|&begin| begin < from).collect();
    // Few are searched for in every row; with many of them, all rows are read.
    let few = early.len().saturating_mul(trace.rows.len()) <= trace.len() / 128;
    let (early, from) = if few { (early, from) } else { (Vec::new(), i64::MIN) };
    let number = |found: Vec<Found>| {
        let mut numbered: Vec<(u32, u8)> = Vec::new();
        groups(trace, found, |group| {
            for (place, &event) in group.iter().enumerate() {
                let number = serial(trace, place, event).min(usize::from(MAX_SERIAL)) as u8;
                if number > 0 {
                    numbered.push((event.0, number));
                }
            }
        });
        numbered
    };
    let marks = Marks::new(trace, events);
    let slices = slices(events.iter().map(begin).filter(|&begin| begin >= from).collect());
    let of_slice = |slice| Ok(number(marks.found(trace, slice)));
    let mut numbered = parallel::run(threads, slices, of_slice).unwrap_or_default();
    numbered.push(number(equal_to(trace, &early)));
    let mut serials = vec![0; trace.len()];
    numbered.iter().flatten().for_each(|&(event, number)| serials[event as usize] = number);
    serials
}

/// Events that are looked at together, while they are in the cache.
const SLICE: usize = 1 << 13;

/// Ranges of time, both ends inside, that hold all of these begins, about as many each.
fn slices(mut begins: Vec<i64>) -> Vec<RangeInclusive<i64>> {
    let (Some(&low), Some(&high)) = (begins.iter().min(), begins.iter().max()) else { return Vec::new() };
    // Every 64th says enough.
    begins = begins.into_iter().step_by(64).collect();
    begins.sort_unstable();
    let mut bounds: Vec<i64> = begins.into_iter().step_by(SLICE / 64).skip(1).filter(|&begin| begin > low).collect();
    bounds.dedup();
    let starts = std::iter::once(low).chain(bounds.iter().copied());
    let ends = bounds.iter().map(|&bound| bound - 1).chain(std::iter::once(high));
    starts.zip(ends).map(|(start, end)| start..=end).collect()
}

/// The number of an event among those that begin with it.
pub fn serial_of(trace: &Trace, event: u32) -> u8 {
    let mut number = 0;
    groups(trace, equal_to(trace, &[trace.begin[event as usize]]), |group| {
        let place = group.iter().position(|&(other, _)| other == event).unwrap_or(0);
        number = serial(trace, place, group[place]).min(usize::from(MAX_SERIAL)) as u8;
    });
    number
}

/// The events that begin at one of these times, each once.
pub fn equal_to(trace: &Trace, times: &[i64]) -> Vec<Found> {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.dedup();
    let mut found = Vec::new();
    for row in &trace.rows {
        let begins = &trace.begin[row.first as usize..row.last as usize];
        for &time in &times {
            let first = begins.partition_point(|&begin| begin < time);
            let equal = begins[first..].iter().take_while(|&&begin| begin == time).count();
            found.extend((first..first + equal).map(|i| (time, row.first + i as u32)));
        }
    }
    found
}

/// The begins of some events by hash.
struct Marks {
    slots: Slots,
    words: Vec<u64>,
}

impl Marks {
    fn new(trace: &Trace, events: &[u32]) -> Self {
        let slots = Slots::for_count(events.len(), 1.0 / 16.0);
        let mut words = vec![0u64; slots.len() / 64];
        for &event in events {
            let slot = slots.of(trace.begin[event as usize]);
            words[slot / 64] |= 1 << (slot % 64);
        }
        Marks { slots, words }
    }

    /// The events in a range of time that begin with one of those marked, and a few others.
    fn found(&self, trace: &Trace, range: RangeInclusive<i64>) -> Vec<Found> {
        let mut found = Vec::new();
        for row in &trace.rows {
            let begins = &trace.begin[row.first as usize..row.last as usize];
            let first = begins.partition_point(|begin| begin < range.start());
            let inside = begins[first..].iter().take_while(|begin| *begin <= range.end());
            for (&begin, event) in inside.zip(row.first + first as u32..) {
                let slot = self.slots.of(begin);
                if self.words[slot / 64] >> (slot % 64) & 1 != 0 {
                    found.push((begin, event));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;
    use crate::timeline::model::build::tests::{trace_of, trace_with};

    fn all_serials(trace: &Trace, from: i64) -> Vec<u8> {
        let events: Vec<u32> = (0..trace.len() as u32).collect();
        serials(trace, &events, from, 2)
    }

    #[test]
    fn serials_count_longer_ones_then_those_of_earlier_tracks() {
        let trace = trace_of(&[(1, 5, 3, 0), (0, 5, 3, 1), (0, 5, 9, 2), (2, 0, 1, 3)]);
        // By track and row: n2, n1 below it, n0, n3.
        assert_eq!(trace.name, [2, 1, 0, 3]);
        for from in [i64::MIN, 5, 100] {
            assert_eq!(all_serials(&trace, from), [0, 1, 2, 0]);
        }
        assert_eq!([0, 1, 2, 3].map(|event| serial_of(&trace, event)), [0, 1, 2, 0]);
    }

    #[test]
    fn samples_are_numbered_behind_the_threads_of_their_process() {
        let events = [(0, 5, 0, 1), (1, 5, 0, 1), (0, 5, 9, 1), (0, 5, 0, 3), (0, 6, 0, 2)];
        let mut trace = trace_with(&events, &[(3, 7)], &[3]);
        let sample = |begin, duration, pid, name| (begin, Reverse(duration), pid, name);
        trace.samples = vec![sample(5, 3, 1, 0), sample(5, 0, 1, 2), sample(5, 0, 1, 4), sample(6, 0, 1, 0)];
        // The long event, a long sample, the instant of the thread, a sample, the asynchronous instant, a sample, ...
        let serials = all_serials(&trace, i64::MIN);
        let mut by_name: Vec<_> =
            (0..5).map(|e| (trace.begin[e], trace.track_of(e as u32), trace.name[e], serials[e])).collect();
        by_name.sort_unstable();
        assert_eq!(by_name, [(5, 0, 1, 0), (5, 0, 1, 2), (5, 0, 3, 4), (5, 1, 1, 6), (6, 0, 2, 0)]);
        assert_eq!(dropped(&trace, 1).values().len(), 0);
        trace.samples = vec![sample(5, 3, 1, 0); 255];
        assert_eq!(dropped(&trace, 2).values().len(), 3);
    }

    #[test]
    fn the_257th_of_equal_begins_is_dropped() {
        let events: Vec<_> = (0..300).map(|i| (i, 7, 1, 0)).collect();
        let trace = trace_of(&events);
        let found = dropped(&trace, 1);
        let expected: Vec<usize> = (256..300).collect();
        assert_eq!((0..300).filter(|&event| found.index(event).is_some()).collect::<Vec<_>>(), expected);
        assert_eq!(all_serials(&trace, i64::MIN)[254..], [254].into_iter().chain([255; 45]).collect::<Vec<u8>>());
    }

    #[test]
    fn equals_a_plain_sort_of_many_events() {
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let events: Vec<(usize, i64, i64, u32)> = (0..60_000)
            .map(|_| (random(16) as usize, random(20_000) as i64, random(5) as i64, random(10) as u32))
            .collect();
        let trace = trace_of(&events);
        let mut sorted: Vec<u32> = (0..trace.len() as u32).collect();
        sorted.sort_by(|&a, &b| {
            let at = |event: u32| (event, trace.track_of(event) as u32);
            trace.begin[a as usize].cmp(&trace.begin[b as usize]).then_with(|| before(&trace, at(a), at(b)))
        });
        let mut expected = vec![0u8; trace.len()];
        for run in sorted.chunk_by(|&a, &b| trace.begin[a as usize] == trace.begin[b as usize]) {
            run.iter().zip(0u8..).for_each(|(&event, serial)| expected[event as usize] = serial);
        }
        let some: Vec<u32> = (0..trace.len() as u32).filter(|event| event % 7 == 0).collect();
        for from in [0, 10_000, 19_990] {
            let found = serials(&trace, &some, from, 3);
            assert!(some.iter().all(|&event| found[event as usize] == expected[event as usize]));
        }
        for track in 0..trace.tracks.len() {
            let events = trace.in_time(track);
            let own: Vec<u32> = (0..events.len()).map(|place| events.at(place) as u32).collect();
            let of_track = sorted.iter().copied().filter(|&event| trace.track_of(event) == track);
            assert_eq!(own, of_track.collect::<Vec<_>>());
        }
    }
}
