//! Which events a window shows at a resolution.

use std::ops::Range;

use crate::system::parallel;
use crate::timeline::model::flows::{Flow, FlowEvent};
use crate::timeline::model::levels::{self, LEVELS};
use crate::timeline::model::rows::MAX_ROWS;
use crate::timeline::model::ties::{Kind, before};
use crate::timeline::model::timeline::{Facts, Timeline};
use crate::timeline::model::together;
use crate::timeline::model::trace::{InTime, Trace};
use crate::timeline::model::visibility::{Candidate, TrackState, Visibility, test_flow};

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
    /// Only few of the events begin before this time.
    pub from: i64,
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
    /// From the events of each track by time, and asynchronous ones by time.
    pub(super) fn new(trace: &Trace, of_tracks: &[Vec<u32>], asynchronous: &[Place], from: i64) -> Self {
        let total = of_tracks.iter().map(Vec::len).sum::<usize>() + asynchronous.len();
        let mut made = Selection { events: Vec::with_capacity(total), runs: Vec::new(), from };
        for (track, events) in of_tracks.iter().enumerate() {
            let pid = trace.tracks[track].pid;
            if track == 0 || trace.tracks[track - 1].pid != pid {
                let of_process = |one: &&Place| trace.tracks[one.1 as usize].pid == pid;
                made.add(track, true, asynchronous.iter().filter(of_process).map(|one| one.0));
            }
            made.add(track, false, events.iter().copied());
        }
        made
    }

    fn add(&mut self, track: usize, asynchronous: bool, events: impl Iterator<Item = u32>) {
        let first = self.events.len() as u32;
        self.events.extend(events);
        let last = self.events.len() as u32;
        if first < last {
            self.runs.push(Run { track: track as u32, asynchronous, first, last });
        }
    }

    /// Number of each event among those that begin with it, by position; 0 for others.
    pub fn serials(&self, timeline: &Timeline, threads: usize) -> Vec<u8> {
        together::serials(&timeline.trace, &self.events, self.from, threads)
    }

    /// The runs in chunks of at most `size` events, with the events of each.
    pub fn chunks(&self, size: usize) -> Vec<(Run, &[u32])> {
        let of_run = |&run: &Run| {
            let events = &self.events[run.first as usize..run.last as usize];
            events.chunks(size).map(move |events| (run, events))
        };
        self.runs.iter().flat_map(of_run).collect()
    }
}

/// Position of an event, and its track.
pub(super) type Place = (u32, u32);

/// The events of a window.
pub fn select(timeline: &Timeline, query: &Query) -> Selection {
    let (trace, facts) = (&timeline.trace, timeline.facts(query.threads));
    let early = early(trace, query.begin);
    let during: Vec<Range<usize>> = (0..trace.tracks.len()).map(|track| during(trace, track, query)).collect();
    let of_tracks = if query.resolution <= 0 {
        everything(trace, facts, query, &early, during)
    } else {
        thinned(timeline, query, &early, during)
    };
    let open = |event: u32, track: u32| query.middles || !facts.is_hidden(trace, event as usize, track as usize);
    let is_async = |one: &&Place| facts.kind(trace, one.0 as usize) == Some(Kind::Async) && open(one.0, one.1);
    let mut asynchronous: Vec<Place> = early.iter().filter(is_async).copied().collect();
    let later = &facts.flows.asynchronous[in_window(&facts.flows.asynchronous, query)];
    let shown = later.iter().filter(|one| query.middles || !one.hidden);
    asynchronous.extend(shown.map(|one| (one.event, one.track)));
    Selection::new(trace, &of_tracks, &asynchronous, query.begin)
}

/// Events that begin before a time and reach to it, over all tracks by time.
fn early(trace: &Trace, begin: i64) -> Vec<Place> {
    let mut found = Vec::new();
    for row in &trace.rows {
        let range = row.first as usize..row.last as usize;
        let next = range.start + trace.begin[range.clone()].partition_point(|&b| b < begin);
        // Events of a row are disjoint, except in the last one that a track can have.
        let shared = trace.track_rows[row.track as usize + 1] - trace.track_rows[row.track as usize] >= MAX_ROWS as u32;
        let first = if shared { range.start } else { next.saturating_sub(1).max(range.start) };
        let reaching = (first..next).filter(|&event| trace.end(event) >= begin);
        found.extend(reaching.map(|event| (event as u32, row.track)));
    }
    let begin = |one: &Place| trace.begin[one.0 as usize];
    found.sort_by(|a, b| begin(a).cmp(&begin(b)).then_with(|| before(trace, *a, *b)).then(a.0.cmp(&b.0)));
    found
}

/// The events of a track that begin in a window, as places of the track by time.
fn during(trace: &Trace, track: usize, query: &Query) -> Range<usize> {
    let events = trace.in_time(track);
    let first = events.partition_point(|event| trace.begin[event] < query.begin);
    first..events.partition_point(|event| trace.begin[event] <= query.end).max(first)
}

/// The flow events among these that begin in a window.
fn in_window(events: &[FlowEvent], query: &Query) -> Range<usize> {
    let first = events.partition_point(|one| one.begin < query.begin);
    first..events.partition_point(|one| one.begin <= query.end).max(first)
}

