//! The level of every event: the coarsest resolution at which it may be shown.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::timeline::model::order::Kind;
use crate::timeline::model::order::Order;
use crate::timeline::model::trace::Trace;
use crate::timeline::model::visibility::{Candidate, Verdict, Visibility};

/// Levels 0..=12 have resolutions 10^12, 10^11 ... 1 ps; the last level takes the rest.
pub const LEVELS: u8 = 13;

/// Not in any level computed so far.
const OPEN: u8 = u8::MAX;

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
    /// By place in the order; entries that are not decided yet hold more than any level.
    pub level: Vec<u8>,
    flow_level: Vec<u8>,
    known: u8,
}

/// The levels of a trace, computed one at a time while other threads read those that are there.
#[derive(Default)]
pub struct LazyLevels {
    latest: Mutex<Arc<Levels>>,
    /// Held by the query that computes a level, so that other queries wait for it instead of computing the same.
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
    pub fn up_to(&self, trace: &Trace, order: &Order, deepest: u8) -> Arc<Levels> {
        let latest = self.latest();
        if latest.has(deepest) {
            return latest;
        }
        let _turn = self.computing.lock();
        self.extend(trace, order, deepest)
    }

    /// Computes all levels in the background: queries do not wait for it, nor it for them.
    pub fn compute_all(&self, trace: &Trace, order: &Order) {
        for level in 0..LEVELS {
            self.extend(trace, order, level);
        }
    }

    fn extend(&self, trace: &Trace, order: &Order, deepest: u8) -> Arc<Levels> {
        loop {
            let latest = self.latest();
            if latest.has(deepest) {
                return latest;
            }
            let mut next = Levels::clone(&latest);
            next.step(trace, order);
            let mut latest = self.lock();
            if latest.known < next.known {
                *latest = Arc::new(next);
            }
        }
    }
}

impl Levels {
    fn bytes(&self) -> usize {
        self.level.len() + self.flow_level.len()
    }

    fn has(&self, deepest: u8) -> bool {
        self.known > deepest.min(LEVELS - 2)
    }

    /// Decides one more level.
    fn step(&mut self, trace: &Trace, order: &Order) {
        if self.level.is_empty() {
            self.level = vec![OPEN; order.event.len()];
            self.flow_level = vec![OPEN; order.flow_place.len()];
        }
        self.assign(trace, order, self.known);
        self.known += 1;
    }

    fn assign(&mut self, trace: &Trace, order: &Order, level: u8) {
        let flows = self.assign_flows(trace, order, level);
        let limit = resolution(level);
        let mut state = Visibility::new(limit, trace.tracks.len(), 0);
        for (k, known) in self.level.iter_mut().enumerate() {
            let (begin, end) = (order.begin[k], order.end(trace, k));
            let seen = Candidate { track: order.track[k] as usize, begin, end, flow: None };
            match order.kind[k] {
                Kind::Async | Kind::Dropped => {}
                _ if *known < level => state.mark(seen),
                Kind::Plain => {
                    if state.test(seen) {
                        *known = level;
                    }
                }
                Kind::Flow => {
                    let shown = order.flow.get(k).is_some_and(|f| flows[f.key as usize] == Verdict::Shown);
                    if shown || seen.duration() >= limit {
                        state.mark(seen);
                        *known = level;
                    }
                }
            }
        }
    }

    /// The pass over flow events alone: which flows count as shown at this level.
    fn assign_flows(&mut self, trace: &Trace, order: &Order, level: u8) -> Vec<Verdict> {
        let mut state = Visibility::new(resolution(level), trace.tracks.len(), order.flow_count);
        let mut verdicts = vec![Verdict::Unknown; order.flow_count];
        for ((&place, flow), known) in order.flow_place.iter().zip(order.flow.values()).zip(&mut self.flow_level) {
            let k = place as usize;
            if order.kind[k] != Kind::Flow {
                continue;
            }
            let seen = Candidate {
                track: order.track[k] as usize,
                begin: order.begin[k],
                end: order.end(trace, k),
                flow: Some(flow),
            };
            let shown = if *known < level {
                state.mark(seen);
                true
            } else {
                state.test(seen)
            };
            if shown && *known > level {
                *known = level;
            }
            let verdict = &mut verdicts[flow.key as usize];
            if *verdict == Verdict::Unknown {
                *verdict = if shown { Verdict::Shown } else { Verdict::Hidden };
            }
        }
        verdicts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::model::build::tests::{trace_of, trace_with};
    use crate::timeline::model::order::order;

    #[test]
    fn levels_are_decided_once_and_coarse_ones_first() {
        let s = 1_000_000_000_000;
        let trace = trace_of(&[(0, 0, 2 * s, 0), (0, 2 * s + 10, 5, 1), (0, 2 * s + 100, 1, 2), (0, 4 * s, 1, 3)]);
        let by_time = &order(&trace, 1);
        let levels = LazyLevels::default();
        assert_eq!(levels.up_to(&trace, by_time, 0).level, [0, OPEN, OPEN, 0]);
        assert_eq!(levels.up_to(&trace, by_time, 12).level, [0, 11, 10, 0]);
        assert_eq!([resolution(0), resolution(12)], [s, 1]);
    }

    #[test]
    fn all_levels_are_computed_while_a_query_computes_one() {
        let trace = trace_of(&[(0, 0, 5, 0), (0, 10, 5, 1), (0, 16, 1, 2)]);
        let by_time = &order(&trace, 1);
        let levels = LazyLevels::default();
        let query = levels.computing.lock();
        levels.compute_all(&trace, by_time);
        assert_eq!((levels.latest().known, levels.latest().level.len()), (LEVELS - 1, 3));
        assert!(Arc::ptr_eq(&levels.up_to(&trace, by_time, LEVELS - 1), &levels.latest()), "known levels need no lock");
        drop(query);
    }

    #[test]
    fn flow_events_follow_their_flow() {
        let s = 1_000_000_000_000;
        let out = 9 << 2 | 2;
        let into = 9 << 2 | 1;
        let trace =
            trace_with(&[(0, 0, 10, 0), (1, 0, 5, 1), (1, 6, 1, 2), (1, s * 9, 1, 3)], &[(0, out), (2, into)], &[]);
        let by_time = &order(&trace, 1);
        assert_eq!(LazyLevels::default().up_to(&trace, by_time, 0).level, [0, 0, 0, 0]);
        let plain = trace_of(&[(0, 0, 10, 0), (1, 0, 5, 1), (1, 6, 1, 2), (1, s * 9, 1, 3)]);
        assert_eq!(LazyLevels::default().up_to(&plain, &order(&plain, 1), 0).level, [0, 0, OPEN, 0]);
    }
}
