//! The rule that hides short neighbours at a resolution, and its state from event to event.

use crate::timeline::model::order::{FLOW_IN, Flow};

/// State of one track: ends of the last visible events by depth, and of the last visible flow event.
#[derive(Clone, Default)]
struct TrackState {
    ends: Vec<i64>,
    last_flow_end: Option<i64>,
}

/// State of the rule at one resolution, for events in the order of time.
#[derive(Clone)]
pub struct Visibility {
    resolution: i64,
    tracks: Vec<TrackState>,
    flows: Vec<Verdict>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verdict {
    #[default]
    Unknown,
    Shown,
    Hidden,
}

/// The facts of an event that the rule needs.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    pub track: usize,
    pub begin: i64,
    pub end: i64,
    pub flow: Option<&'a Flow>,
}

impl Candidate<'_> {
    pub fn duration(&self) -> i64 {
        self.end.saturating_sub(self.begin)
    }
}

impl TrackState {
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
        let (tracks, flows) = (vec![TrackState::default(); tracks], vec![Verdict::Unknown; flows]);
        Visibility { resolution, tracks, flows }
    }

    /// Whether the event is shown after those before it; updates the state.
    #[inline(always)]
    pub fn test(&mut self, event: Candidate) -> bool {
        let resolution = self.resolution;
        let track = &mut self.tracks[event.track];
        let depth = track.depth(event.begin);
        let gap = track.ends.get(depth).map_or(i64::MAX, |&end| event.begin.saturating_sub(end));
        let distance = event.duration().max(gap);
        let mut shown = distance >= resolution;
        if let Some(flow) = event.flow {
            let known = &mut self.flows[flow.key as usize];
            match *known {
                Verdict::Unknown => {
                    // The first event of a flow decides for all; the difference is unsigned, so an earlier end counts as far.
                    let apart = track.last_flow_end.map_or(i64::MAX, |last| {
                        i64::try_from(event.end.wrapping_sub(last) as u64).unwrap_or(i64::MAX)
                    });
                    let distance = distance.max(apart);
                    shown = distance >= resolution;
                    *known = if shown { Verdict::Shown } else { Verdict::Hidden };
                }
                Verdict::Shown => shown = true,
                Verdict::Hidden => {}
            }
            if ends(flow) {
                *known = Verdict::Unknown;
            }
            if shown {
                track.last_flow_end = Some(event.end);
            }
        }
        if shown {
            track.show(depth, event.end);
        }
        shown
    }

    /// Takes the event as shown without a test.
    #[inline]
    pub fn mark(&mut self, event: Candidate) {
        let track = &mut self.tracks[event.track];
        if let Some(flow) = event.flow {
            let known = &mut self.flows[flow.key as usize];
            if ends(flow) {
                *known = Verdict::Unknown;
            } else if *known == Verdict::Unknown {
                *known = Verdict::Shown;
            }
            track.last_flow_end = Some(event.end);
        }
        let depth = track.depth(event.begin);
        track.show(depth, event.end);
    }
}

fn ends(flow: &Flow) -> bool {
    flow.direction == FLOW_IN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(begin: i64, end: i64) -> Candidate<'static> {
        Candidate { track: 0, begin, end, flow: None }
    }

    #[test]
    fn long_events_first_events_and_far_events_are_shown() {
        let mut state = Visibility::new(10, 1, 0);
        let events = [(0, 1), (5, 6), (11, 12), (13, 30), (14, 15), (16, 17), (31, 32), (40, 41)];
        let shown: Vec<bool> = events.iter().map(|&(b, e)| state.test(candidate(b, e))).collect();
        //                first  near   far   long  first below  near   near  far (10 after 30)
        assert_eq!(shown, [true, false, true, true, true, false, false, true]);
    }

    #[test]
    fn a_shown_event_forgets_deeper_ends() {
        let mut state = Visibility::new(10, 1, 0);
        assert!(state.test(candidate(0, 100)) && state.test(candidate(1, 50)) && state.test(candidate(60, 70)));
        assert!(state.test(candidate(200, 300)));
        assert!(state.test(candidate(201, 202)), "nothing was shown at this depth since");
    }

    #[test]
    fn the_first_event_of_a_flow_decides_for_the_rest() {
        let start = Flow { key: 0, id: 1, category: 0, direction: 2 };
        let end = Flow { direction: 1, ..start };
        let mut state = Visibility::new(10, 2, 1);
        assert!(state.test(Candidate { flow: Some(&start), ..candidate(0, 1) }));
        assert!(state.test(Candidate { track: 1, ..candidate(1, 2) }));
        assert!(
            state.test(Candidate { track: 1, flow: Some(&end), ..candidate(3, 4) }),
            "by the flow, not by its own rule"
        );
        let again = Candidate { flow: Some(&start), ..candidate(5, 6) };
        assert!(!state.test(again), "the flow was forgotten, and the track's last flow event is near");
    }

    #[test]
    fn an_earlier_end_counts_as_far() {
        let first = Flow { key: 0, id: 1, category: 0, direction: 2 };
        let second = Flow { key: 1, id: 2, ..first };
        let mut state = Visibility::new(1000, 1, 2);
        assert!(state.test(Candidate { flow: Some(&first), ..candidate(0, 900) }));
        assert!(state.test(candidate(1, 2)));
        assert!(state.test(Candidate { flow: Some(&second), ..candidate(3, 4) }), "4 - 900 wraps to a large number");
    }
}
