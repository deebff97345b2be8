//! Which events a window shows at a resolution.

use std::ops::Range;

use crate::timeline::model::levels::{self, LEVELS};
use crate::timeline::model::order::{BLOCK, FLOW_IN, FLOW_OUT, Kind, Order};
use crate::timeline::model::timeline::Timeline;
use crate::timeline::model::trace::Trace;
use crate::timeline::model::visibility::{Candidate, Visibility};

/// A window of the timeline in ps, both ends inside.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    pub begin: i64,
    pub end: i64,
    /// ps that must lie between two short events; 0 shows everything.
    pub resolution: i64,
    /// Middle events of flows on TPUs as well.
    pub middles: bool,
    pub threads: usize,
}

/// Events by track, then time; asynchronous events in front of their process.
#[derive(Default)]
pub struct Selection {
    /// Positions in the trace.
    pub events: Vec<u32>,
    pub runs: Vec<Run>,
}

/// Events `first..last` of a selection, which belong to one track or are asynchronous events of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub track: u32,
    pub asynchronous: bool,
    pub first: u32,
    pub last: u32,
}

impl Selection {
    /// The runs in chunks of at most `size` events, with the events of each.
    pub fn chunks(&self, size: usize) -> Vec<(Run, &[u32])> {
        let of_run = |&run: &Run| {
            let events = &self.events[run.first as usize..run.last as usize];
            events.chunks(size).map(move |events| (run, events))
        };
        self.runs.iter().flat_map(of_run).collect()
    }
}

/// The events of a window.
pub fn select(timeline: &Timeline, query: &Query) -> Selection {
    let (trace, order) = (&timeline.trace, timeline.order(query.threads));
    let (before, during) = candidates(trace, order, query);
    let all = || before.iter().copied().chain(during.clone());
    let reaches = |place: u32| order.end(trace, place as usize) >= query.begin;
    let open = |place: u32| query.middles || !is_hidden(trace, order, place as usize);
    let mut places = if query.resolution <= 0 {
        let on_track = |place: u32| matches!(order.kind[place as usize], Kind::Plain | Kind::Flow);
        all().filter(|&place| on_track(place) && reaches(place) && open(place)).collect()
    } else {
        thinned(timeline, order, query, &before, during.clone())
    };
    if !trace.asynchronous.is_empty() {
        let asynchronous = |place: u32| order.kind[place as usize] == Kind::Async;
        places.extend(all().filter(|&place| asynchronous(place) && reaches(place) && open(place)));
    }
    by_track(trace, order, &places)
}

/// Whether an event is a middle one of a flow on a TPU, as most ends of transfers are.
fn is_hidden(trace: &Trace, order: &Order, place: usize) -> bool {
    let is_middle = || order.flow.get(place).is_some_and(|flow| flow.direction == FLOW_IN | FLOW_OUT);
    let pid = || trace.tracks[order.track[place] as usize].pid;
    !trace.tpus.is_empty() && is_middle() && trace.tpus.binary_search(&pid()).is_ok()
}

/// Events that are looked at together.
const STEP: usize = 1024;

/// The visibility rule applied to the places of long events that begin before a window and of those that begin in it.
fn thinned(timeline: &Timeline, order: &Order, query: &Query, before: &[u32], during: Range<u32>) -> Vec<u32> {
    let trace = &timeline.trace;
    let deepest = levels::of_resolution(query.resolution);
    let levels = timeline.levels.up_to(trace, order, deepest);
    let level = levels.level.as_slice();
    let deepest = if deepest == LEVELS - 1 { u8::MAX } else { deepest };
    let mut rule = Visibility::new(query.resolution, trace.tracks.len(), order.flow_count);
    let mut shown = Vec::new();
    let mut test = |places: &[u32]| {
        shown.reserve(places.len());
        for &place in places {
            let k = place as usize;
            let flow = match order.kind[k] {
                Kind::Plain => None,
                Kind::Flow if query.middles || !is_hidden(trace, order, k) => {
                    order.flow.index(k).map(|i| &order.flow.values()[i])
                }
                _ => continue,
            };
            let (begin, end) = (order.begin[k], order.end(trace, k));
            if end >= query.begin && rule.test(Candidate { track: order.track[k] as usize, begin, end, flow }) {
                shown.push(place);
            }
        }
    };
    let mut found: Vec<u32> = before.iter().copied().filter(|&k| level[k as usize] <= deepest).collect();
    test(&found);
    found.resize(STEP, 0);
    for first in during.clone().step_by(STEP) {
        // Which levels are coarse enough cannot be predicted, so places are collected without a branch.
        let last = during.end.min(first.saturating_add(STEP as u32));
        let mut count = 0;
        for (place, &own) in (first..last).zip(&level[first as usize..last as usize]) {
            found[count] = place;
            count += usize::from(own <= deepest);
        }
        test(&found[..count]);
    }
    shown
}

