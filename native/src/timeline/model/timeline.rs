//! The timeline of one host: its events, and what is computed from them when first needed.

use std::sync::OnceLock;

use crate::timeline::model::flows::{FLOW_IN, FLOW_OUT, Flows, decode_flow};
use crate::timeline::model::levels::LazyLevels;
use crate::timeline::model::sparse::Sparse;
use crate::timeline::model::ties::{Kind, kind_of};
use crate::timeline::model::together;
use crate::timeline::model::trace::Trace;

/// Events of a host with their flows and their levels of detail.
#[derive(Default)]
pub struct Timeline {
    pub trace: Trace,
    facts: OnceLock<Facts>,
    pub levels: LazyLevels,
}

/// What is known of the events of a host once all of them were looked at.
pub struct Facts {
    pub flows: Flows,
    /// Events beyond the 256th that begins at a time: never shown.
    pub dropped: Sparse<()>,
    /// Events that are shown on a track (neither asynchronous nor dropped).
    pub on_tracks: usize,
}

impl Facts {
    fn new(trace: &Trace, threads: usize) -> Self {
        let dropped = together::dropped(trace, threads);
        let flows = Flows::new(trace, &dropped);
        let on_tracks = trace.len() - dropped.values().len() - flows.asynchronous.len();
        Facts { flows, dropped, on_tracks }
    }

    /// What an event is; None if it is never shown.
    #[inline(always)]
    pub fn kind(&self, trace: &Trace, event: usize) -> Option<Kind> {
        (self.dropped.is_empty() || self.dropped.index(event).is_none()).then(|| kind_of(trace, event as u32))
    }

    /// Whether an event of a track is a middle one of a flow on a TPU, as most ends of transfers are.
    pub fn is_hidden(&self, trace: &Trace, event: usize, track: usize) -> bool {
        let is_middle = |value| decode_flow(value).direction == FLOW_IN | FLOW_OUT;
        !trace.tpus.is_empty() && trace.flow.get(event).is_some_and(is_middle) && trace.is_tpu(track)
    }
}

impl From<Trace> for Timeline {
    fn from(trace: Trace) -> Self {
        Timeline { trace, ..Timeline::default() }
    }
}

impl Timeline {
    /// What a look at all events tells; computed once.
    pub fn facts(&self, threads: usize) -> &Facts {
        self.facts.get_or_init(|| Facts::new(&self.trace, threads))
    }

    /// Computes every level.
    pub fn compute_levels(&self, threads: usize) {
        self.levels.compute_all(&self.trace, self.facts(threads), threads);
    }

    /// All events of a flow by time: (track, index within the track); at most `limit`.
    pub fn flow_ends(&self, id: u64, limit: usize, threads: usize) -> Vec<(u32, u32)> {
        let found = self.facts(threads).flows.of(&self.trace, id, limit);
        found.into_iter().map(|(track, event)| (track, event - self.trace.track_events[track as usize])).collect()
    }

    /// Bytes held, for the cache that keeps it.
    pub fn bytes(&self) -> usize {
        let of_facts = |facts: &Facts| facts.flows.bytes() + facts.dropped.bytes();
        self.trace.bytes() + self.facts.get().map_or(0, of_facts) + self.levels.bytes()
    }
}
