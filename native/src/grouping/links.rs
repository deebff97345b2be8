//! Links between events of different threads: the contexts in their stats, and regions of threadpool work.

use std::ops::Range;

use crate::kernels::gather::Stats;
use crate::system::parallel::{self, MANY};

/// Roles of a stat, by its key: type and id of what an event produces, type and id of what it consumes.
pub const ROLES: usize = 4;
const CONSUMER_ID: u8 = 3;
const UINT64: u8 = 3;
const INT64: u8 = 4;

/// One side of the contexts: the events that have type and id, ascending, with both.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub event: Vec<i64>,
    pub kind: Vec<i64>,
    pub id: Vec<i64>,
}

impl Found {
    fn append(&mut self, mut other: Found) {
        self.event.append(&mut other.event);
        self.kind.append(&mut other.kind);
        self.id.append(&mut other.id);
    }
}

/// The contexts that events produce and consume. The first of equal stats counts; types that are no
/// int64 and ids that are no integer read as 0. `role_of_key` maps the key of a stat to its role.
pub fn contexts(stats: Stats, role_of_key: &[u8]) -> [Found; 2] {
    let events = stats.start.len().saturating_sub(1);
    let parts: Vec<Range<usize>> = (0..events).step_by(MANY).map(|from| from..(from + MANY).min(events)).collect();
    let found = parallel::run(2, parts, |part| Ok(contexts_of(stats, part, role_of_key))).unwrap_or_default();
    let mut found = found.into_iter();
    let [mut produced, mut consumed] = found.next().unwrap_or_default();
    for [more_produced, more_consumed] in found {
        produced.append(more_produced);
        consumed.append(more_consumed);
    }
    [produced, consumed]
}

/// Those of some events.
fn contexts_of(stats: Stats, part: Range<usize>, role_of_key: &[u8]) -> [Found; 2] {
    let mut found = [Found::default(), Found::default()];
    let ends = &stats.start[part.start + 1..=part.end];
    let first = stats.start[part.start] as usize;
    let last = ends.last().map_or(0, |&end| end as usize).min(stats.key.len());
    let mut own = [None; ROLES];
    let (mut owner, mut event) = (0, 0);
    for (at, &key) in (first..last).zip(stats.key.get(first..last).unwrap_or(&[])) {
        let role = role_of_key.get(key as usize).copied().unwrap_or(u8::MAX) as usize;
        if role >= ROLES {
            continue;
        }
        while event < ends.len() && ends[event] as usize <= at {
            event += 1;
        }
        if event != owner {
            finish(part.start + owner, &mut own, &mut found);
            owner = event;
        }
        if own[role].is_none() {
            let kind = stats.kind[at];
            let number = kind == INT64 || (kind == UINT64 && role % 2 == 1);
            own[role] = Some(if number { stats.value[at] as i64 } else { 0 });
        }
    }
    finish(part.start + owner, &mut own, &mut found);
    found
}

/// Adds the sides of an event that have type and id.
fn finish(event: usize, own: &mut [Option<i64>; ROLES], found: &mut [Found; 2]) {
    for (side, pair) in found.iter_mut().zip(own.chunks_exact(2)) {
        if let [Some(kind), Some(id)] = *pair {
            side.event.push(event as i64);
            side.kind.push(kind);
            side.id.push(id);
        }
    }
    *own = [None; ROLES];
}

/// Spans from a start event to a stop event: the line of each, ascending, begin and duration.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Regions {
    pub line: Vec<i64>,
    pub begin: Vec<i64>,
    pub duration: Vec<i64>,
}

/// Whether a row of the event metadata starts or stops a region.
pub const START: u8 = 1;
pub const STOP: u8 = 2;

