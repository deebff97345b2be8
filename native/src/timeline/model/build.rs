//! Event tables into tracks: collects what is shown, sorts it, nests it into rows.

use crate::system::memory::zeros;
use crate::system::parallel;
use crate::timeline::model::lengths::Lengths;
use crate::timeline::model::names::Names;
use crate::timeline::model::rows::MAX_ROWS;
use crate::timeline::model::sparse::Sparse;
use crate::timeline::model::trace::{Row, Trace, TrackId, WIDE};
use crate::timeline::model::track::{Inputs, Target, everything_shown, fill_track, shown};
use crate::timeline::model::track::{Segment, Table};

/// Builds a trace. `segments` must be sorted by track, `tracks` ascending, `names` ascending.
///
/// Segments that reach beyond their table are cut; metadata rows without a name are hidden.
pub fn build<'n>(
    tables: &[Table],
    segments: &[Segment],
    tracks: Vec<TrackId>,
    names: impl Iterator<Item = &'n str>,
    threads: usize,
) -> Trace {
    let mut base = Vec::with_capacity(tables.len());
    let mut total = 0;
    for table in tables {
        base.push(total);
        total += table.begin.len();
    }
    let sparse = |t: usize, event: u32| base[t] + event as usize;
    let renamed = Sparse::new(
        total,
        tables
            .iter()
            .enumerate()
            .flat_map(|(t, table)| table.renamed.0.iter().zip(table.renamed.1).map(move |(&e, &n)| (sparse(t, e), n))),
    );
    let flow = Sparse::new(
        total,
        tables
            .iter()
            .enumerate()
            .flat_map(|(t, table)| table.flow.0.iter().zip(table.flow.1).map(move |(&e, &v)| (sparse(t, e), v))),
    );
    let asynchronous = Sparse::new(
        total,
        tables.iter().enumerate().flat_map(|(t, table)| table.asynchronous.iter().map(move |&e| (sparse(t, e), ()))),
    );
    let grouped = tables.iter().any(|t| !t.group.is_empty());
    let inputs = Inputs { tables, base, renamed, grouped };
    let mut trace = fill(&inputs, segments, tracks, threads);
    trace.flow = by_position(&trace, &flow);
    trace.asynchronous = by_position(&trace, &asynchronous);
    if trace.group.contains(&WIDE) {
        let wide = trace.group.iter().zip(&trace.source).enumerate().filter(|(_, (group, _))| **group == WIDE);
        let values = wide.map(|(at, (_, &source))| (at, inputs.group(source as usize)));
        trace.wide_group = Sparse::new(trace.len(), values);
    }
    let source = &trace.source;
    trace.lengths.complete(|at| inputs.duration(source[at] as usize));
    trace.names = Names::new(names);
    trace.span = span(&trace);
    trace
}

/// The values of a map by source number, for the positions of a trace.
fn by_position<T: Copy + Default>(trace: &Trace, of_source: &Sparse<T>) -> Sparse<T> {
    if of_source.is_empty() {
        return Sparse::default();
    }
    let values =
        trace.source.iter().enumerate().filter_map(|(at, &source)| Some((at, of_source.get(source as usize)?)));
    Sparse::new(trace.len(), values)
}

