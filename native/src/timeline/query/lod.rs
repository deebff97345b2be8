//! Level of detail: the boxes that a canvas of a given width needs for a window.
//!
//! A row is walked from box to box: a binary search that starts where the last one ended finds the next event that
//! begins in another pixel column, so a row costs O(pixels log events) however many events lie behind it.

use crate::system::parallel;
use crate::timeline::model::trace::Trace;

/// Blocks of at most this many events are added up event by event; larger ones are looked at in `INSTANTS`.
const FEW: usize = 32;
const INSTANTS: usize = FEW - 1;
/// Names of this many boxes are a job for a thread.
const JOB: usize = 1 << 12;

/// Boxes by (track, row, begin).
#[derive(Default)]
pub struct Boxes {
    pub track_start: Vec<u32>,
    pub row: Vec<u16>,
    pub begin: Vec<f64>,
    pub duration: Vec<f64>,
    /// Name; of merged events the name that fills most of their time.
    pub name: Vec<u32>,
    pub count: Vec<u32>,
    /// Number of the first event within its track.
    pub event: Vec<u32>,
    pub merged: u64,
    /// Columns used.
    pub columns: u32,
}

/// Boxes of all tracks; columns are halved until at most `limit` boxes are needed.
pub fn boxes(trace: &Trace, begin: i64, end: i64, columns: u32, limit: usize, threads: usize) -> Boxes {
    let mut columns = columns.max(1);
    loop {
        if let Some(found) = Blocks::cut(trace, begin, end, columns, limit) {
            return found.boxes(trace, threads);
        }
        columns = (columns / 2).max(1);
    }
}

/// Which events make a box, by (track, row, begin). Facts of a box, its name above all, take longer to find than its
/// events: they are looked up once the columns are known.
struct Blocks {
    columns: u32,
    track_start: Vec<u32>,
    row: Vec<u16>,
    events: Vec<(u32, u32)>,
}

impl Blocks {
    /// None if there are more than `limit`.
    fn cut(trace: &Trace, begin: i64, end: i64, columns: u32, limit: usize) -> Option<Blocks> {
        let mut out = Blocks { columns, track_start: vec![0], row: Vec::new(), events: Vec::new() };
        // With one column per row there is nothing left to coarsen.
        let limit = if columns == 1 { usize::MAX } else { limit };
        let pixel = Pixel::new(begin, end, columns);
        for rows in trace.track_rows.windows(2) {
            for (depth, row) in trace.rows[rows[0] as usize..rows[1] as usize].iter().enumerate() {
                let row = Span { trace, first: row.first as usize, last: row.last as usize };
                row.cut(begin, end, &pixel, &mut out.events);
                if out.events.len() > limit {
                    return None;
                }
                out.row.resize(out.events.len(), depth as u16);
            }
            out.track_start.push(out.events.len() as u32);
        }
        Some(out)
    }

    fn boxes(self, trace: &Trace, threads: usize) -> Boxes {
        let count = |&(from, to): &(u32, u32)| to - from;
        let track = self.track_start.windows(2).zip(&trace.track_events);
        let event = track.flat_map(|(boxes, base)| {
            self.events[boxes[0] as usize..boxes[1] as usize].iter().map(move |(from, _)| from - base)
        });
        let duration =
            |&(from, to): &(u32, u32)| trace.end(to as usize - 1).saturating_sub(trace.begin[from as usize]) as f64;
        let names = parallel::run(threads, self.events.chunks(JOB).collect(), |part: &[(u32, u32)]| {
            Ok(part.iter().map(|&(from, to)| name(trace, from as usize, to as usize)).collect::<Vec<u32>>())
        });
        Boxes {
            event: event.collect(),
            begin: self.events.iter().map(|&(from, _)| trace.begin[from as usize] as f64).collect(),
            duration: self.events.iter().map(duration).collect(),
            name: names.unwrap_or_default().concat(),
            count: self.events.iter().map(count).collect(),
            merged: self.events.iter().map(count).filter(|&count| count > 1).map(u64::from).sum(),
            columns: self.columns,
            track_start: self.track_start,
            row: self.row,
        }
    }
}