/// A region per stop event with an earlier start event on its line, from the last one that has the id of a consumer.
///
/// `line_start` lies within the events; the other slices have one entry per event (checked by the caller).
pub fn regions(
    line_start: &[i64],
    metadata: &[u32],
    begin: &[i64],
    edge_of_row: &[u8],
    stats: Stats,
    role_of_key: &[u8],
) -> Regions {
    let mut out = Regions::default();
    let consumes = |event: usize| {
        let last = (stats.start[event + 1] as usize).min(stats.key.len());
        let keys = stats.key.get(stats.start[event] as usize..last).unwrap_or(&[]);
        keys.iter().any(|&key| role_of_key.get(key as usize) == Some(&CONSUMER_ID))
    };
    for (line, bounds) in line_start.windows(2).enumerate() {
        let mut open = None;
        for event in bounds[0] as usize..bounds[1] as usize {
            match edge_of_row.get(metadata[event] as usize).copied().unwrap_or(0) {
                START if consumes(event) => open = Some(begin[event]),
                STOP => {
                    if let Some(from) = open {
                        out.line.push(line as i64);
                        out.begin.push(from);
                        out.duration.push(begin[event].wrapping_sub(from));
                    }
                }
                _ => {}
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events with stats (key, kind, value); key k has role k, those from 4 on none.
    fn stats(events: &[&[(u32, u8, u64)]]) -> (Vec<u32>, Vec<u32>, Vec<u8>, Vec<u64>) {
        let mut start = vec![0];
        let (mut key, mut kind, mut value) = (vec![], vec![], vec![]);
        for own in events {
            own.iter().for_each(|stat| {
                key.push(stat.0);
                kind.push(stat.1);
                value.push(stat.2);
            });
            start.push(key.len() as u32);
        }
        (start, key, kind, value)
    }

    const ROLE: [u8; 5] = [0, 1, 2, 3, u8::MAX];

    #[test]
    fn a_context_has_type_and_id() {
        let (start, key, kind, value) = stats(&[
            &[(0, INT64, 2), (1, UINT64, 7)],
            &[(4, INT64, 9)],
            &[(2, UINT64, 5), (3, 5, 8), (3, INT64, 1)], // the type is no int64, the first id a text
            &[(0, INT64, 2), (2, INT64, 3)],             // no ids
            &[(1, INT64, u64::MAX), (3, INT64, 4), (0, INT64, 1), (2, INT64, 6), (0, INT64, 5)],
        ]);
        let [produced, consumed] = contexts(Stats { start: &start, key: &key, kind: &kind, value: &value }, &ROLE);
        assert_eq!(produced, Found { event: vec![0, 4], kind: vec![2, 1], id: vec![7, -1] });
        assert_eq!(consumed, Found { event: vec![2, 4], kind: vec![0, 6], id: vec![0, 4] });
    }

    #[test]
    fn contexts_of_many_events_are_those_of_their_parts() {
        let events = MANY + 9;
        let start: Vec<u32> = (0..=events as u32).map(|event| 2 * event).collect();
        let key: Vec<u32> = (0..2 * events as u32).map(|at| at % 2).collect();
        let value: Vec<u64> = (0..2 * events as u64).collect();
        let stats = Stats { start: &start, key: &key, kind: &vec![INT64; 2 * events], value: &value };
        let [produced, consumed] = contexts(stats, &ROLE);
        assert!(produced.event.iter().copied().eq(0..events as i64) && consumed == Found::default());
        assert!(produced.id.iter().zip(&produced.event).all(|(id, event)| *id == 2 * event + 1));
        assert_eq!(contexts(Stats { start: &[], ..stats }, &ROLE), [Found::default(), Found::default()]);
    }

    #[test]
    fn a_region_begins_at_the_last_consumer_on_its_line() {
        let id: &[(u32, u8, u64)] = &[(3, INT64, 1)];
        let (start, key, kind, value) = stats(&[id, &[], &[], &[], id, id, &[], &[], &[]]);
        let stats = Stats { start: &start, key: &key, kind: &kind, value: &value };
        // Rows: 0 other, 1 start, 2 stop. Line 0: start, start without id, stop, stop; line 1: other, start; line 2: stop.
        let metadata = [1, 1, 2, 2, 0, 1, 2, 0, 9];
        let begin = [10, 20, 30, 45, 50, 60, 70, 80, 90];
        let found = regions(&[0, 4, 6, 9], &metadata, &begin, &[0, START, STOP], stats, &ROLE);
        assert_eq!(found, Regions { line: vec![0, 0], begin: vec![10, 10], duration: vec![20, 35] });
    }
}
