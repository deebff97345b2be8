//! The timeline of one host: its events, and their order and levels, computed when first needed.

use std::sync::OnceLock;

use crate::timeline::model::levels::LazyLevels;
use crate::timeline::model::order::{self, Order};
use crate::timeline::model::trace::Trace;

/// Events of a host with their order in time and their levels of detail.
#[derive(Default)]
pub struct Timeline {
    pub trace: Trace,
    order: OnceLock<Order>,
    pub levels: LazyLevels,
}

impl From<Trace> for Timeline {
    fn from(trace: Trace) -> Self {
        Timeline { trace, ..Timeline::default() }
    }
}

impl Timeline {
    /// Events by time over all tracks; computed once.
    pub fn order(&self, threads: usize) -> &Order {
        self.order.get_or_init(|| order::order(&self.trace, threads))
    }

    /// Computes the order and every level.
    pub fn compute_levels(&self, threads: usize) {
        self.levels.compute_all(&self.trace, self.order(threads));
    }

    /// All events of a flow by time: (track, index within the track); at most `limit`.
    pub fn flow_ends(&self, id: u64, limit: usize, threads: usize) -> Vec<(u32, u32)> {
        let order = self.order(threads);
        let of_flow = order.flow_place.iter().zip(order.flow.values()).filter(|(_, flow)| flow.id == id);
        let end = |(&place, _): (&u32, _)| {
            let (event, track) = (order.event[place as usize], order.track[place as usize]);
            (track, event - self.trace.track_events[track as usize])
        };
        of_flow.take(limit).map(end).collect()
    }

    /// Bytes held, for the cache that keeps it.
    pub fn bytes(&self) -> usize {
        self.trace.bytes() + self.order.get().map_or(0, Order::bytes) + self.levels.bytes()
    }
}
