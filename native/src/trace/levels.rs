//! Which events may be left out at a resolution: the visibility rule and the stored levels.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Trace;
use super::order::{Flow, Kind, Order};

/// Levels 0..=12 have resolutions 10^12, 10^11 ... 1 ps; the last one takes what is left.
pub const LEVELS: u8 = 13;

/// Not in any level computed so far.
const OPEN: u8 = u8::MAX;

/// Resolution of a level in ps.
pub fn resolution(level: u8) -> i64 {
    10i64.pow(u32::from(12u8.saturating_sub(level)))
}

/// State of one track: ends of the last visible events by depth, and of the last visible flow event.
#[derive(Clone, Default)]
struct Lane {
    ends: Vec<i64>,
    last_flow_end: Option<i64>,
}

/// What was shown so far at one resolution.
pub struct Visibility {
    resolution: i64,
    lanes: Vec<Lane>,
    flows: Vec<Answer>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Answer {
    #[default]
    Unknown,
    Shown,
    Left,
}

/// An event as the rule sees it.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    pub track: usize,
    pub begin: i64,
    pub end: i64,
    pub flow: Option<&'a Flow>,
}

impl Seen<'_> {
    fn duration(&self) -> i64 {
        self.end.saturating_sub(self.begin)
    }
}

impl Lane {
    #[inline]
    fn depth(&self, begin: i64) -> usize {
        self.ends.iter().take_while(|&&end| end > begin).count()
    }

    #[inline]
    fn show(&mut self, depth: usize, end: i64) {
        self.ends.truncate(depth);
        self.ends.push(end);
    }
}

impl Visibility {
    pub fn new(resolution: i64, tracks: usize, flows: usize) -> Self {
        Visibility { resolution, lanes: vec![Lane::default(); tracks], flows: vec![Answer::Unknown; flows] }
    }

    /// Whether the event is shown after those before it; remembers the answer.
    #[inline(always)]
    pub fn test(&mut self, event: Seen) -> bool {
        let resolution = self.resolution;
        let lane = &mut self.lanes[event.track];
        let depth = lane.depth(event.begin);
        let mut shown = event.duration() >= resolution
            || lane.ends.get(depth).is_none_or(|&end| event.begin.saturating_sub(end) >= resolution);
        if let Some(flow) = event.flow {
            let known = &mut self.flows[flow.key as usize];
            if *known == Answer::Unknown {
                // The first event of a flow decides for all; the difference is unsigned, so an earlier end counts as far.
                let far =
                    lane.last_flow_end.is_none_or(|last| event.end.wrapping_sub(last) as u64 >= resolution as u64);
                *known = if shown || far { Answer::Shown } else { Answer::Left };
            }
            shown = shown || *known == Answer::Shown;
            if ends(flow) {
                *known = Answer::Unknown;
            }
            if shown {
                lane.last_flow_end = Some(event.end);
            }
        }
        if shown {
            lane.show(depth, event.end);
        }
        shown
    }

    /// Takes the event as shown without a test.
    #[inline]
    pub fn mark(&mut self, event: Seen) {
        let lane = &mut self.lanes[event.track];
        if let Some(flow) = event.flow {
            let known = &mut self.flows[flow.key as usize];
            if ends(flow) {
                *known = Answer::Unknown;
            } else if *known == Answer::Unknown {
                *known = Answer::Shown;
            }
            lane.last_flow_end = Some(event.end);
        }
        let depth = lane.depth(event.begin);
        lane.show(depth, event.end);
    }
}

fn ends(flow: &Flow) -> bool {
    flow.direction == super::order::FLOW_IN
}

/// Level of every event, computed from the coarsest on as far as somebody asked.
#[derive(Clone, Default)]
pub struct Levels {
    /// By place in the order; entries that are not decided yet hold more than any level.
    pub level: Vec<u8>,
    flow_level: Vec<u8>,
    known: u8,
}

/// The levels of a trace, which grow while others read them.
#[derive(Default)]
pub struct Growing {
    latest: Mutex<Arc<Levels>>,
    /// Held by the question that computes a level, so that others of its kind wait instead of doing the same.
    asking: Mutex<()>,
}

impl Growing {
    pub fn bytes(&self) -> usize {
        self.latest().bytes()
    }

    fn latest(&self) -> Arc<Levels> {
        Arc::clone(&self.lock())
    }

    /// What is inside is replaced as a whole, so that it is whole even after a panic.
    fn lock(&self) -> MutexGuard<'_, Arc<Levels>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Levels in which all events of levels up to `deepest` are decided.
    pub fn up_to(&self, trace: &Trace, order: &Order, deepest: u8) -> Arc<Levels> {
        let latest = self.latest();
        if latest.know(deepest) {
            return latest;
        }
        let _turn = self.asking.lock();
        self.grow(trace, order, deepest)
    }

    /// The same for nobody in particular: those who ask do not wait for it, nor it for them.
    pub fn settle(&self, trace: &Trace, order: &Order) {
        for level in 0..LEVELS {
            self.grow(trace, order, level);
        }
    }

