//! First pass: where things are in an XSpace. Planes and lines in file order, and event boundaries at every
//! `CHUNK_EVENTS` events, so that the second pass can fill exact columns in parallel, one huge line included.

use crate::error::{Error, Problem, Result};
use crate::wire::tags::xplane::{XEvent, XLine, XPlane, XSpace};
use crate::wire::{NO_TEXT, Reader, Span};

/// Events per chunk: enough that starting a chunk costs nothing, few enough that cores end together.
pub const CHUNK_EVENTS: usize = 1 << 16;

/// Larger timestamps overflow 64 bits of picoseconds; events of their lines count from the origin.
pub const LARGEST_NS: u64 = i64::MAX as u64 / 1000;

/// Real profiles have tens of planes and at most thousands of lines. An empty one takes two bytes on the wire and
/// hundreds in memory, so a crafted file could fill the memory with them.
const MAX_PLANES: usize = 1 << 14;
const MAX_LINES: usize = 1 << 20;

/// The planes of a profile and its own strings (as text values).
#[derive(Debug, Default)]
pub struct Outline {
    pub planes: Vec<PlaneOutline>,
    pub errors: Vec<u64>,
    pub warnings: Vec<u64>,
    pub hostnames: Vec<u64>,
}

/// Lines of a file beyond these are left out: no machine has as many threads, and each costs every tool some time.
pub const MOST_LINES: usize = 65_536;

impl Outline {
    /// The outline without the lines beyond `MOST_LINES`.
    pub fn limited(mut self) -> Self {
        let mut room = MOST_LINES;
        for plane in &mut self.planes {
            plane.lines.truncate(room);
            room -= plane.lines.len();
        }
        self
    }
}

/// One plane; its lines are not read yet.
#[derive(Debug)]
pub struct PlaneOutline {
    /// Position among the planes of the file.
    pub index: usize,
    pub body: Span,
    pub id: i64,
    pub name: u64,
    pub lines: Vec<Span>,
}

/// One line: its own fields and how many events and stats its chunks hold. Texts are text values.
#[derive(Debug)]
pub struct LineOutline {
    pub id: i64,
    pub display_id: i64,
    pub name: u64,
    pub display_name: u64,
    pub timestamp_ns: i64,
    pub duration_ps: i64,
    /// Whether it has events, chosen ones or others.
    pub filled: bool,
    /// Whether some event carries `num_occurrences`.
    pub aggregated: bool,
    pub chunks: Vec<Chunk>,
}

/// Part of a line's events.
#[derive(Debug)]
pub struct Chunk {
    pub place: Place,
    pub events: usize,
    pub stats: usize,
    /// Whether the stats of its events are left out.
    pub bare: bool,
}

#[derive(Debug)]
pub enum Place {
    /// Part of the line's body; events that begin in it end in it.
    Body(Span),
    /// These events' own bodies.
    Events(Vec<Span>),
}

impl Default for LineOutline {
    fn default() -> Self {
        LineOutline {
            id: 0,
            display_id: 0,
            name: NO_TEXT,
            display_name: NO_TEXT,
            timestamp_ns: 0,
            duration_ps: 0,
            filled: false,
            aggregated: false,
            chunks: Vec::new(),
        }
    }
}

impl LineOutline {
    /// Reads a field that is not an event; `line` is behind its tag.
    pub fn read_field(&mut self, line: &mut Reader, tag: u32) -> Result<()> {
        match tag {
            XLine::ID => self.id = line.int64()?,
            XLine::NAME => self.name = line.text()?,
            XLine::TIMESTAMP_NS => self.timestamp_ns = line.int64()?,
            XLine::DURATION_PS => self.duration_ps = line.int64()?,
            XLine::DISPLAY_ID => self.display_id = line.int64()?,
            XLine::DISPLAY_NAME => self.display_name = line.text()?,
            _ => line.skip(tag)?,
        }
        Ok(())
    }
}

/// Where the profile of another host begins behind that of the first, as files are put together; with the hosts of both.
/// None for the profile of one host, and if the bytes end or are damaged before another begins.
pub fn second_profile(data: &[u8]) -> Option<(u64, [Vec<u64>; 2])> {
    let mut space = Reader::new(data, 0, "XSpace");
    let mut hosts = [Vec::new(), Vec::new()];
    let mut cut = None;
    loop {
        let begin = space.offset();
        match space.tag() {
            Ok(Some(XSpace::HOSTNAMES)) => hosts[usize::from(cut.is_some())].push(space.text().ok()?),
            Ok(Some(tag)) => {
                // A writer puts the hosts behind the planes.
                if tag == XSpace::PLANES && !hosts[0].is_empty() && cut.is_none() {
                    cut = Some(begin);
                }
                if space.skip(tag).is_err() {
                    break;
                }
            }
            Ok(None) | Err(_) => break,
        }
    }
    Some((cut?, hosts))
}