/// The pixel grid of a window.
pub struct Pixel {
    origin: i64,
    pub width: f64,
}

impl Pixel {
    pub fn new(begin: i64, end: i64, columns: u32) -> Self {
        Pixel { origin: begin, width: (end.saturating_sub(begin).max(1) as f64 / f64::from(columns)).max(1.0) }
    }

    /// Where the column after the one that holds `time` begins; always later than `time`.
    pub fn next(&self, time: i64) -> i64 {
        let column = (time.saturating_sub(self.origin) as f64 / self.width).floor() + 1.0;
        let edge = self.origin.saturating_add((column * self.width).ceil() as i64);
        edge.max(time.saturating_add(1))
    }
}

/// One row.
struct Span<'a> {
    trace: &'a Trace,
    first: usize,
    last: usize,
}

impl Span<'_> {
    fn cut(&self, begin: i64, end: i64, pixel: &Pixel, out: &mut Vec<(u32, u32)>) {
        let trace = self.trace;
        let mut at = self.first + trace.begin[self.first..self.last].partition_point(|&b| b < begin);
        if at > self.first && trace.end(at - 1) >= begin {
            at -= 1;
        }
        while at < self.last && trace.begin[at] <= end {
            let mut next = at + 1;
            if (trace.duration(at) as f64) < pixel.width {
                let edge = pixel.next(trace.begin[at]).min(end.saturating_add(1));
                next = self.gallop(at + 1, edge);
                // Only the last event of a column can reach beyond a pixel's length; it is a box of its own.
                if next > at + 1 && trace.duration(next - 1) as f64 >= pixel.width {
                    next -= 1;
                }
            }
            out.push((at as u32, next as u32));
            at = next;
        }
    }

    /// First event from `from` on that begins at or after `bound`.
    fn gallop(&self, from: usize, bound: i64) -> usize {
        let rest = &self.trace.begin[from..self.last];
        let mut high = 1;
        while high <= rest.len() && rest[high - 1] < bound {
            high *= 2;
        }
        let low = high / 2;
        let high = high.min(rest.len());
        from + low + rest[low..high].partition_point(|&b| b < bound)
    }
}

/// The name of a box: of several events that which fills most of it, of equal ones the first.
fn name(trace: &Trace, from: usize, to: usize) -> u32 {
    if to - from == 1 {
        return trace.name[from];
    }
    let mut shares = Shares::default();
    if to - from <= FEW {
        for event in from..to {
            shares.add(trace.name[event], trace.duration(event).max(0));
        }
        return shares.largest();
    }
    shares.add(trace.name[from], 0);
    let begin = trace.begin[from];
    let span = trace.end(to - 1).saturating_sub(begin) as f64;
    let mut at = from;
    for i in 0..INSTANTS {
        // Unevenly spaced, because events repeat in regular patterns.
        let place = (i as f64 + (i as f64 * 0.618_034).fract()) / INSTANTS as f64;
        let instant = begin.saturating_add((span * place) as i64);
        at += trace.begin[at + 1..to].partition_point(|&b| b <= instant);
        if trace.end(at) > instant {
            shares.add(trace.name[at], 1);
        }
    }
    shares.largest()
}

/// Sums of up to `FEW` names, the first: so few that a list is faster than a map.
#[derive(Default)]
pub struct Shares {
    names: [u32; FEW],
    sums: [i64; FEW],
    length: usize,
}

