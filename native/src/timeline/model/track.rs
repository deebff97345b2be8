//! The inputs of a timeline: event tables, and the track of their events. Of each track the shown events are collected,
//! sorted and put into rows.

use crate::timeline::model::sparse::Sparse;
use crate::timeline::model::trace::{HIDDEN, NO_GROUP, WIDE};
use crate::timeline::model::{lengths, rows};

/// The inputs of all tracks.
pub(super) struct Inputs<'a> {
    pub tables: &'a [Table<'a>],
    /// Source number of each table's first event.
    pub base: Vec<usize>,
    pub renamed: Sparse<u32>,
    pub grouped: bool,
}

impl Inputs<'_> {
    #[inline]
    pub fn name(&self, table: usize, event: usize) -> u32 {
        let own = self.tables[table].names[self.tables[table].metadata[event] as usize];
        if self.renamed.is_empty() { own } else { self.renamed.get(self.base[table] + event).unwrap_or(own) }
    }

    pub fn group(&self, source: usize) -> i64 {
        let (table, event) = self.place(source);
        table.group.get(event).copied().unwrap_or(NO_GROUP)
    }

    pub fn duration(&self, source: usize) -> i64 {
        let (table, event) = self.place(source);
        table.duration.get(event).copied().unwrap_or(0)
    }

    /// Table and event of a source number.
    fn place(&self, source: usize) -> (&Table<'_>, usize) {
        let table = self.base.partition_point(|&base| base <= source).saturating_sub(1);
        (&self.tables[table], source - self.base[table])
    }
}

pub(super) fn narrow(group: i64) -> i32 {
    i32::try_from(group).unwrap_or(WIDE)
}

/// Columns of one track, to be filled.
pub(super) struct Target<'a> {
    pub segments: &'a [Segment],
    pub begin: &'a mut [i64],
    /// Durations as `lengths::narrow` gives them.
    pub low: &'a mut [u32],
    pub high: &'a mut [u8],
    pub name: &'a mut [u32],
    pub source: &'a mut [u32],
    pub group: &'a mut [i32],
}

#[inline]
pub(super) fn is_shown(table: &Table, event: usize) -> bool {
    let name = table.names.get(table.metadata[event] as usize).copied().unwrap_or(HIDDEN);
    name != HIDDEN && table.removed.get(event).is_none_or(|&flag| flag == 0)
}

pub(super) fn everything_shown(table: &Table) -> bool {
    table.removed.is_empty() && !table.names.contains(&HIDDEN)
}

/// How many events of a segment are shown; `everything`: the result of `everything_shown` for its table.
pub(super) fn shown(table: &Table, everything: bool, segment: &Segment) -> usize {
    if everything && table.metadata[segment.first..segment.last].iter().all(|&m| (m as usize) < table.names.len()) {
        return segment.last - segment.first;
    }
    (segment.first..segment.last).filter(|&e| is_shown(table, e)).count()
}

pub(super) fn fill_track(inputs: &Inputs, target: Target) -> Vec<u32> {
    let count = target.begin.len();
    if count == 0 {
        return Vec::new();
    }
    let sources = sources(inputs, target.segments, count);
    let single = target.segments[0];
    let at = |i: usize| -> (usize, usize) {
        sources.get(i).map_or((single.table, single.first + i), |&(t, e)| (t as usize, e as usize))
    };
    let (begin, duration): (Vec<i64>, Vec<i64>);
    let (begin, duration): (&[i64], &[i64]) = if sources.is_empty() {
        let table = &inputs.tables[single.table];
        (&table.begin[single.first..single.last], &table.duration[single.first..single.last])
    } else {
        begin = (0..count).map(|i| inputs.tables[at(i).0].begin[at(i).1]).collect();
        duration = (0..count).map(|i| inputs.tables[at(i).0].duration[at(i).1]).collect();
        (&begin, &duration)
    };
    let mut row = vec![0u16; count];
    let used = rows::rows(begin, duration, &mut row);
    let (sizes, place) = by_row(&row, used);
    if sources.is_empty() && place.is_none() {
        copy_run(inputs, single, target);
        return sizes;
    }
    let put = |i: usize| place.as_ref().map_or(i, |p| p[i] as usize);
    for i in 0..count {
        let (to, (t, e)) = (put(i), at(i));
        target.begin[to] = begin[i];
        (target.low[to], target.high[to]) = lengths::narrow(duration[i]);
        target.source[to] = (inputs.base[t] + e) as u32;
        target.name[to] = inputs.name(t, e);
        if let Some(group) = target.group.get_mut(to) {
            *group = narrow(inputs.tables[t].group.get(e).copied().unwrap_or(NO_GROUP));
        }
    }
    sizes
}