/// All events of the tracks in a window.
fn everything(
    trace: &Trace,
    facts: &Facts,
    query: &Query,
    early: &[Place],
    during: Vec<Range<usize>>,
) -> Vec<Vec<u32>> {
    let shown = |event: u32, track: usize| {
        matches!(facts.kind(trace, event as usize), Some(Kind::Plain | Kind::Flow))
            && (query.middles || !facts.is_hidden(trace, event as usize, track))
    };
    let mut of_tracks = vec![Vec::new(); trace.tracks.len()];
    for &(event, track) in early.iter().filter(|one| shown(one.0, one.1 as usize)) {
        of_tracks[track as usize].push(event);
    }
    let jobs = of_tracks.into_iter().zip(during).enumerate().collect();
    let whole = |(track, (mut events, range)): (usize, (Vec<u32>, Range<usize>))| {
        let own = trace.in_time(track);
        events.extend(range.map(|place| own.at(place) as u32).filter(|&event| shown(event, track)));
        Ok(events)
    };
    parallel::run(query.threads, jobs, whole).unwrap_or_default()
}

/// Events that are looked at together.
const STEP: usize = 256;

/// The visibility rule on one track, event by event.
struct Scan<'a> {
    trace: &'a Trace,
    events: InTime<'a>,
    level: &'a [u8],
    deepest: u8,
    /// Whether all events are plain ones, without a flow.
    plain: bool,
    resolution: i64,
    state: TrackState,
    /// Places that are left.
    rest: Range<usize>,
    shown: Vec<u32>,
}

impl Scan<'_> {
    /// Tests events without a flow up to a place.
    fn advance(&mut self, facts: &Facts, to: usize) {
        let mut found = [0u32; STEP];
        while self.rest.start < to {
            // Which levels are coarse enough cannot be predicted, so places are collected without a branch.
            let last = to.min(self.rest.start + STEP);
            let mut count = 0;
            for place in self.rest.start..last {
                found[count] = place as u32;
                count += usize::from(self.level[place] <= self.deepest);
            }
            self.rest.start = last;
            for &place in &found[..count] {
                let event = self.events.at(place as usize);
                if (self.plain || facts.kind(self.trace, event) == Some(Kind::Plain))
                    && self.state.test(self.resolution, self.trace.begin[event], self.trace.end(event))
                {
                    self.shown.push(event as u32);
                }
            }
        }
    }
}

/// The visibility rule applied to the long events that begin before a window and to those that begin in it.
///
/// Flows tie tracks to each other: the first event of a flow decides for all of them. So tracks advance from flow event
/// to flow event, and each on its own from the last one on.
fn thinned(timeline: &Timeline, query: &Query, early: &[Place], during: Vec<Range<usize>>) -> Vec<Vec<u32>> {
    let (trace, facts) = (&timeline.trace, timeline.facts(query.threads));
    let deepest = levels::of_resolution(query.resolution);
    let levels = timeline.levels.up_to(trace, facts, deepest, query.threads);
    let deepest = if deepest == LEVELS - 1 { u8::MAX } else { deepest };
    let mut rule = Visibility::new(query.resolution, trace.tracks.len(), facts.flows.count);
    let mut shown = vec![Vec::new(); trace.tracks.len()];
    let open = |event: usize, track: usize| query.middles || !facts.is_hidden(trace, event, track);
    for &(event, track) in early {
        let (at, track) = (event as usize, track as usize);
        let flow = match facts.kind(trace, at) {
            Some(Kind::Plain) => None,
            Some(Kind::Flow) if open(at, track) => flow_of(facts, trace.begin[at], event),
            _ => continue,
        };
        let seen = Candidate { track, begin: trace.begin[at], end: trace.end(at), flow: flow.as_ref() };
        if levels.level[trace.events_of(track).start + place_of(trace, track, at)] <= deepest && rule.test(seen) {
            shown[track].push(event);
        }
    }
    let states = std::mem::take(&mut rule.tracks).into_iter().zip(shown);
    let scan = |(track, ((state, shown), rest))| Scan {
        trace,
        events: trace.in_time(track),
        level: &levels.level[trace.events_of(track)],
        deepest,
        plain: facts.dropped.is_empty() && !trace.flow.any(trace.events_of(track)),
        resolution: query.resolution,
        state,
        rest,
        shown,
    };
    let mut scans: Vec<Scan> = states.zip(during).enumerate().map(scan).collect();
    let flows = in_window(&facts.flows.events, query);
    for (one, &level) in facts.flows.events[flows.clone()].iter().zip(&levels.flow_level[flows]) {
        if level > deepest || (one.hidden && !query.middles) {
            continue;
        }
        let scan = &mut scans[one.track as usize];
        scan.advance(facts, one.place as usize);
        scan.rest.start = one.place as usize + 1;
        let flow = one.flow();
        let seen = Candidate { track: one.track as usize, begin: one.begin, end: one.end, flow: Some(&flow) };
        if test_flow(&mut scan.state, &mut rule.flows[one.key as usize], query.resolution, seen, &flow) {
            scan.shown.push(one.event);
        }
    }
    let rest = |mut scan: Scan| {
        scan.advance(facts, scan.rest.end);
        Ok(scan.shown)
    };
    parallel::run(query.threads, scans, rest).unwrap_or_default()
}

/// The flow of an event on a track.
fn flow_of(facts: &Facts, begin: i64, event: u32) -> Option<Flow> {
    let events = &facts.flows.events;
    let first = events.partition_point(|one| one.begin < begin);
    events[first..].iter().find(|one| one.event == event).map(FlowEvent::flow)
}

/// The place of an event among those of its track by time.
fn place_of(trace: &Trace, track: usize, event: usize) -> usize {
    let events = trace.in_time(track);
    let first = events.partition_point(|other| trace.begin[other] < trace.begin[event]);
    (first..events.len()).find(|&place| events.at(place) == event).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::model::build::tests::{trace_of, trace_with};
    use crate::timeline::query::pick;

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
        let named = |middles| select_names(&timeline, &pick::named(&timeline, &[0, 0, 1, 1, 1], middles, 1));
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
