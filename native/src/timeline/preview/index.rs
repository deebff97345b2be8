//! Where the events of a track lie in the file, and the state of its rows at every few thousandth event, from which
//! reading can go on.

use std::cmp::Reverse;

use crate::decode::ids::{IdTable, NO_ROW};
use crate::decode::xspace::LineOutline;
use crate::error::Result;
use crate::system::trail::Trail;
use crate::timeline::model::rows::Ends;
use crate::timeline::preview::merge::Event;
use crate::wire::tags::xplane::{XEvent, XLine};
use crate::wire::{Reader, Span};

/// Events per chunk: reading one takes less than a millisecond.
const CHUNK: u32 = 1 << 14;

/// The names of a plane's events.
pub struct NameTable {
    /// Position of the plane in the file.
    pub plane: usize,
    names: IdTable,
}

impl NameTable {
    /// Name ids by metadata id; `trace::HIDDEN` hides events.
    pub fn new(plane: usize, ids: &[i64], names: &[u32]) -> Self {
        let mut table = IdTable::new(ids.len(), ids.iter().copied().max().unwrap_or(0));
        ids.iter().zip(names).for_each(|(&id, &name)| table.insert(id, name));
        NameTable { plane, names: table }
    }
}

/// A line of the file that is (a part of) a track.
#[derive(Clone, Copy)]
pub struct Line {
    pub table: usize,
    /// Position of the line in its plane.
    pub line: usize,
    pub track: usize,
}

/// Where the events of a track lie.
pub struct Track {
    source: Source,
    /// Number of events of each row.
    pub rows: Vec<u32>,
    /// First begin and last end.
    pub span: (i64, i64),
}

enum Source {
    /// Parts of one line whose events are in the order of the timeline.
    Chunks { table: usize, since: i64, chunks: Vec<Chunk> },
    /// Events in that order, of lines that are not: (begin, duration, name).
    Events(Vec<(i64, i64, u32)>),
}

/// Part of a line; times count from the line's own begin.
struct Chunk {
    place: Span,
    begin: i64,
    end: i64,
    rows: Rows,
}

/// The rows of a track while its events pass by.
#[derive(Clone, Default)]
struct Rows {
    ends: Ends,
    counts: Vec<u32>,
}

impl Rows {
    /// Row of the next event and its number within the row.
    #[inline]
    fn place(&mut self, begin: i64, duration: i64) -> (usize, u32) {
        let row = self.ends.place(begin, duration);
        if row >= self.counts.len() {
            self.counts.resize(row + 1, 0);
        }
        let number = self.counts[row];
        self.counts[row] = number.saturating_add(1);
        (row, number)
    }
}

impl Track {
    /// Bytes of the file that a window needs.
    pub fn bytes_in(&self, window: (i64, i64)) -> usize {
        match &self.source {
            Source::Chunks { since, chunks, .. } => {
                chunks.iter().filter(|chunk| chunk.overlaps(*since, window)).map(|chunk| chunk.place.len()).sum()
            }
            Source::Events(events) => events.len() * 10,
        }
    }

    pub fn bytes(&self) -> usize {
        let rows = 4 * self.rows.len();
        rows + match &self.source {
            Source::Chunks { chunks, .. } => {
                chunks.iter().map(|chunk| 128 + chunk.rows.counts.len() * 12).sum::<usize>()
            }
            Source::Events(events) => size_of_val(events.as_slice()),
        }
    }
}

impl Chunk {
    fn overlaps(&self, since: i64, (begin, end): (i64, i64)) -> bool {
        since.wrapping_add(self.begin) <= end && since.wrapping_add(self.end) >= begin
    }
}

/// Reads the lines of a track once.
pub fn index(data: &[u8], tables: &[NameTable], lines: &[(usize, Span)]) -> Result<Track> {
    if let &[(table, span)] = lines {
        if let Some(track) = chunked(data, &tables[table].names, table, span)? {
            return Ok(track);
        }
    }
    let mut events = Vec::new();
    for &(table, span) in lines {
        let first = events.len();
        let mut since = 0;
        each_event(data, &tables[table].names, span, Some(&mut since), |begin, duration, name, _| {
            events.push((begin, duration, name));
            true
        })?;
        events[first..].iter_mut().for_each(|event| event.0 = since.wrapping_add(event.0));
    }
    events.sort_by_key(|&(begin, duration, _)| (begin, Reverse(duration)));
    let mut rows = Rows::default();
    let mut span = (i64::MAX, i64::MIN);
    for &(begin, duration, _) in &events {
        rows.place(begin, duration);
        span = (span.0.min(begin), span.1.max(begin.saturating_add(duration.max(0))));
    }
    Ok(Track { source: Source::Events(events), rows: rows.counts, span })
}

