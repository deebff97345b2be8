//! Second pass over one chunk: its events into its part of the columns.

use crate::decode::ids::{IdTable, NO_ROW};
use crate::decode::stats::{self, Missing};
use crate::decode::xspace::Place;
use crate::error::{Error, Problem, Result};
use crate::system::trail::Trail;
use crate::wire::Reader;
use crate::wire::tags::xplane::{XEvent, XLine};

/// One chunk of events and the parts of the plane's columns that are its own.
pub struct Job<'a> {
    pub plane: usize,
    pub line: usize,
    pub place: &'a Place,
    /// Whether the stats of the events are left out.
    pub bare: bool,
    pub begin_ps: i64,
    pub event_ids: &'a IdTable,
    pub stat_ids: &'a IdTable,
    /// Where the chunk's events and stats begin in the plane's columns.
    pub first_event: usize,
    pub first_stat: usize,
    pub metadata: &'a mut [u32],
    pub begin: &'a mut [i64],
    pub duration: &'a mut [i64],
    pub occurrences: &'a mut [i64],
    pub stat_start: &'a mut [u32],
    pub key: &'a mut [u32],
    pub kind: &'a mut [u8],
    pub value: &'a mut [u64],
}

/// Ids of a chunk that have no metadata, at places of the plane's columns.
#[derive(Default)]
pub struct ChunkMissing {
    pub events: Vec<(usize, i64)>,
    pub stats: Missing,
}

/// Decodes the events of a chunk; the ids without metadata.
pub fn decode_chunk(whole: Reader, job: Job) -> Result<ChunkMissing> {
    if job.bare { decode_all::<false>(whole, job) } else { decode_all::<true>(whole, job) }
}

/// Decodes the events, and their stats if `STATS`.
fn decode_all<const STATS: bool>(whole: Reader, mut job: Job) -> Result<ChunkMissing> {
    let mut missing = ChunkMissing::default();
    let (mut event, mut stat) = (0, 0);
    let mut reader = whole;
    match job.place {
        Place::Body(span) => {
            reader = whole.within(*span, "XLine");
            let trail = Trail::new(whole.whole(), span.start);
            while let Some(tag) = reader.tag()? {
                if tag != XLine::EVENTS {
                    reader.skip(tag)?;
                    continue;
                }
                let fields = reader.message("XEvent")?;
                decode_event::<STATS>(fields, &mut job, event, &mut stat, &mut missing)?;
                event += 1;
            }
            trail.end(span.end);
        }
        Place::Events(spans) => {
            let (first, last) = (spans.first().map_or(0, |span| span.start), spans.last().map_or(0, |span| span.end));
            let mut trail = Trail::new(whole.whole(), first);
            for &span in spans {
                trail.reach(span.start);
                decode_event::<STATS>(whole.within(span, "XEvent"), &mut job, event, &mut stat, &mut missing)?;
                event += 1;
            }
            trail.end(last);
        }
    }
    if event == job.metadata.len() && stat == job.key.len() { Ok(missing) } else { Err(changed(reader)) }
}

/// The second pass found other counts than the first: the mapped file is being written.
#[cold]
fn changed(reader: Reader) -> Error {
    Error::new(Problem::Changed, "XLine", reader.offset())
}

#[inline(always)]
fn decode_event<const STATS: bool>(
    mut fields: Reader,
    job: &mut Job,
    event: usize,
    stat: &mut usize,
    missing: &mut ChunkMissing,
) -> Result<()> {
    if event == job.metadata.len() {
        return Err(changed(fields));
    }
    let (mut id, mut offset_ps, mut duration_ps, mut occurrences) = (0, 0, 0, 0);
    job.stat_start[event] = (job.first_stat + *stat) as u32;
    let mut tag = fields.tag_or_zero()?;
    // Every order is read; this one, which all writers use, without a wrongly predicted jump.
    while tag != 0 {
        if tag == XEvent::METADATA_ID {
            id = fields.int64()?;
            tag = fields.tag_or_zero()?;
        }
        // Offset and occurrences are one oneof: the last of them wins.
        if tag == XEvent::OFFSET_PS {
            (offset_ps, occurrences) = (fields.int64()?, 0);
            tag = fields.tag_or_zero()?;
        }
        if tag == XEvent::DURATION_PS {
            duration_ps = fields.int64()?;
            tag = fields.tag_or_zero()?;
        }
        while !STATS && tag == XEvent::STATS {
            fields.span()?;
            tag = fields.tag_or_zero()?;
        }
        while tag == XEvent::STATS {
            let at = *stat;
            if at == job.key.len() {
                return Err(changed(fields));
            }
            let found = stats::read(fields.message("XStat")?, job.stat_ids, job.first_stat + at, &mut missing.stats)?;
            (job.key[at], job.kind[at], job.value[at]) = (found.key, found.kind, found.value);
            *stat += 1;
            tag = fields.tag_or_zero()?;
        }
        if tag == XEvent::NUM_OCCURRENCES {
            (offset_ps, occurrences) = (0, fields.int64()?);
            tag = fields.tag_or_zero()?;
        } else if !matches!(tag, 0 | XEvent::METADATA_ID | XEvent::OFFSET_PS | XEvent::DURATION_PS) {
            fields.skip(tag)?;
            tag = fields.tag_or_zero()?;
        }
    }
    let row = job.event_ids.row(id);
    if row == NO_ROW {
        missing.events.push((job.first_event + event, id));
    }
    job.metadata[event] = row;
    job.begin[event] = job.begin_ps.wrapping_add(offset_ps);
    job.duration[event] = duration_ps;
    if let Some(slot) = job.occurrences.get_mut(event) {
        *slot = occurrences;
    }
    Ok(())
}
