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
mod tests {
    use crate::timeline::model::build::build;
    use crate::timeline::model::trace::TrackId;
    use crate::timeline::model::track::{Segment, Table};
    use crate::timeline::preview::{Line, NameTable, Preview};
    use crate::timeline::query::lod;
    use crate::wire::tags::xplane::{XEvent, XLine, XPlane, XSpace};
    use crate::wire::write::{message, number};

    /// (offset, duration, metadata id)
    type Event = (i64, i64, i64);

    /// A profile of one plane whose lines begin at the given ns.
    fn space(lines: &[(i64, Vec<Event>)]) -> Vec<u8> {
        let mut plane = Vec::new();
        for (timestamp_ns, events) in lines {
            let mut line = Vec::new();
            number(&mut line, XLine::TIMESTAMP_NS, *timestamp_ns);
            for &(offset, duration, id) in events {
                let mut event = Vec::new();
                number(&mut event, XEvent::METADATA_ID, id);
                number(&mut event, XEvent::OFFSET_PS, offset);
                number(&mut event, XEvent::DURATION_PS, duration);
                message(&mut line, XLine::EVENTS, &event);
            }
            message(&mut plane, XPlane::LINES, &line);
        }
        let mut space = Vec::new();
        message(&mut space, XSpace::PLANES, &plane);
        space
    }

    const NAMES: [&str; 4] = ["a", "b", "c", "d"];

    /// Events of ids 0 to 3 have the names of these numbers, others are hidden.
    fn preview(data: &[u8], lines: &[Line], tracks: u32) -> Preview {
        let table = NameTable::new(0, &[0, 1, 2, 3], &[0, 1, 2, 3]);
        let ids = (0..tracks).map(|tid| TrackId { pid: 1, tid }).collect();
        Preview::new(data, vec![table], lines, ids, NAMES.into_iter(), 2).unwrap()
    }

    /// The same tracks with all events in memory.
    fn whole(lines: &[(i64, Vec<Event>)], of: &[Line], tracks: u32) -> crate::timeline::model::trace::Trace {
        let (mut begin, mut duration, mut metadata, mut starts) = (vec![], vec![], vec![], vec![0]);
        for (timestamp_ns, events) in lines {
            for &(offset, length, id) in events {
                begin.push(timestamp_ns * 1000 + offset);
                duration.push(length);
                metadata.push(id as u32);
            }
            starts.push(begin.len());
        }
        let names = [0, 1, 2, 3];
        let table = Table {
            begin: &begin,
            duration: &duration,
            metadata: &metadata,
            names: &names,
            removed: &[],
            group: &[],
            renamed: (&[], &[]),
            flow: (&[], &[]),
            asynchronous: &[],
        };
        let segment = |line: &Line| Segment {
            table: 0,
            first: starts[line.line],
            last: starts[line.line + 1],
            track: line.track,
        };
        let segments: Vec<Segment> = of.iter().map(segment).collect();
        let ids = (0..tracks).map(|tid| TrackId { pid: 1, tid }).collect();
        build(&[table], &segments, ids, NAMES.into_iter(), 1)
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, most: i64) -> i64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as i64 % most
        }
    }

    fn line(table: usize, line: usize, track: usize) -> Line {
        Line { table, line, track }
    }

    #[test]
    fn boxes_of_any_window_are_those_of_the_whole_timeline() {
        let mut random = Random(5);
        let mut events = |count: usize, ordered: bool, longest: i64| {
            let mut list: Vec<Event> =
                (0..count).map(|_| (random.below(4_000_000), random.below(longest), random.below(5))).collect();
            if ordered {
                list.sort_by_key(|&(begin, duration, _)| (begin, -duration));
            }
            list
        };
        // Nested and in order (several chunks); out of order; two lines of one track; without events.
        let lines = vec![
            (3, events(60_000, true, 300)),
            (1, events(500, false, 9_000)),
            (0, events(400, true, 50)),
            (5, events(300, true, 50)),
            (2, vec![]),
        ];
        let of = [line(0, 0, 0), line(0, 1, 1), line(0, 2, 2), line(0, 3, 2), line(0, 4, 3)];
        let data = space(&lines);
        let (preview, trace) = (preview(&data, &of, 4), whole(&lines, &of, 4));
        assert_eq!(preview.outline.track_events, trace.track_events);
        assert_eq!(preview.outline.track_rows, trace.track_rows);
        assert_eq!(preview.outline.span, trace.span);
        for (window, columns) in [
            (trace.span, 100),
            (trace.span, 2000),
            ((0, 4_100_000), 33),
            ((1_000_000, 1_200_000), 500),
            ((7_000, 7_000), 9),
        ] {
            let (found, known) = (
                preview.boxes(&data, window, columns, 1 << 20, 3).unwrap(),
                lod::boxes(&trace, window.0, window.1, columns, 1 << 20, 1),
            );
            assert_eq!(found.track_start, known.track_start, "{window:?}");
            assert_eq!((&found.row, &found.begin, &found.duration), (&known.row, &known.begin, &known.duration));
            assert_eq!((&found.count, &found.event, found.merged), (&known.count, &known.event, known.merged));
            for (at, _) in known.count.iter().enumerate().filter(|(_, count)| **count <= 32) {
                assert_eq!(found.name[at], known.name[at], "the name that fills most of box {at}");
            }
        }
    }

    #[test]
    fn too_many_boxes_are_merged_in_wider_columns() {
        let lines = vec![(0, (0..1000).map(|i| (i * 10, 1, 0)).collect())];
        let data = space(&lines);
        let found = preview(&data, &[line(0, 0, 0)], 1).boxes(&data, (0, 10_000), 1000, 200, 1).unwrap();
        assert!(found.columns < 1000 && found.begin.len() <= 200 && found.begin.len() > 50);
        assert_eq!((found.count.iter().sum::<u32>(), found.merged), (1000, 1000));
    }

    #[test]
    fn lines_that_the_file_lacks_and_files_that_changed_are_refused() {
        let lines = vec![(0, vec![(0, 5, 0), (7, 5, 1)])];
        let data = space(&lines);
        let table = || vec![NameTable::new(0, &[0], &[0])];
        for bad in [line(0, 1, 0), line(1, 0, 0), line(0, 0, 1)] {
            assert!(
                Preview::new(&data, table(), &[bad], vec![TrackId { pid: 1, tid: 1 }], NAMES.into_iter(), 1).is_err()
            );
        }
        let preview = preview(&data, &[line(0, 0, 0)], 1);
        for end in 0..data.len() {
            let _ = preview.boxes(&data[..end], (0, 100), 10, 10, 1);
        }
        let other = vec![0xff; data.len()];
        assert!(preview.boxes(&other, (0, 100), 10, 10, 1).is_err());
    }
}