/// A track of one line in the order of the timeline; None if its events are in another one.
fn chunked(data: &[u8], names: &IdTable, table: usize, span: Span) -> Result<Option<Track>> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut rows = Rows::default();
    let (mut since, mut count, mut ordered) = (0, 0, true);
    let mut last = (i64::MIN, Reverse(i64::MAX));
    each_event(data, names, span, Some(&mut since), |begin, duration, _, at| {
        ordered &= last <= (begin, Reverse(duration));
        last = (begin, Reverse(duration));
        if count == 0 {
            if let Some(before) = chunks.last_mut() {
                before.place.end = at;
            }
            let place = Span { start: if chunks.is_empty() { span.start } else { at }, end: span.end };
            chunks.push(Chunk { place, begin, end: i64::MIN, rows: rows.clone() });
        }
        count = (count + 1) % CHUNK;
        rows.place(begin, duration);
        if let Some(chunk) = chunks.last_mut() {
            chunk.end = chunk.end.max(begin.saturating_add(duration.max(0)));
        }
        ordered
    })?;
    if !ordered {
        return Ok(None);
    }
    let first = chunks.first().map_or(0, |chunk| chunk.begin);
    let end = chunks.iter().map(|chunk| chunk.end).max().unwrap_or(0);
    let span = (since.wrapping_add(first), since.wrapping_add(end));
    Ok(Some(Track { source: Source::Chunks { table, since, chunks }, rows: rows.counts, span }))
}

/// Calls `visit` for the events of a track that overlap a window (and some others before it are passed by).
pub fn events_of(
    data: &[u8],
    tables: &[NameTable],
    track: &Track,
    window: (i64, i64),
    mut visit: impl FnMut(Event),
) -> Result<()> {
    let first: Vec<u32> = track
        .rows
        .iter()
        .scan(0u32, |sum, &count| {
            let first = *sum;
            *sum = sum.saturating_add(count);
            Some(first)
        })
        .collect();
    let mut put = |rows: &mut Rows, begin: i64, duration: i64, name: u32, shift: i64| {
        let (row, number) = rows.place(begin, duration);
        let begin = shift.wrapping_add(begin);
        if begin <= window.1 && begin.saturating_add(duration.max(0)) >= window.0 {
            let number = first.get(row).map_or(0, |first| first.saturating_add(number));
            visit(Event { row: row as u16, begin, duration, name, count: 1, number });
        }
        begin <= window.1
    };
    match &track.source {
        Source::Chunks { table, since, chunks } => {
            for chunk in chunks.iter().filter(|chunk| chunk.overlaps(*since, window)) {
                let mut rows = chunk.rows.clone();
                each_event(data, &tables[*table].names, chunk.place, None, |begin, duration, name, _| {
                    put(&mut rows, begin, duration, name, *since)
                })?;
            }
        }
        Source::Events(events) => {
            let mut rows = Rows::default();
            for &(begin, duration, name) in events {
                if !put(&mut rows, begin, duration, name, 0) {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Calls `visit` with begin (from the line's own), duration, name and place in the file of every event that is shown,
/// until it returns false; sets `since` to the line's begin.
fn each_event(
    data: &[u8],
    names: &IdTable,
    span: Span,
    since: Option<&mut i64>,
    mut visit: impl FnMut(i64, i64, u32, usize) -> bool,
) -> Result<()> {
    let mut line = Reader::new(data, 0, "XSpace").within(span, "XLine");
    let mut fields = LineOutline::default();
    let mut trail = Trail::new(data, span.start);
    loop {
        let at = line.position();
        trail.reach(at);
        let Some(tag) = line.tag()? else { break };
        if tag != XLine::EVENTS {
            fields.read_field(&mut line, tag)?;
            continue;
        }
        let (id, offset, duration) = read(line.message("XEvent")?)?;
        let name = names.row(id);
        if name != NO_ROW && !visit(offset, duration, name, at) {
            break;
        }
    }
    trail.end(line.position());
    if let Some(since) = since {
        *since = fields.timestamp_ns.wrapping_mul(1000);
    }
    Ok(())
}

/// Metadata id, offset and duration of an event.
#[inline(always)]
fn read(mut event: Reader) -> Result<(i64, i64, i64)> {
    let (mut id, mut offset, mut duration) = (0, 0, 0);
    let mut tag = event.tag_or_zero()?;
    // Every order is read; this one, which all writers use, without a wrongly predicted jump.
    while tag != 0 {
        if tag == XEvent::METADATA_ID {
            id = event.int64()?;
            tag = event.tag_or_zero()?;
        }
        if tag == XEvent::OFFSET_PS {
            offset = event.int64()?;
            tag = event.tag_or_zero()?;
        }
        if tag == XEvent::DURATION_PS {
            duration = event.int64()?;
            tag = event.tag_or_zero()?;
        }
        while tag == XEvent::STATS {
            event.span()?;
            tag = event.tag_or_zero()?;
        }
        if !matches!(tag, 0 | XEvent::METADATA_ID | XEvent::OFFSET_PS | XEvent::DURATION_PS) {
            // Offset and occurrences are one oneof: the last of them wins.
            if tag == XEvent::NUM_OCCURRENCES {
                offset = 0;
            }
            event.skip(tag)?;
            tag = event.tag_or_zero()?;
        }
    }
    Ok((id, offset, duration))
}
