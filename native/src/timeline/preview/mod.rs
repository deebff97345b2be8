//! Boxes of a large file before its events are in memory: an index of its lines (`index`), and boxes that are merged
//! while the part of the file that a window needs passes by (`merge`).

mod index;
mod merge;

use crate::decode::xspace::outline;
use crate::error::{Error, Problem, Result};
use crate::system::parallel;
use crate::timeline::model::names::Names;
use crate::timeline::model::trace::{Trace, TrackId};
pub use crate::timeline::preview::index::{Line, NameTable};
use crate::timeline::preview::index::{Track, events_of, index};
use crate::timeline::preview::merge::Merger;
use crate::timeline::query::lod::{Boxes, Pixel};

/// Where the events of each track of a file lie.
#[derive(Default)]
pub struct Preview {
    tables: Vec<NameTable>,
    tracks: Vec<Track>,
    /// Tracks, rows, names and span, as if all events were in it; it has none.
    pub outline: Trace,
}

impl Preview {
    /// Reads the whole file once. `lines` must be sorted by track; their plane is an index into `tables`.
    pub fn new<'n>(
        data: &[u8],
        tables: Vec<NameTable>,
        lines: &[Line],
        ids: Vec<TrackId>,
        names: impl Iterator<Item = &'n str>,
        threads: usize,
    ) -> Result<Preview> {
        let space = outline(data, 0)?.limited();
        let mut jobs: Vec<(usize, Vec<_>)> = (0..ids.len()).map(|track| (track, Vec::new())).collect();
        for line in lines {
            let table = tables.get(line.table).ok_or(Error::argument("a line without its table"))?;
            let span = space.planes.get(table.plane).and_then(|plane| plane.lines.get(line.line));
            let (Some(&span), Some((_, of_track))) = (span, jobs.get_mut(line.track)) else {
                return Err(Error::argument("a line that is not in the file"));
            };
            of_track.push((line.table, span));
        }
        let size = |lines: &[(usize, crate::wire::Span)]| lines.iter().map(|(_, span)| span.len()).sum::<usize>();
        jobs.sort_by_key(|(_, lines)| std::cmp::Reverse(size(lines)));
        let mut found = parallel::run(threads, jobs, |(track, lines)| Ok((track, index(data, &tables, &lines)?)))?;
        found.sort_by_key(|(track, _)| *track);
        let tracks: Vec<Track> = found.into_iter().map(|(_, track)| track).collect();
        let outline = described(&tracks, ids, names)?;
        Ok(Preview { tables, tracks, outline })
    }

    /// Boxes of all tracks, as `lod::boxes` gives them; a merged box has the name of those that fill it among the first.
    pub fn boxes(&self, data: &[u8], window: (i64, i64), columns: u32, limit: usize, threads: usize) -> Result<Boxes> {
        let mut columns = columns.max(1);
        let mut jobs: Vec<(usize, &Track)> = self.tracks.iter().enumerate().collect();
        jobs.sort_by_key(|(_, track)| std::cmp::Reverse(track.bytes_in(window)));
        let mut found = parallel::run(threads, jobs, |(number, track)| {
            let mut merger = Merger::new(Pixel::new(window.0, window.1, columns), track.rows.len());
            events_of(data, &self.tables, track, window, |event| merger.push(event))?;
            Ok((number, merger.finish()))
        })?;
        found.sort_by_key(|(number, _)| *number);
        let mut tracks: Vec<_> = found.into_iter().map(|(_, rows)| rows).collect();
        let count = |tracks: &[merge::Rows]| tracks.iter().flatten().map(Vec::len).sum::<usize>();
        while count(&tracks) > limit && columns > 1 {
            columns = (columns / 2).max(1);
            for rows in &mut tracks {
                let mut merger = Merger::new(Pixel::new(window.0, window.1, columns), rows.len());
                rows.iter().flatten().for_each(|event| merger.push(*event));
                *rows = merger.finish();
            }
        }
        Ok(flat(tracks, columns))
    }

    /// Bytes held, for the cache that keeps it.
    pub fn bytes(&self) -> usize {
        self.outline.bytes() + self.tracks.iter().map(Track::bytes).sum::<usize>()
    }
}

/// A trace without events that has the tracks, rows, names and span of one with them.
fn described<'n>(tracks: &[Track], ids: Vec<TrackId>, names: impl Iterator<Item = &'n str>) -> Result<Trace> {
    let (mut events, mut rows) = (vec![0u32], vec![0u32]);
    let (mut total, mut deep) = (0u64, 0);
    for track in tracks {
        total += track.rows.iter().map(|&count| u64::from(count)).sum::<u64>();
        deep += track.rows.len();
        events.push(u32::try_from(total).map_err(|_| Error::new(Problem::TooMany, "XEvent", 0))?);
        rows.push(deep as u32);
    }
    let spans = || tracks.iter().filter(|track| !track.rows.is_empty()).map(|track| track.span);
    let span = (spans().map(|s| s.0).min().unwrap_or(0), spans().map(|s| s.1).max().unwrap_or(0));
    let names = Names::new(names);
    Ok(Trace { tracks: ids, track_events: events, track_rows: rows, names, span, ..Trace::default() })
}

/// Rows of boxes, track by track, as columns.
fn flat(tracks: Vec<merge::Rows>, columns: u32) -> Boxes {
    let mut out = Boxes { columns, track_start: vec![0], ..Boxes::default() };
    for rows in tracks {
        for event in rows.into_iter().flatten() {
            out.row.push(event.row);
            out.begin.push(event.begin as f64);
            out.duration.push(event.duration as f64);
            out.name.push(event.name);
            out.count.push(event.count);
            out.event.push(event.number);
            out.merged += if event.count > 1 { u64::from(event.count) } else { 0 };
        }
        out.track_start.push(out.begin.len() as u32);
    }
    out
}

#[cfg(test)]
mod tests;