/// Events of the whole trace whose name is marked (one flag per name id), also near ones; `middles`: see `Query`.
pub fn named(timeline: &Timeline, wanted: &[u8], middles: bool, threads: usize) -> Selection {
    let (trace, order) = (&timeline.trace, timeline.order(threads));
    let marked = |&k: &u32| {
        let name = trace.name[order.event[k as usize] as usize];
        let is_wanted = wanted.get(name as usize).is_some_and(|&w| w != 0);
        is_wanted && order.kind[k as usize] != Kind::Dropped && (middles || !is_hidden(trace, order, k as usize))
    };
    let places: Vec<u32> = (0..order.event.len() as u32).filter(marked).collect();
    by_track(trace, order, &places)
}

/// The event with exactly this name, begin, duration and serial.
pub fn exactly(timeline: &Timeline, name: u32, begin: i64, duration: i64, serial: u8, threads: usize) -> Selection {
    let (trace, order) = (&timeline.trace, timeline.order(threads));
    let first = order.begin.partition_point(|&b| b < begin);
    let fits = |k: &usize| {
        let event = order.event[*k] as usize;
        trace.name[event] == name && trace.duration(event).max(1) == duration && order.serial[event] == serial
    };
    let run = (first..order.event.len()).take_while(|&k| order.begin[k] == begin);
    by_track(trace, order, &run.filter(fits).take(1).map(|k| k as u32).collect::<Vec<_>>())
}

/// Candidates: a few long events that begin before the window, and the run of those that begin in it.
fn candidates(trace: &Trace, order: &Order, query: &Query) -> (Vec<u32>, Range<u32>) {
    let first = order.begin.partition_point(|&b| b < query.begin);
    let last = order.begin.partition_point(|&b| b <= query.end).max(first);
    let mut before = Vec::new();
    for (b, &latest) in order.latest_end.iter().enumerate().take(first.div_ceil(BLOCK)) {
        if latest >= query.begin {
            let block = b * BLOCK..((b + 1) * BLOCK).min(first);
            before.extend(block.filter(|&k| order.end(trace, k) >= query.begin).map(|k| k as u32));
        }
    }
    (before, first as u32..last as u32)
}

/// The events at these places of the order, by track; events of a track stay in the order of time.
pub fn by_track(trace: &Trace, order: &Order, places: &[u32]) -> Selection {
    // Asynchronous events of a process come before its first track.
    let slot = |&k: &u32| {
        let track = order.track[k as usize] as usize;
        if order.kind[k as usize] == Kind::Async {
            2 * trace.tracks.partition_point(|t| t.pid < trace.tracks[track].pid) as u32
        } else {
            2 * track as u32 + 1
        }
    };
    let slots: Vec<u32> = places.iter().map(slot).collect();
    let mut next = vec![0u32; 2 * trace.tracks.len() + 1];
    for &slot in &slots {
        next[slot as usize + 1] += 1;
    }
    for i in 1..next.len() {
        next[i] += next[i - 1];
    }
    let bounds = (0..).zip(next.windows(2)).filter(|(_, pair)| pair[0] < pair[1]);
    let run = |(slot, pair): (u32, &[u32])| Run {
        track: slot / 2,
        asynchronous: slot % 2 == 0,
        first: pair[0],
        last: pair[1],
    };
    let runs = bounds.map(run).collect();
    let mut events = vec![0; places.len()];
    for (&place, &slot) in places.iter().zip(&slots) {
        let at = &mut next[slot as usize];
        events[*at as usize] = order.event[place as usize];
        *at += 1;
    }
    Selection { events, runs }
}

