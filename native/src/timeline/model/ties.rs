//! Kinds of events, and the order of events that begin together.

use std::cmp::Reverse;

use crate::timeline::model::trace::Trace;

/// Kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    Plain,
    Flow,
    /// Asynchronous flow event: has no track of its own in a trace viewer.
    Async,
    /// One of more than 256 events with the same begin.
    Dropped,
}

/// Kind of an event, by its flow and whether it is asynchronous.
pub fn kind_of(trace: &Trace, event: u32) -> Kind {
    if trace.flow.is_empty() {
        return Kind::Plain;
    }
    let event = event as usize;
    match (trace.flow.index(event), trace.asynchronous.index(event)) {
        (Some(_), Some(_)) => Kind::Async,
        (Some(_), None) => Kind::Flow,
        _ => Kind::Plain,
    }
}

/// Order among events that begin together.
pub fn tie(trace: &Trace, event: u32, track: u32) -> (Reverse<i64>, u32, bool, u32, u32) {
    let e = event as usize;
    let id = trace.tracks[track as usize];
    let asynchronous = kind_of(trace, event) == Kind::Async;
    // Asynchronous events belong to no thread and come behind those that do.
    (Reverse(trace.duration(e)), id.pid, asynchronous, if asynchronous { 0 } else { id.tid }, trace.name[e])
}

/// Compares two events that begin together; most of them differ in length.
#[inline]
pub fn before(trace: &Trace, a: (u32, u32), b: (u32, u32)) -> std::cmp::Ordering {
    let length = |(event, _): (u32, u32)| trace.duration(event as usize);
    length(b).cmp(&length(a)).then_with(|| tie(trace, a.0, a.1).cmp(&tie(trace, b.0, b.1)))
}