/// A track of one row that is a segment of one table, in its order.
pub(super) fn copy_run(inputs: &Inputs, segment: Segment, target: Target) {
    let (table, range) = (&inputs.tables[segment.table], segment.first..segment.last);
    target.begin.copy_from_slice(&table.begin[range.clone()]);
    for ((low, high), &duration) in target.low.iter_mut().zip(target.high).zip(&table.duration[range.clone()]) {
        (*low, *high) = lengths::narrow(duration);
    }
    let base = inputs.base[segment.table];
    for ((source, name), event) in target.source.iter_mut().zip(target.name).zip(range.clone()) {
        *source = (base + event) as u32;
        *name = inputs.name(segment.table, event);
    }
    for (group, event) in target.group.iter_mut().zip(range) {
        *group = narrow(table.group.get(event).copied().unwrap_or(NO_GROUP));
    }
}

/// The shown events of a track as (table, event) by (begin, longer first), else in the order of the file; empty when
/// the track is one run of one table in that order.
pub(super) fn sources(inputs: &Inputs, segments: &[Segment], count: usize) -> Vec<(u32, u32)> {
    let key = |&(t, e): &(u32, u32)| {
        let table = &inputs.tables[t as usize];
        (table.begin[e as usize], std::cmp::Reverse(table.duration[e as usize]))
    };
    if let [segment] = segments {
        let table = segment.table as u32;
        let ordered =
            || (segment.first + 1..segment.last).all(|e| key(&(table, e as u32 - 1)) <= key(&(table, e as u32)));
        if segment.last - segment.first == count && ordered() {
            return Vec::new();
        }
    }
    let mut list = Vec::with_capacity(count);
    for segment in segments {
        let table = &inputs.tables[segment.table];
        list.extend(
            (segment.first..segment.last).filter(|&e| is_shown(table, e)).map(|e| (segment.table as u32, e as u32)),
        );
    }
    if !list.is_sorted_by_key(key) {
        list.sort_by_key(key);
    }
    list
}

/// Sizes of the rows, and where each event goes when they are put one after the other (None: stays).
pub(super) fn by_row(row: &[u16], used: usize) -> (Vec<u32>, Option<Vec<u32>>) {
    if used <= 1 {
        return (vec![row.len() as u32], None);
    }
    let mut sizes = vec![0u32; used];
    for &r in row {
        sizes[r as usize] += 1;
    }
    let mut next: Vec<u32> = sizes
        .iter()
        .scan(0, |sum, &size| {
            let first = *sum;
            *sum += size;
            Some(first)
        })
        .collect();
    let place = row
        .iter()
        .map(|&r| {
            let to = next[r as usize];
            next[r as usize] += 1;
            to
        })
        .collect();
    (sizes, Some(place))
}

/// Events as a plane or a derived line has them; all slices of events have the same length.
pub struct Table<'a> {
    pub begin: &'a [i64],
    pub duration: &'a [i64],
    pub metadata: &'a [u32],
    /// Name id per metadata row, or `HIDDEN`.
    pub names: &'a [u32],
    /// Empty, or one flag per event that takes it out.
    pub removed: &'a [u8],
    /// Empty, or the group per event.
    pub group: &'a [i64],
    /// Events that have a name of their own.
    pub renamed: (&'a [u32], &'a [u32]),
    pub flow: (&'a [u32], &'a [u64]),
    pub asynchronous: &'a [u32],
}

/// Events `first..last` of a table belong to a track.
#[derive(Clone, Copy)]
pub struct Segment {
    pub table: usize,
    pub first: usize,
    pub last: usize,
    pub track: usize,
}
