//! The level of every event: the coarsest resolution at which it may be shown.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::system::parallel;
use crate::timeline::model::flows::FlowEvent;
use crate::timeline::model::timeline::Facts;
use crate::timeline::model::trace::Trace;
use crate::timeline::model::visibility::{Candidate, TrackState, Verdict, Visibility};

/// Levels 0..=12 have resolutions 10^12, 10^11 ... 1 ps; the last one takes what is left.
pub const LEVELS: u8 = 13;

/// Not in any level computed so far.
const OPEN: u8 = u8::MAX;

/// The same of an event of a flow, which is decided with its flow.
const OPEN_FLOW: u8 = OPEN - 1;

/// Never shown on a track.
const NEVER: u8 = OPEN - 2;

/// Resolution of a level in ps.
pub fn resolution(level: u8) -> i64 {
    10i64.pow(u32::from(12u8.saturating_sub(level)))
}

/// The coarsest level that is at least as fine as a resolution.
pub fn of_resolution(ps: i64) -> u8 {
    (0..LEVELS).find(|&level| resolution(level) <= ps).unwrap_or(LEVELS - 1)
}

/// Level of every event, computed from the coarsest on as far as queries needed them.
#[derive(Clone, Default)]
pub struct Levels {
    /// By track and time, as `Trace::in_time` has the events; entries that are not decided yet hold more than any level.
    pub level: Vec<u8>,
    /// The same of flow events, in the order of `Flows::events`.
    pub flow_level: Vec<u8>,
    /// What their level would be without other events.
    own_flow_level: Vec<u8>,
    known: u8,
}

/// The levels of a trace, computed while other threads read those that are there.
#[derive(Default)]
pub struct LazyLevels {
    latest: Mutex<Arc<Levels>>,
    /// Held by the query that computes levels, so that other queries wait for it instead of computing the same.
    computing: Mutex<()>,
}

impl LazyLevels {
    pub fn bytes(&self) -> usize {
        self.latest().bytes()
    }

    fn latest(&self) -> Arc<Levels> {
        Arc::clone(&self.lock())
    }

    /// The value is only ever replaced as a whole, so it is consistent even after a panic.
    fn lock(&self) -> MutexGuard<'_, Arc<Levels>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Levels in which all events of levels up to `deepest` are decided.
    pub fn up_to(&self, trace: &Trace, facts: &Facts, deepest: u8, threads: usize) -> Arc<Levels> {
        let latest = self.latest();
        if latest.has(deepest) {
            return latest;
        }
        let _turn = self.computing.lock();
        self.extend(trace, facts, deepest, threads)
    }

    /// Computes all levels in the background: queries do not wait for it, nor it for them.
    pub fn compute_all(&self, trace: &Trace, facts: &Facts, threads: usize) {
        for level in 0..LEVELS {
            self.extend(trace, facts, level, threads);
        }
    }

    fn extend(&self, trace: &Trace, facts: &Facts, deepest: u8, threads: usize) -> Arc<Levels> {
        loop {
            let latest = self.latest();
            if latest.has(deepest) {
                return latest;
            }
            let mut next = Levels::clone(&latest);
            next.decide(trace, facts, deepest.min(LEVELS - 2), threads);
            let mut latest = self.lock();
            if latest.known < next.known {
                *latest = Arc::new(next);
            }
        }
    }
}

impl Levels {
    fn bytes(&self) -> usize {
        self.level.len() + self.flow_level.len() + self.own_flow_level.len()
    }

    fn has(&self, deepest: u8) -> bool {
        self.known > deepest.min(LEVELS - 2)
    }

    /// Decides further levels, up to `deepest`.
    fn decide(&mut self, trace: &Trace, facts: &Facts, deepest: u8, threads: usize) {
        if self.level.is_empty() {
            self.open(trace, facts);
        }
        let first = self.known;
        self.decide_flows(trace, facts, (first, deepest));
        let mut jobs = Vec::new();
        let mut rest = self.level.as_mut_slice();
        for track in 0..trace.tracks.len() {
            let (own, left) = rest.split_at_mut(trace.events_of(track).len());
            jobs.push((track, own));
            rest = left;
        }
        jobs.sort_by_key(|(_, own)| std::cmp::Reverse(own.len()));
        // Jobs cannot fail.
        let _ = parallel::run(threads, jobs, |(track, own)| {
            of_track(trace, track, (first, deepest), own);
            Ok(())
        });
        self.known = deepest + 1;
    }

