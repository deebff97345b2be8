//! The events of one host in tracks and rows.

use std::cmp::Reverse;

use crate::timeline::model::lengths::Lengths;
use crate::timeline::model::names::Names;
use crate::timeline::model::sparse::Sparse;

/// Name id of events that are not shown.
pub const HIDDEN: u32 = u32::MAX;

/// No group.
pub const NO_GROUP: i64 = -1;

/// Marks a group in the narrow column that does not fit it.
pub const WIDE: i32 = i32::MIN;

/// Identity of a track; tracks are sorted by it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TrackId {
    pub pid: u32,
    pub tid: u32,
}

/// Events `first..last` of one row of a track, disjoint and ascending.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub track: u32,
    pub first: u32,
    pub last: u32,
}

/// The events of one host, sorted by (track, row, begin).
#[derive(Default)]
pub struct Trace {
    pub tracks: Vec<TrackId>,
    /// Events of track t are `track_events[t]..track_events[t + 1]`, its rows `track_rows[t]..track_rows[t + 1]`.
    pub track_events: Vec<u32>,
    pub track_rows: Vec<u32>,
    pub rows: Vec<Row>,
    pub begin: Vec<i64>,
    pub lengths: Lengths,
    pub name: Vec<u32>,
    /// Number of the event in the concatenation of the tables.
    pub source: Vec<u32>,
    /// Groups that fit, `WIDE` for those in `wide_group`; empty when no event has a group.
    pub group: Vec<i32>,
    pub wide_group: Sparse<i64>,
    /// Flow values and asynchronous events by position.
    pub flow: Sparse<u64>,
    pub asynchronous: Sparse<()>,
    /// Names in ascending order, as text and as JSON strings.
    pub names: Names,
    /// First begin and last end.
    pub span: (i64, i64),
    /// Samples of counters by begin, longer first, process and name; they are numbered among the events that begin
    /// together.
    pub samples: Vec<Sample>,
    /// Processes of TPUs, ascending: middle events of flows are hidden there unless asked for.
    pub tpus: Vec<u32>,
}

/// One sample of a counter: begin, duration, process, name id.
pub type Sample = (i64, Reverse<i64>, u32, u32);

impl Trace {
    pub fn len(&self) -> usize {
        self.begin.len()
    }

    pub fn is_empty(&self) -> bool {
        self.begin.is_empty()
    }

    #[inline(always)]
    pub fn duration(&self, event: usize) -> i64 {
        self.lengths.get(event)
    }

    #[inline]
    pub fn end(&self, event: usize) -> i64 {
        self.begin[event].saturating_add(self.duration(event).max(0))
    }

    #[inline]
    pub fn group_of(&self, event: usize) -> i64 {
        match self.group.get(event) {
            None => NO_GROUP,
            Some(&WIDE) => self.wide_group.get(event).unwrap_or(NO_GROUP),
            Some(&group) => i64::from(group),
        }
    }

    /// Samples that begin with an event and are numbered before it: longer ones, and those of earlier processes.
    ///
    /// Within a process, samples come behind the events of threads, among asynchronous events by name (`name`).
    pub fn samples_before(&self, event: usize, pid: u32, name: Option<u32>) -> usize {
        let begin = self.begin[event];
        let first = self.samples.partition_point(|sample| sample.0 < begin);
        let key = (begin, Reverse(self.duration(event)), pid, name.unwrap_or(0));
        self.samples[first..].partition_point(|sample| *sample < key)
    }

    /// The track that holds an event.
    pub fn track_of(&self, event: u32) -> usize {
        self.track_events.partition_point(|&first| first <= event).saturating_sub(1)
    }

    /// Whether the track has events and all of them are asynchronous flow events.
    pub fn is_async(&self, track: usize) -> bool {
        if self.asynchronous.is_empty() || track >= self.tracks.len() {
            return false;
        }
        let mut events = self.track_events[track] as usize..self.track_events[track + 1] as usize;
        !events.is_empty() && events.all(|e| self.asynchronous.index(e).is_some() && self.flow.index(e).is_some())
    }

    /// Enclosing events of an event of a track, outermost first: (index within the track, row).
    pub fn ancestors(&self, track: usize, index: u32) -> Vec<(u32, usize)> {
        let mut found = Vec::new();
        let (Some(&base), Some(&first), Some(&last)) =
            (self.track_events.get(track), self.track_rows.get(track), self.track_rows.get(track + 1))
        else {
            return found;
        };
        let event = base as usize + index as usize;
        for (depth, row) in self.rows[first as usize..last as usize].iter().enumerate() {
            let range = row.first as usize..row.last as usize;
            if event < range.end {
                break;
            }
            let next = range.start + self.begin[range.clone()].partition_point(|&b| b <= self.begin[event]);
            if next > range.start && self.end(next - 1) >= self.end(event) && self.duration(next - 1) > 0 {
                found.push(((next - 1) as u32 - base, depth));
            }
        }
        found
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.len() * 16
            + self.lengths.bytes()
            + self.group.len() * 4
            + self.flow.bytes()
            + self.names.bytes()
            + self.samples.len() * size_of::<Sample>()
    }
}