/// Positions of the shown ones among samples in the order of time.
///
/// Samples outside of the window (ps, both ends inside) are not shown. `step` ps lie between two that are; 0 shows all.
/// As for events, a sample is first given a level: the coarsest at which it is far enough from the one before it.
pub fn visible_samples(begin: &[i64], window: (i64, i64), step: i64) -> Vec<u32> {
    let first = begin.partition_point(|&at| at < window.0);
    let last = begin.partition_point(|&at| at <= window.1).max(first);
    if step <= 0 {
        return (first as u32..last as u32).collect();
    }
    let deepest = usize::from(levels::of_resolution(step));
    // Time of the last sample of each level. The finest level takes what is left.
    let mut latest = [None::<i64>; LEVELS as usize];
    let (mut shown, mut before) = (Vec::new(), None::<i64>);
    let far = |at: i64, last: Option<i64>, step: i64| last.is_none_or(|last| at.saturating_sub(last) >= step);
    for (place, &at) in begin[..last].iter().enumerate() {
        let finest = usize::from(LEVELS) - 1;
        let level =
            (0..finest).find(|&level| far(at, latest[level], levels::resolution(level as u8))).unwrap_or(finest);
        latest[level..].fill(Some(at));
        if place >= first && level <= deepest && far(at, before, step) {
            before = Some(at);
            shown.push(place as u32);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::model::build::tests::{trace_of, trace_with};

    fn query(begin: i64, end: i64) -> Query {
        Query { begin, end, resolution: 0, middles: false, threads: 1 }
    }

    fn names(timeline: &Timeline, query: &Query) -> Vec<u32> {
        select_names(timeline, &select(timeline, query))
    }

    fn select_names(timeline: &Timeline, selection: &Selection) -> Vec<u32> {
        selection.events.iter().map(|&event| timeline.trace.name[event as usize]).collect()
    }

    #[test]
    fn the_window_is_closed_and_sees_events_that_began_before() {
        let trace =
            trace_of(&[(0, 0, 100, 0), (0, 5, 5, 1), (0, 10, 5, 2), (0, 16, 4, 3), (1, 20, 1, 4), (1, 21, 1, 5)]);
        assert_eq!(names(&trace.into(), &query(15, 20)), [0, 2, 3, 4]);
    }

    #[test]
    fn a_window_behind_the_last_event_is_empty() {
        assert_eq!(names(&trace_of(&[(0, 0, 100, 0)]).into(), &query(200, 300)), [0u32; 0]);
    }

    #[test]
    fn middles_of_flows_on_tpus_only_with_the_flag() {
        let events = [(0, 0, 5, 0), (1, 0, 5, 1), (1, 1, 1, 2), (1, 2, 1, 3), (1, 3, 1, 4)];
        let flows = [(0, 6 << 2 | 3), (2, 7 << 2 | 3), (3, 8 << 2 | 3), (4, 9 << 2 | 2)];
        let mut trace = trace_with(&events, &flows, &[2, 4]);
        trace.tpus = vec![2];
        let timeline = trace.into();
        // Of the second process: an end of a flow, and what has no flow.
        assert_eq!(names(&timeline, &query(0, 9)), [0, 4, 1]);
        assert_eq!(names(&timeline, &Query { middles: true, ..query(0, 9) }), [0, 2, 4, 1, 3]);
        assert_eq!(names(&timeline, &Query { resolution: 1, ..query(0, 9) }), [0, 4, 1]);
        let named = |middles| select_names(&timeline, &super::named(&timeline, &[0, 0, 1, 1, 1], middles, 1));
        assert_eq!((named(false), named(true)), (vec![4], vec![2, 4, 3]));
    }

    #[test]
    fn elsewhere_they_are_shown() {
        let timeline = trace_with(&[(0, 0, 5, 0), (0, 1, 1, 1)], &[(0, 6 << 2 | 3), (1, 7 << 2 | 3)], &[1]).into();
        assert_eq!(names(&timeline, &query(0, 9)), [1, 0]);
    }

    #[test]
    fn coarse_windows_leave_out_near_short_events() {
        let timeline = trace_of(&[(0, 0, 1, 0), (0, 2, 1, 1), (0, 60, 1, 2), (0, 100, 80, 3)]).into();
        assert_eq!(names(&timeline, &Query { resolution: 50, ..query(0, 200) }), [0, 2, 3]);
    }
}

#[cfg(test)]
mod samples_tests {
    use super::*;

    #[test]
    fn windows_are_closed() {
        assert_eq!(visible_samples(&[1, 3, 3, 5, 7], (3, 5), 0), [1, 2, 3]);
        assert_eq!(visible_samples(&[1, 3], (4, 9), 0), [0u32; 0]);
        assert_eq!(visible_samples(&[1, 3], (9, 4), 0), [0u32; 0]);
    }

    #[test]
    fn near_samples_are_left_out() {
        assert_eq!(visible_samples(&[0, 4, 9, 10, 19, 20], (0, 30), 10), [0, 3, 5]);
    }

    #[test]
    fn what_is_shown_depends_on_what_came_before_the_window() {
        // 12 is too near to 5 for the level of 10 ps, and 15 is not.
        assert_eq!(visible_samples(&[5, 12, 15, 26], (10, 30), 10), [2, 3]);
    }
}