    /// Nothing is decided, but what events are.
    fn open(&mut self, trace: &Trace, facts: &Facts) {
        self.level = vec![OPEN; trace.len()];
        self.flow_level = vec![OPEN; facts.flows.events.len()];
        self.own_flow_level = self.flow_level.clone();
        for one in &facts.flows.events {
            self.level[trace.events_of(one.track as usize).start + one.place as usize] = OPEN_FLOW;
        }
        for one in &facts.flows.asynchronous {
            self.level[trace.events_of(one.track as usize).start + one.place as usize] = NEVER;
        }
        if !facts.dropped.is_empty() {
            for track in 0..trace.tracks.len() {
                let (events, own) = (trace.in_time(track), &mut self.level[trace.events_of(track)]);
                let is_dropped = |(place, _): &(usize, &mut u8)| facts.dropped.index(events.at(*place)).is_some();
                own.iter_mut().enumerate().filter(is_dropped).for_each(|(_, level)| *level = NEVER);
            }
        }
    }

    /// The pass over flow events alone.
    fn decide_flows(&mut self, trace: &Trace, facts: &Facts, (first, deepest): (u8, u8)) {
        let flows = &facts.flows;
        let mut rules: Vec<Rule> = (first..=deepest).map(|level| Rule::new(level, trace, facts)).collect();
        for (one, known) in flows.events.iter().zip(&mut self.own_flow_level) {
            of_flow(one, &mut rules, known);
        }
        for (one, level) in flows.events.iter().zip(&mut self.flow_level).filter(|(_, level)| **level == OPEN) {
            let duration = one.end.saturating_sub(one.begin);
            let shown =
                |rule: &&Rule| rule.verdicts[one.key as usize] == Verdict::Shown || duration >= resolution(rule.level);
            if let Some(rule) = rules.iter().find(shown) {
                *level = rule.level;
                self.level[trace.events_of(one.track as usize).start + one.place as usize] = rule.level;
            }
        }
    }
}

/// The pass over flow events alone at one level: which flows count as shown.
struct Rule {
    level: u8,
    state: Visibility,
    verdicts: Vec<Verdict>,
}

impl Rule {
    fn new(level: u8, trace: &Trace, facts: &Facts) -> Self {
        let flows = facts.flows.count;
        let state = Visibility::new(resolution(level), trace.tracks.len(), flows);
        Rule { level, state, verdicts: vec![Verdict::Unknown; flows] }
    }
}

/// Decides a flow event, whose level may be `known`, at further levels.
fn of_flow(one: &FlowEvent, rules: &mut [Rule], known: &mut u8) {
    let flow = one.flow();
    let seen = Candidate { track: one.track as usize, begin: one.begin, end: one.end, flow: Some(&flow) };
    for rule in rules {
        let shown = if *known < rule.level {
            rule.state.mark(seen);
            true
        } else {
            rule.state.test(seen)
        };
        if shown && *known > rule.level {
            *known = rule.level;
        }
        let verdict = &mut rule.verdicts[one.key as usize];
        if *verdict == Verdict::Unknown {
            *verdict = if shown { Verdict::Shown } else { Verdict::Hidden };
        }
    }
}

/// A track at one level.
struct AtLevel {
    limit: i64,
    state: TrackState,
    /// Nothing shorter than the limit is shown before.
    hidden_until: i64,
}

