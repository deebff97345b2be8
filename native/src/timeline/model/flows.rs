//! Flows: what a stored value tells, and the events of flows by time.

use std::collections::HashMap;

use crate::kernels::rows::Seeded;
use crate::timeline::model::sparse::Sparse;
use crate::timeline::model::ties::{Kind, before, kind_of};
use crate::timeline::model::trace::Trace;

/// Direction bits of a flow.
pub const FLOW_IN: u8 = 1;
pub const FLOW_OUT: u8 = 2;

/// One end or middle of a flow.
#[derive(Clone, Copy, Default, Debug)]
pub struct Flow {
    /// Small number of the flow.
    pub key: u32,
    pub id: u64,
    pub category: u8,
    pub direction: u8,
}

/// Splits a stored flow value: direction (2 bits), id (56), category (6).
pub fn decode_flow(value: u64) -> Flow {
    Flow { key: 0, id: (value >> 2) & ((1 << 56) - 1), category: (value >> 58) as u8, direction: (value & 3) as u8 }
}

/// An event of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowEvent {
    pub begin: i64,
    pub end: i64,
    pub event: u32,
    pub track: u32,
    /// Among the events of its track by time.
    pub place: u32,
    /// Small number of its flow.
    pub key: u32,
    pub direction: u8,
    /// Whether it is a middle one on a TPU, as most ends of transfers are: shown on request only.
    pub hidden: bool,
}

impl FlowEvent {
    /// What the visibility rule reads of it.
    pub fn flow(&self) -> Flow {
        Flow { key: self.key, direction: self.direction, ..Flow::default() }
    }
}

/// The events of flows over all tracks by time, without those that are never shown.
#[derive(Default)]
pub struct Flows {
    /// Those that are on tracks.
    pub events: Vec<FlowEvent>,
    pub asynchronous: Vec<FlowEvent>,
    /// All keys are below.
    pub count: usize,
}

/// Small numbers for the ids of flows: how far they are from the first one if they are near each other, as ids that
/// are counted are; else their place among those seen.
struct Keys {
    first: u64,
    span: Option<u32>,
    seen: HashMap<u64, u32, Seeded>,
}

impl Keys {
    fn new(values: &[u64]) -> Self {
        let ids = || values.iter().map(|&value| decode_flow(value).id);
        let (first, last) = (ids().min().unwrap_or(0), ids().max().unwrap_or(0));
        let span = u32::try_from(last - first).ok().filter(|&span| (span as usize) < 4 * values.len());
        Keys { first, span, seen: HashMap::default() }
    }

    fn of(&mut self, id: u64) -> u32 {
        if self.span.is_some() {
            return (id - self.first) as u32;
        }
        let next = self.seen.len() as u32;
        *self.seen.entry(id).or_insert(next)
    }

    fn count(&self) -> usize {
        self.span.map_or(self.seen.len(), |span| span as usize + 1)
    }
}

impl Flows {
    pub fn new(trace: &Trace, dropped: &Sparse<()>) -> Self {
        let mut made = Flows::default();
        if trace.flow.is_empty() {
            return made;
        }
        let mut keys = Keys::new(trace.flow.values());
        for (begin, track, place) in by_time(trace, dropped) {
            let event = trace.in_time(track as usize).at(place as usize);
            let flow = decode_flow(trace.flow.get(event).unwrap_or(0));
            let key = keys.of(flow.id);
            let hidden = flow.direction == FLOW_IN | FLOW_OUT && trace.is_tpu(track as usize);
            let (end, event, direction) = (trace.end(event), event as u32, flow.direction);
            let one = FlowEvent { begin, end, event, track, place, key, direction, hidden };
            if kind_of(trace, event) == Kind::Async { made.asynchronous.push(one) } else { made.events.push(one) }
        }
        made.count = keys.count();
        made
    }