/// Walks over the planes without looking into lines and metadata.
pub fn outline(data: &[u8], base: u64) -> Result<Outline> {
    let mut space = Reader::new(data, base, "XSpace");
    let mut found = Outline::default();
    let mut lines = 0;
    while let Some(tag) = space.tag()? {
        match tag {
            XSpace::PLANES => {
                let body = space.span()?;
                let index = found.planes.len();
                if index == MAX_PLANES {
                    return Err(Error::new(Problem::TooMany, "XSpace", space.offset()));
                }
                let reader = space.within(body, "XPlane");
                let plane = outline_plane(reader, index, body, MAX_LINES - lines);
                let plane = plane.map_err(|error| error.in_plane(index))?;
                lines += plane.lines.len();
                found.planes.push(plane);
            }
            XSpace::ERRORS => found.errors.push(space.text()?),
            XSpace::WARNINGS => found.warnings.push(space.text()?),
            XSpace::HOSTNAMES => found.hostnames.push(space.text()?),
            _ => space.skip(tag)?,
        }
    }
    Ok(found)
}

fn outline_plane(mut plane: Reader, index: usize, body: Span, most_lines: usize) -> Result<PlaneOutline> {
    let mut found = PlaneOutline { index, body, id: 0, name: NO_TEXT, lines: Vec::new() };
    while let Some(tag) = plane.tag()? {
        match tag {
            XPlane::ID => found.id = plane.int64()?,
            XPlane::NAME => found.name = plane.text()?,
            XPlane::LINES => {
                if found.lines.len() == most_lines {
                    return Err(Error::new(Problem::TooMany, "XPlane", plane.offset()));
                }
                found.lines.push(plane.span()?);
            }
            _ => plane.skip(tag)?,
        }
    }
    Ok(found)
}

/// Reads a line's fields, counts its events and stats, and cuts it into chunks.
pub fn scan_line(mut line: Reader) -> Result<LineOutline> {
    let mut found = LineOutline::default();
    let (mut start, mut events, mut stats) = (line.position(), 0, 0);
    while let Some(tag) = line.tag()? {
        if tag != XLine::EVENTS {
            found.read_field(&mut line, tag)?;
            continue;
        }
        let event = line.message("XEvent")?;
        stats += count_stats(event, &mut found.aggregated)?;
        events += 1;
        if events == CHUNK_EVENTS {
            let place = Place::Body(Span { start, end: line.position() });
            found.chunks.push(Chunk { place, events, stats, bare: false });
            (start, events, stats) = (line.position(), 0, 0);
        }
    }
    found.filled = events > 0 || !found.chunks.is_empty();
    if events > 0 {
        let place = Place::Body(Span { start, end: line.position() });
        found.chunks.push(Chunk { place, events, stats, bare: false });
    }
    Ok(found)
}

/// How many stats an event has; sets `aggregated` when it has a number of occurrences.
#[inline(always)]
pub fn count_stats(mut event: Reader, aggregated: &mut bool) -> Result<usize> {
    let mut stats = 0;
    let mut tag = event.tag_or_zero()?;
    // Every order is read; this one, which all writers use, without a wrongly predicted jump.
    while tag != 0 {
        for expected in [XEvent::METADATA_ID, XEvent::OFFSET_PS, XEvent::DURATION_PS] {
            if tag == expected {
                event.skip_varint()?;
                tag = event.tag_or_zero()?;
            }
        }
        while tag == XEvent::STATS {
            event.span()?;
            stats += 1;
            tag = event.tag_or_zero()?;
        }
        if !matches!(tag, 0 | XEvent::METADATA_ID | XEvent::OFFSET_PS | XEvent::DURATION_PS) {
            *aggregated |= tag == XEvent::NUM_OCCURRENCES;
            event.skip(tag)?;
            tag = event.tag_or_zero()?;
        }
    }
    Ok(stats)
}

/// The sum of `counts`, if a u32 column can index that many.
pub fn total(counts: impl Iterator<Item = usize>, what: &'static str, offset: u64) -> Result<usize> {
    let sum = counts.fold(0usize, usize::saturating_add);
    match u32::try_from(sum) {
        Ok(_) => Ok(sum),
        Err(_) => Err(Error::new(Problem::TooMany, what, offset)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span_of(chunk: &Chunk) -> Span {
        match chunk.place {
            Place::Body(span) => span,
            Place::Events(_) => panic!("no filter, so no list of events"),
        }
    }

    #[test]
    fn a_line_is_cut_into_chunks_that_cover_it() {
        let mut body = Vec::new();
        for _ in 0..2 * CHUNK_EVENTS + 3 {
            body.extend([0x22, 4, 0x08, 1, 0x22, 0]);
        }
        body.extend([0x18, 9]);
        let line = scan_line(Reader::new(&body, 0, "XLine")).unwrap();
        assert_eq!(line.timestamp_ns, 9);
        let counts: Vec<_> = line.chunks.iter().map(|chunk| (chunk.events, chunk.stats)).collect();
        assert_eq!(counts, [(CHUNK_EVENTS, CHUNK_EVENTS), (CHUNK_EVENTS, CHUNK_EVENTS), (3, 3)]);
        let spans: Vec<_> = line.chunks.iter().map(span_of).collect();
        assert_eq!((spans[0].start, spans[2].end), (0, body.len()));
        assert_eq!(spans[0].end, spans[1].start);
    }

    #[test]
    fn totals_are_bounded() {
        assert_eq!(total([3, 4].into_iter(), "x", 0).unwrap(), 7);
        assert_eq!(total([usize::MAX, 4].into_iter(), "x", 5).unwrap_err().problem, Problem::TooMany);
    }

    #[test]
    fn errors_name_the_plane() {
        let error = outline(&[0x0a, 0, 0x0a, 2, 0x12, 9], 100).unwrap_err();
        assert_eq!(error.to_string(), "length past the end of XPlane in plane 1 at byte 105");
    }
}