impl Shares {
    pub fn add(&mut self, name: u32, share: i64) {
        let known = self.names[..self.length].iter().position(|&n| n == name);
        let at = known.unwrap_or(self.length);
        if known.is_none() {
            if at == FEW {
                return;
            }
            self.names[at] = name;
            self.sums[at] = 0;
            self.length += 1;
        }
        self.sums[at] = self.sums[at].saturating_add(share);
    }

    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// The name with the largest sum, the first among equals.
    pub fn largest(&self) -> u32 {
        let mut best = 0;
        for at in 1..self.length {
            if self.sums[at] > self.sums[best] {
                best = at;
            }
        }
        self.names[best]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::model::build::tests::trace_of;

    fn list(out: &Boxes) -> Vec<(u16, i64, i64, u32, u32)> {
        (0..out.begin.len())
            .map(|i| (out.row[i], out.begin[i] as i64, out.duration[i] as i64, out.count[i], out.event[i]))
            .collect()
    }

    #[test]
    fn short_neighbours_of_a_column_merge_and_long_ones_stand_alone() {
        let trace = trace_of(&[(0, 0, 2, 0), (0, 3, 1, 1), (0, 5, 20, 2), (0, 31, 1, 3), (0, 45, 1, 4), (0, 46, 3, 5)]);
        let out = boxes(&trace, 0, 100, 10, 1000, 2);
        assert_eq!(list(&out), [(0, 0, 4, 2, 0), (0, 5, 20, 1, 2), (0, 31, 1, 1, 3), (0, 45, 4, 2, 4)]);
        assert_eq!((out.name.as_slice(), out.merged), ([0, 2, 3, 5].as_slice(), 4));
    }

    #[test]
    fn the_window_takes_what_reaches_into_it() {
        let trace = trace_of(&[(0, 0, 10, 0), (0, 20, 10, 1), (0, 40, 10, 2), (1, 0, 100, 3)]);
        let out = boxes(&trace, 25, 40, 1000, 1000, 2);
        assert_eq!(list(&out), [(0, 20, 10, 1, 1), (0, 40, 10, 1, 2), (0, 0, 100, 1, 0)]);
        assert_eq!(out.track_start, [0, 2, 3]);
    }

    #[test]
    fn rows_are_nested_and_instants_stay_instants() {
        let trace = trace_of(&[(0, 0, 100, 0), (0, 10, 0, 1), (0, 50, 10, 2)]);
        let out = boxes(&trace, 0, 100, 100, 1000, 2);
        assert_eq!(list(&out), [(0, 0, 100, 1, 0), (1, 10, 0, 1, 1), (1, 50, 10, 1, 2)]);
    }

    #[test]
    fn too_many_boxes_coarsen_the_window() {
        let events: Vec<_> = (0..1000).map(|i| (0, i * 10, 1, 0)).collect();
        let trace = trace_of(&events);
        let out = boxes(&trace, 0, 10_000, 1000, 200, 2);
        assert!(out.columns < 1000 && out.begin.len() <= 200);
        assert_eq!(out.count.iter().sum::<u32>(), 1000);
    }

    #[test]
    fn a_block_has_the_name_that_fills_most_of_it() {
        let name_of = |events: &[(usize, i64, i64, u32)]| boxes(&trace_of(events), 0, 100_000, 1, 1000, 2).name;
        assert_eq!(name_of(&[(0, 0, 4, 1), (0, 5, 3, 2), (0, 9, 3, 2)]), [2]);
        assert_eq!(name_of(&[(0, 0, 0, 3), (0, 5, 0, 2)]), [3]);
        // Of many events the one long one counts, not the many short ones.
        let mut many: Vec<_> = (0..500).map(|i| (0, i * 10, 1, 1)).collect();
        many[250] = (0, 2500, 5, 1);
        many.push((0, 5000, 9000, 7));
        assert_eq!(name_of(&many), [7]);
        // Two names in turns, one of them three times as long.
        let turns: Vec<_> = (0..2000).map(|i| (0, i * 8, if i % 2 == 0 { 2 } else { 6 }, 4 + (i % 2) as u32)).collect();
        assert_eq!(name_of(&turns), [5]);
    }

    #[test]
    fn far_times_and_empty_windows_do_not_hang() {
        let trace = trace_of(&[(0, i64::MIN, 5, 0), (0, -3, i64::MAX, 1), (0, i64::MAX, 7, 2), (0, i64::MAX, 7, 3)]);
        for (b, e) in [(i64::MIN, i64::MAX), (0, 0), (5, -5), (i64::MAX, i64::MAX)] {
            assert!(boxes(&trace, b, e, 3, 10, 2).begin.len() <= 4);
        }
    }
}