fn fill(inputs: &Inputs, segments: &[Segment], tracks: Vec<TrackId>, threads: usize) -> Trace {
    let segments: Vec<Segment> = segments.iter().filter_map(|p| cut(p, inputs, tracks.len())).collect();
    // Once per table: a table may have as many segments as names.
    let everything: Vec<bool> = inputs.tables.iter().map(everything_shown).collect();
    let mut counts = vec![0usize; tracks.len()];
    let mut segment_range = vec![0..0; tracks.len()];
    for (i, segment) in segments.iter().enumerate() {
        counts[segment.track] += shown(&inputs.tables[segment.table], everything[segment.table], segment);
        let range = &mut segment_range[segment.track];
        *range = if range.start == range.end { i..i + 1 } else { range.start..i + 1 };
    }
    let total: usize = counts.iter().sum();
    let mut trace = Trace {
        begin: zeros(total),
        lengths: Lengths::zeros(total),
        name: zeros(total),
        source: zeros(total),
        group: zeros(if inputs.grouped { total } else { 0 }),
        track_events: vec![0],
        track_rows: vec![0],
        ..Trace::default()
    };
    let mut jobs = Vec::with_capacity(tracks.len());
    {
        let mut begin = trace.begin.as_mut_slice();
        let (mut low, mut high) = trace.lengths.as_mut_slices();
        let mut name = trace.name.as_mut_slice();
        let mut source = trace.source.as_mut_slice();
        let mut group = trace.group.as_mut_slice();
        for (track, &count) in counts.iter().enumerate() {
            jobs.push((
                track,
                Target {
                    segments: &segments[segment_range[track].clone()],
                    begin: take(&mut begin, count),
                    low: take(&mut low, count),
                    high: take(&mut high, count),
                    name: take(&mut name, count),
                    source: take(&mut source, count),
                    group: take(&mut group, if inputs.grouped { count } else { 0 }),
                },
            ));
        }
    }
    let sizes = run(inputs, jobs, tracks.len(), threads);
    let mut first = 0u32;
    for (track, rows) in sizes.iter().enumerate() {
        for &size in rows {
            trace.rows.push(Row { track: track as u32, first, last: first + size });
            first += size;
        }
        trace.track_events.push(first);
        trace.track_rows.push(trace.rows.len() as u32);
    }
    trace.tracks = tracks;
    trace
}

fn cut(segment: &Segment, inputs: &Inputs, tracks: usize) -> Option<Segment> {
    let last = segment.last.min(inputs.tables.get(segment.table)?.begin.len());
    (segment.first < last && segment.track < tracks).then_some(Segment { last, ..*segment })
}

fn take<'a, T>(rest: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (taken, left) = std::mem::take(rest).split_at_mut(count);
    *rest = left;
    taken
}

/// Fills every track, largest first; returns the row sizes per track.
fn run(inputs: &Inputs, mut jobs: Vec<(usize, Target)>, tracks: usize, threads: usize) -> Vec<Vec<u32>> {
    jobs.sort_by_key(|(_, target)| std::cmp::Reverse(target.begin.len()));
    let done = parallel::run(threads, jobs, |(track, target)| Ok((track, fill_track(inputs, target))));
    let mut sizes = vec![Vec::new(); tracks];
    for (track, rows) in done.unwrap_or_default() {
        sizes[track] = rows;
    }
    sizes
}