/// Decides the events of a track at levels `first..=deepest`; those of flows are decided already.
fn of_track(trace: &Trace, track: usize, (first, deepest): (u8, u8), level: &mut [u8]) {
    let at_level = |level| AtLevel { limit: resolution(level), state: TrackState::default(), hidden_until: i64::MIN };
    let mut levels: Vec<AtLevel> = (first..=deepest).map(at_level).collect();
    let shortest = resolution(deepest);
    let events = trace.in_time(track);
    let mut hidden_until = i64::MIN;
    for (place, known) in level.iter_mut().enumerate() {
        if matches!(*known, OPEN_FLOW | NEVER) {
            continue;
        }
        let event = events.at(place);
        let (begin, duration) = (trace.begin[event], trace.duration(event).max(0));
        if *known == OPEN && begin < hidden_until && duration < shortest {
            continue;
        }
        let end = begin.saturating_add(duration);
        // The states of the first level that shows an event and of finer ones take it as shown.
        let mut marked = usize::from(known.saturating_sub(first));
        if *known == OPEN {
            let shown = |at: &mut AtLevel| {
                // A state in which nothing as short is shown needs no look.
                let shown = (begin >= at.hidden_until || duration >= at.limit) && at.state.test(at.limit, begin, end);
                if begin >= at.hidden_until || shown {
                    at.hidden_until = at.state.hidden_until(at.limit, begin);
                }
                shown
            };
            marked = levels.len();
            if let Some(at) = levels.iter_mut().position(shown) {
                *known = first + at as u8;
                marked = at + 1;
            }
        }
        for at in &mut levels[marked..] {
            at.state.mark(begin, end);
            at.hidden_until = at.state.hidden_until(at.limit, begin);
        }
        hidden_until = levels.iter().map(|at| at.hidden_until).min().unwrap_or(i64::MIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::model::build::tests::{trace_of, trace_with};
    use crate::timeline::model::timeline::Timeline;

    fn level(timeline: &Timeline, deepest: u8) -> Vec<u8> {
        timeline.levels.up_to(&timeline.trace, timeline.facts(1), deepest, 2).level.clone()
    }

    #[test]
    fn levels_are_decided_once_and_coarse_ones_first() {
        let s = 1_000_000_000_000;
        let events = [(0, 0, 2 * s, 0), (0, 2 * s + 10, 5, 1), (0, 2 * s + 100, 1, 2), (0, 4 * s, 1, 3)];
        let timeline = Timeline::from(trace_of(&events));
        assert_eq!(level(&timeline, 0), [0, OPEN, OPEN, 0]);
        assert_eq!(level(&timeline, 12), [0, 11, 10, 0]);
        assert_eq!([resolution(0), resolution(12)], [s, 1]);
    }

    #[test]
    fn all_levels_are_computed_while_a_query_computes_one() {
        let timeline = Timeline::from(trace_of(&[(0, 0, 5, 0), (0, 10, 5, 1), (0, 16, 1, 2)]));
        let (trace, facts, levels) = (&timeline.trace, timeline.facts(1), &timeline.levels);
        let query = levels.computing.lock();
        timeline.compute_levels(1);
        assert_eq!((levels.latest().known, levels.latest().level.len()), (LEVELS - 1, 3));
        let found = levels.up_to(trace, facts, LEVELS - 1, 1);
        assert!(Arc::ptr_eq(&found, &levels.latest()), "known levels need no lock");
        drop(query);
    }

    #[test]
    fn flow_events_follow_their_flow() {
        let s = 1_000_000_000_000;
        let out = 9 << 2 | 2;
        let into = 9 << 2 | 1;
        let events = [(0, 0, 10, 0), (1, 0, 5, 1), (1, 6, 1, 2), (1, s * 9, 1, 3)];
        let trace = trace_with(&events, &[(0, out), (2, into)], &[]);
        assert_eq!(level(&trace.into(), 0), [0, 0, 0, 0]);
        assert_eq!(level(&trace_of(&events).into(), 0), [0, 0, OPEN, 0]);
    }

    #[test]
    fn several_levels_at_once_are_as_one_after_the_other() {
        let mut seed = 5u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let events: Vec<(usize, i64, i64, u32)> = (0..4000)
            .map(|_| (random(4) as usize, random(3_000_000) as i64, 10i64.pow(random(7) as u32) / 3, random(10) as u32))
            .collect();
        let flows: Vec<(u32, u64)> = (0..4000).step_by(3).map(|at| (at, random(200) << 2 | (1 + random(3)))).collect();
        let asynchronous: Vec<u32> = (0..4000).step_by(21).collect();
        let [whole, steps] = [(), ()].map(|()| Timeline::from(trace_with(&events, &flows, &asynchronous)));
        level(&steps, 8);
        steps.compute_levels(2);
        let (whole, steps) = (level(&whole, 12), level(&steps, 12));
        assert!(whole == steps);
        assert!((7..12).all(|level| whole.contains(&level)), "all of these levels have events");
    }
}