    fn grow(&self, trace: &Trace, order: &Order, deepest: u8) -> Arc<Levels> {
        loop {
            let latest = self.latest();
            if latest.know(deepest) {
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

    fn know(&self, deepest: u8) -> bool {
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
            let seen = Seen { track: order.track[k] as usize, begin, end, flow: None };
            match order.kind[k] {
                Kind::Async | Kind::Dropped => {}
                _ if *known < level => state.mark(seen),
                Kind::Plain => {
                    if state.test(seen) {
                        *known = level;
                    }
                }
                Kind::Flow => {
                    let shown = order.flow.get(k).is_some_and(|f| flows[f.key as usize] == Answer::Shown);
                    if shown || seen.duration() >= limit {
                        state.mark(seen);
                        *known = level;
                    }
                }
            }
        }
    }

    /// The pass over flow events alone: which flows count as shown at this level.
    fn assign_flows(&mut self, trace: &Trace, order: &Order, level: u8) -> Vec<Answer> {
        let mut state = Visibility::new(resolution(level), trace.tracks.len(), order.flow_count);
        let mut answers = vec![Answer::Unknown; order.flow_count];
        for ((&place, flow), known) in order.flow_place.iter().zip(order.flow.values()).zip(&mut self.flow_level) {
            let k = place as usize;
            if order.kind[k] != Kind::Flow {
                continue;
            }
            let seen = Seen {
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
            let answer = &mut answers[flow.key as usize];
            if *answer == Answer::Unknown {
                *answer = if shown { Answer::Shown } else { Answer::Left };
            }
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::tests::{trace_of, trace_with};
    use super::*;

    fn seen(begin: i64, end: i64) -> Seen<'static> {
        Seen { track: 0, begin, end, flow: None }
    }

    #[test]
    fn long_events_first_events_and_far_events_are_shown() {
        let mut state = Visibility::new(10, 1, 0);
        let events = [(0, 1), (5, 6), (11, 12), (13, 30), (14, 15), (16, 17), (31, 32), (40, 41)];
        let shown: Vec<bool> = events.iter().map(|&(b, e)| state.test(seen(b, e))).collect();
        //                first  near   far   long  first below  near   near  far (10 after 30)
        assert_eq!(shown, [true, false, true, true, true, false, false, true]);
    }

    #[test]
    fn a_shown_event_forgets_deeper_ends() {
        let mut state = Visibility::new(10, 1, 0);
        assert!(state.test(seen(0, 100)) && state.test(seen(1, 50)) && state.test(seen(60, 70)));
        assert!(state.test(seen(200, 300)));
        assert!(state.test(seen(201, 202)), "nothing was shown at this depth since");
    }

    #[test]
    fn the_first_event_of_a_flow_decides_for_the_rest() {
        let start = Flow { key: 0, id: 1, category: 0, direction: 2 };
        let end = Flow { direction: 1, ..start };
        let mut state = Visibility::new(10, 2, 1);
        assert!(state.test(Seen { flow: Some(&start), ..seen(0, 1) }));
        assert!(state.test(Seen { track: 1, ..seen(1, 2) }));
        assert!(state.test(Seen { track: 1, flow: Some(&end), ..seen(3, 4) }), "by the flow, not by its own rule");
        let again = Seen { flow: Some(&start), ..seen(5, 6) };
        assert!(!state.test(again), "the flow was forgotten, and the track's last flow event is near");
    }

    #[test]
    fn an_earlier_end_counts_as_far() {
        let first = Flow { key: 0, id: 1, category: 0, direction: 2 };
        let second = Flow { key: 1, id: 2, ..first };
        let mut state = Visibility::new(1000, 1, 2);
        assert!(state.test(Seen { flow: Some(&first), ..seen(0, 900) }));
        assert!(state.test(seen(1, 2)));
        assert!(state.test(Seen { flow: Some(&second), ..seen(3, 4) }), "4 - 900 wraps to a large number");
    }

    #[test]
    fn levels_are_decided_once_and_coarse_ones_first() {
        let s = 1_000_000_000_000;
        let trace = trace_of(&[(0, 0, 2 * s, 0), (0, 2 * s + 10, 5, 1), (0, 2 * s + 100, 1, 2), (0, 4 * s, 1, 3)]);
        let order = trace.order(1);
        let levels = Growing::default();
        assert_eq!(levels.up_to(&trace, order, 0).level, [0, OPEN, OPEN, 0]);
        assert_eq!(levels.up_to(&trace, order, 12).level, [0, 11, 10, 0]);
        assert_eq!([resolution(0), resolution(12)], [s, 1]);
    }

    #[test]
    fn settling_computes_all_levels_while_others_ask() {
        let trace = trace_of(&[(0, 0, 5, 0), (0, 10, 5, 1), (0, 16, 1, 2)]);
        let order = trace.order(1);
        let levels = Growing::default();
        let asking = levels.asking.lock();
        levels.settle(&trace, order);
        assert_eq!((levels.latest().known, levels.latest().level.len()), (LEVELS - 1, 3));
        assert!(
            Arc::ptr_eq(&levels.up_to(&trace, order, LEVELS - 1), &levels.latest()),
            "no waiting for what is known"
        );
        drop(asking);
    }

    #[test]
    fn flow_events_follow_their_flow() {
        let s = 1_000_000_000_000;
        let out = 9 << 2 | 2;
        let into = 9 << 2 | 1;
        let trace =
            trace_with(&[(0, 0, 10, 0), (1, 0, 5, 1), (1, 6, 1, 2), (1, s * 9, 1, 3)], &[(0, out), (2, into)], &[]);
        let order = trace.order(1);
        assert_eq!(Growing::default().up_to(&trace, order, 0).level, [0, 0, 0, 0]);
        let plain = trace_of(&[(0, 0, 10, 0), (1, 0, 5, 1), (1, 6, 1, 2), (1, s * 9, 1, 3)]);
        assert_eq!(Growing::default().up_to(&plain, plain.order(1), 0).level, [0, 0, OPEN, 0]);
    }
}