fn span(trace: &Trace) -> (i64, i64) {
    let first = trace.rows.iter().filter_map(|r| trace.begin.get(r.first as usize)).min().copied();
    let last = trace.track_rows.windows(2).flat_map(|rows| {
        trace.rows[rows[0] as usize..rows[1] as usize].iter().enumerate().filter_map(|(depth, row)| {
            // Events of a row end in their order, except in the last row, which takes all that fit nowhere.
            let from = if depth + 1 < MAX_ROWS { row.last.saturating_sub(1).max(row.first) } else { row.first };
            (from..row.last).map(|event| trace.end(event as usize)).max()
        })
    });
    (first.unwrap_or(0), last.max().unwrap_or(0))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::timeline::model::trace::HIDDEN;

    /// A trace of (track, begin, duration, name) events, one table, tracks numbered from pid 1.
    pub fn trace_of(events: &[(usize, i64, i64, u32)]) -> Trace {
        trace_with(events, &[], &[])
    }

    pub fn trace_with(events: &[(usize, i64, i64, u32)], flows: &[(u32, u64)], asynchronous: &[u32]) -> Trace {
        let mut events: Vec<_> = events.iter().copied().enumerate().collect();
        events.sort_by_key(|e| e.1.0);
        let number = |old: u32| events.iter().position(|e| e.0 == old as usize).unwrap_or(0) as u32;
        let mut flows: Vec<(u32, u64)> = flows.iter().map(|f| (number(f.0), f.1)).collect();
        flows.sort_by_key(|f| f.0);
        let (flow_event, flow_value): (Vec<u32>, Vec<u64>) = flows.into_iter().unzip();
        let mut asynchronous: Vec<u32> = asynchronous.iter().map(|&e| number(e)).collect();
        asynchronous.sort_unstable();
        let begin: Vec<i64> = events.iter().map(|e| e.1.1).collect();
        let duration: Vec<i64> = events.iter().map(|e| e.1.2).collect();
        let metadata: Vec<u32> = events.iter().map(|e| e.1.3).collect();
        let names: Vec<u32> = (0..10).collect();
        let table = Table {
            begin: &begin,
            duration: &duration,
            metadata: &metadata,
            names: &names,
            removed: &[],
            group: &[],
            renamed: (&[], &[]),
            flow: (&flow_event, &flow_value),
            asynchronous: &asynchronous,
        };
        let tracks = events.last().map_or(0, |e| e.1.0 + 1);
        let segments: Vec<Segment> = (0..tracks)
            .map(|track| Segment {
                table: 0,
                first: events.partition_point(|e| e.1.0 < track),
                last: events.partition_point(|e| e.1.0 <= track),
                track,
            })
            .collect();
        let ids = (0..tracks).map(|t| TrackId { pid: 1 + t as u32, tid: 1 }).collect();
        let text: Vec<String> = (0..10).map(|i| format!("n{i}")).collect();
        build(&[table], &segments, ids, text.iter().map(String::as_str), 2)
    }

    #[test]
    fn sorts_nests_and_keeps_the_source() {
        let trace = trace_of(&[(0, 5, 2, 1), (0, 0, 10, 0), (0, 20, 1, 2), (1, 3, 3, 3)]);
        assert_eq!(trace.begin, [0, 20, 5, 3]);
        assert_eq!(trace.source, [1, 2, 0, 3]);
        assert_eq!(trace.name, [0, 2, 1, 3]);
        assert_eq!(trace.track_events, [0, 3, 4]);
        assert_eq!(
            trace.rows.iter().map(|r| (r.track, r.first, r.last)).collect::<Vec<_>>(),
            [(0, 0, 2), (0, 2, 3), (1, 3, 4)]
        );
        assert_eq!(trace.span, (0, 21));
        assert_eq!([trace.track_of(2), trace.track_of(3)], [0, 1]);
    }

    #[test]
    fn the_span_ends_with_the_longest_event_also_of_a_row_that_takes_the_rest() {
        assert_eq!(trace_of(&[(0, 0, 10, 0), (0, 2, 3, 1), (1, 4, 1, 2)]).span, (0, 10));
        let mut events: Vec<_> = (0..70_000).map(|i| (0, i, 1_000_000, 0)).collect();
        events.push((0, 70_000, 1, 1));
        assert_eq!(trace_of(&events).span, (0, 1_069_999));
    }

    #[test]
    fn hides_removed_and_nameless_events_and_renames() {
        let table = Table {
            begin: &[0, 1, 2, 3],
            duration: &[1, 1, 1, 1],
            metadata: &[0, 1, 0, 9],
            names: &[4, HIDDEN],
            removed: &[0, 0, 1, 0],
            group: &[7, 7, 7, 7],
            renamed: (&[0], &[5]),
            flow: (&[], &[]),
            asynchronous: &[],
        };
        let segment = Segment { table: 0, first: 0, last: 40, track: 0 };
        let trace = build(&[table], &[segment], vec![TrackId { pid: 1, tid: 2 }], ["a"].into_iter(), 1);
        assert_eq!((trace.begin, trace.name, trace.group), (vec![0], vec![5], vec![7i32]));
    }

    #[test]
    fn two_tables_share_a_track() {
        let a = Table {
            begin: &[0, 10],
            duration: &[5, 5],
            metadata: &[0, 0],
            names: &[0],
            removed: &[],
            group: &[],
            renamed: (&[], &[]),
            flow: (&[], &[]),
            asynchronous: &[],
        };
        let b = Table { begin: &[6], duration: &[1], metadata: &[0], names: &[1], ..a };
        let segments =
            [Segment { table: 0, first: 0, last: 2, track: 0 }, Segment { table: 1, first: 0, last: 1, track: 0 }];
        let trace = build(&[a, b], &segments, vec![TrackId { pid: 1, tid: 2 }], ["a", "b"].into_iter(), 1);
        assert_eq!((trace.begin, trace.source), (vec![0, 6, 10], vec![0, 2, 1]));
    }
}