    /// All events of a flow by time, of each (track, position); at most `limit`.
    pub fn of(&self, trace: &Trace, id: u64, limit: usize) -> Vec<(u32, u32)> {
        let own =
            |one: &&FlowEvent| trace.flow.get(one.event as usize).is_some_and(|value| decode_flow(value).id == id);
        let all = || self.events.iter().chain(&self.asynchronous);
        let Some(key) = all().find(own).map(|one| one.key) else { return Vec::new() };
        let mut found: Vec<&FlowEvent> = all().filter(|one| one.key == key).collect();
        found.sort_by(|a, b| {
            a.begin
                .cmp(&b.begin)
                .then_with(|| before(trace, (a.event, a.track), (b.event, b.track)))
                .then(a.event.cmp(&b.event))
        });
        found.into_iter().take(limit).map(|one| (one.track, one.event)).collect()
    }

    pub fn bytes(&self) -> usize {
        (self.events.len() + self.asynchronous.len()) * size_of::<FlowEvent>()
    }
}

/// Begin, track and place of the events of flows.
fn by_time(trace: &Trace, dropped: &Sparse<()>) -> Vec<(i64, u32, u32)> {
    let mut found: Vec<(i64, u32, u32)> = Vec::with_capacity(trace.flow.values().len());
    for track in 0..trace.tracks.len() {
        if !trace.flow.any(trace.events_of(track)) {
            continue;
        }
        let events = trace.in_time(track);
        for place in 0..events.len() {
            let event = events.at(place);
            if trace.flow.index(event).is_some() && dropped.index(event).is_none() {
                found.push((trace.begin[event], track as u32, place as u32));
            }
        }
    }
    // Stable, and each track is ascending already: what is left are runs to be merged.
    found.sort_by_key(|(begin, ..)| *begin);
    for run in found.chunk_by_mut(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
        let at =
            |&(_, track, place): &(i64, u32, u32)| (trace.in_time(track as usize).at(place as usize) as u32, track);
        run.sort_by(|a, b| before(trace, at(a), at(b)).then_with(|| at(a).0.cmp(&at(b).0)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::model::build::tests::trace_with;

    #[test]
    fn flows_are_split_and_come_in_the_order_of_time() {
        let value = (5 << 58) | (42 << 2) | 1;
        let trace = trace_with(
            &[(0, 0, 9, 0), (0, 0, 9, 1), (0, 1, 1, 2), (1, 1, 3, 3)],
            &[(0, value), (1, 42 << 2 | 2), (2, 7 << 2 | 3), (3, 9 << 2)],
            &[1],
        );
        let flows = Flows::new(&trace, &Sparse::default());
        let seen = |list: &[FlowEvent]| -> Vec<_> {
            list.iter().map(|one| (trace.name[one.event as usize], one.track, one.place, one.key)).collect()
        };
        // Of two that begin together the longer one is first.
        assert_eq!(seen(&flows.events), [(0, 0, 0, 0), (3, 1, 0, 1), (2, 0, 2, 2)]);
        assert_eq!(seen(&flows.asynchronous), [(1, 0, 1, 0)]);
        let first = flows.events[0];
        assert_eq!((first.begin, first.end, first.direction, first.hidden), (0, 9, 1, false));
        assert_eq!(decode_flow(value).category, 5);
        assert_eq!((flows.of(&trace, 42, 9), flows.of(&trace, 42, 1)), (vec![(0, 0), (0, 1)], vec![(0, 0)]));
        assert_eq!(flows.of(&trace, 1, 9), []);
        assert_eq!(flows.count, 3);
    }

    #[test]
    fn ids_that_are_near_each_other_are_their_own_numbers() {
        let mut near = Keys::new(&[40 << 2, 43 << 2, 41 << 2]);
        assert_eq!(([43, 40, 43].map(|id| near.of(id)), near.count()), ([3, 0, 3], 4));
        let mut far = Keys::new(&[40 << 2, 4000 << 2]);
        assert_eq!(([4000, 40, 4000].map(|id| far.of(id)), far.count()), ([0, 1, 0], 2));
    }
}
