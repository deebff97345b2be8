//! A selective first pass: only the lines and events of a plane that pass a filter. The others cost a comparison of
//! their ids, and no memory.

use std::mem::take;

use crate::decode::xspace::{CHUNK_EVENTS, Chunk, LARGEST_NS, LineOutline, Place, count_stats, outline, scan_line};
use crate::error::Result;
use crate::system::trail::{Trail, WINDOW};
use crate::wire::tags::xplane::{XEvent, XLine, XStat};
use crate::wire::{NO_TEXT, Reader, Span};

/// Which lines, events and stats of one plane are decoded.
#[derive(Default)]
pub struct PlaneFilter {
    /// Position among the planes of the file.
    pub plane: usize,
    /// Names of the lines whose events are decoded; None: all lines.
    pub lines: Option<Vec<Vec<u8>>>,
    /// Which of their events; None: all.
    pub events: Option<EventFilter>,
    /// Which stats of the decoded events; None: all.
    pub stats: Option<StatFilter>,
}

/// Stats of events on some lines only, unless other lines show that all of them are needed.
pub struct StatFilter {
    /// Names of the lines whose events keep their stats.
    pub lines: Vec<Vec<u8>>,
    /// Names of lines: if one of the plane's has events, all events of the plane keep their stats.
    pub unless: Vec<Vec<u8>>,
}

impl StatFilter {
    /// Leaves the stats out of lines that do not keep them; whether there were any. `text` gives the bytes of a text value.
    pub fn apply<'a>(&self, lines: &mut [LineOutline], text: impl Fn(u64) -> &'a [u8]) -> bool {
        let named = |line: &LineOutline, names: &[Vec<u8>]| names.iter().any(|name| name == text(line.name));
        if lines.iter().any(|line| line.filled && named(line, &self.unless)) {
            return false;
        }
        let mut left_out = false;
        for line in lines.iter_mut().filter(|line| !named(line, &self.lines)) {
            for chunk in line.chunks.iter_mut().filter(|chunk| chunk.stats > 0) {
                (chunk.stats, chunk.bare, left_out) = (0, true, true);
            }
        }
        left_out
    }
}

/// Events with one of the metadata ids, and events with a stat of one of the stat metadata ids.
pub struct EventFilter {
    ids: Ids,
    /// None: stats are not compared.
    stats: Option<Ids>,
}

impl EventFilter {
    pub fn new(ids: &[i64], stats: &[i64]) -> Self {
        EventFilter { ids: Ids::new(ids), stats: (!stats.is_empty()).then(|| Ids::new(stats)) }
    }
}

/// A set of ids: flags for small ones, a sorted list for the rest.
struct Ids {
    small: Vec<bool>,
    large: Vec<i64>,
}

impl Ids {
    fn new(ids: &[i64]) -> Self {
        const FLAGS: i64 = 1 << 16;
        let (mut small, mut large) = (Vec::new(), Vec::new());
        for &id in ids {
            if (0..FLAGS).contains(&id) {
                small.resize(small.len().max(id as usize + 1), false);
                small[id as usize] = true;
            } else {
                large.push(id);
            }
        }
        large.sort_unstable();
        Ids { small, large }
    }

    #[inline(always)]
    fn has(&self, id: i64) -> bool {
        match self.small.get(id as usize) {
            Some(&has) => has,
            None => !self.large.is_empty() && self.large.binary_search(&id).is_ok(),
        }
    }
}

impl PlaneFilter {
    /// As `xspace::scan_line`, for the matching events alone; a line that does not match has none, and what stands
    /// behind its first event is not read.
    ///
    /// `text` gives the bytes of a text value.
    pub fn scan_line<'a>(&self, line: Reader, text: impl Fn(u64) -> &'a [u8]) -> Result<LineOutline> {
        if self.lines.is_none() && self.events.is_none() { scan_line(line) } else { self.scan_some(line, text) }
    }

    fn scan_some<'a>(&self, mut line: Reader, text: impl Fn(u64) -> &'a [u8]) -> Result<LineOutline> {
        let mut found = LineOutline::default();
        let mut chunk: Vec<Span> = Vec::new();
        let mut stats = 0;
        let mut first = true;
        let mut trail = Trail::new(line.whole(), line.position());
        loop {
            if let (false, Some(filter)) = (first, &self.events) {
                let rest = line.rest();
                line.advance(filter.skip_unmatched(&rest[..rest.len().min(WINDOW)]));
            }
            trail.reach(line.position());
            let Some(tag) = line.tag()? else { break };
            if tag != XLine::EVENTS {
                found.read_field(&mut line, tag)?;
                continue;
            }
            let body = line.span()?;
            found.filled = true;
            // All writers put the name before the events; where there is none yet, the end of the line decides.
            if take(&mut first) && found.name != NO_TEXT && !self.has_line(text(found.name)) {
                break;
            }
            let event = line.within(body, "XEvent");
            let picked = match &self.events {
                Some(filter) => filter.pick(event, &mut found.aggregated)?,
                None => Some(count_stats(event, &mut found.aggregated)?),
            };
            let Some(count) = picked else { continue };
            stats += count;
            chunk.push(body);
            if chunk.len() == CHUNK_EVENTS {
                found.chunks.push(Chunk {
                    events: CHUNK_EVENTS,
                    stats,
                    bare: false,
                    place: Place::Events(take(&mut chunk)),
                });
                stats = 0;
            }
        }
        trail.end(line.position());
        if !chunk.is_empty() {
            found.chunks.push(Chunk { events: chunk.len(), stats, bare: false, place: Place::Events(chunk) });
        }
        if !self.has_line(text(found.name)) {
            found.chunks.clear();
            found.aggregated = false;
        }
        Ok(found)
    }

    fn has_line(&self, name: &[u8]) -> bool {
        self.lines.as_ref().is_none_or(|names| names.iter().any(|known| known == name))
    }
}

impl EventFilter {
    /// Bytes at the begin taken by events that do not match, as long as these have the form that all writers use:
    /// short, with small ids, fields in order. Events of other forms are left to `pick`.
    fn skip_unmatched(&self, rest: &[u8]) -> usize {
        let mut at = 0;
        while let Some((next, id, after)) = usual(rest, at, XEvent::METADATA_ID as u8) {
            if self.ids.has(id) {
                break;
            }
            if let Some(stats) = &self.stats {
                let after = skip_usual_varint(rest, after, XEvent::OFFSET_PS as u8);
                let mut stat = skip_usual_varint(rest, after, XEvent::DURATION_PS as u8);
                while stat < next {
                    match usual(rest, stat, XStat::METADATA_ID as u8) {
                        Some((end, id, _)) if end <= next && !stats.has(id) => stat = end,
                        _ => return at,
                    }
                }
                if stat > next {
                    return at;
                }
            }
            at = next;
        }
        at
    }

    /// How many stats an event has, if it matches; then sets `aggregated` when it has a number of occurrences.
    #[inline(always)]
    fn pick(&self, mut event: Reader, aggregated: &mut bool) -> Result<Option<usize>> {
        let (mut id, mut by_stat, mut count, mut occurs) = (0, false, 0, false);
        let mut tag = event.tag_or_zero()?;
        // Every order is read; this one, which all writers use, without a wrongly predicted jump.
        while tag != 0 {
            if tag == XEvent::METADATA_ID {
                id = event.int64()?;
                if self.stats.is_none() && !self.ids.has(id) {
                    return Ok(None);
                }
                tag = event.tag_or_zero()?;
            }
            for expected in [XEvent::OFFSET_PS, XEvent::DURATION_PS] {
                if tag == expected {
                    event.skip_varint()?;
                    tag = event.tag_or_zero()?;
                }
            }
            while tag == XEvent::STATS {
                let stat = event.message("XStat")?;
                count += 1;
                if let Some(stats) = &self.stats {
                    by_stat |= stats.has(stat_id(stat)?);
                }
                tag = event.tag_or_zero()?;
            }
            if !matches!(tag, 0 | XEvent::METADATA_ID | XEvent::OFFSET_PS | XEvent::DURATION_PS) {
                occurs |= tag == XEvent::NUM_OCCURRENCES;
                event.skip(tag)?;
                tag = event.tag_or_zero()?;
            }
        }
        let picked = by_stat || self.ids.has(id);
        *aggregated |= picked && occurs;
        Ok(picked.then_some(count))
    }
}

/// An event of a line or a stat of an event (their tags are equal) at `at` that begins with an id of at most two bytes:
/// where it ends, the id, and where the next field inside begins. None for any other form.
#[inline(always)]
fn usual(rest: &[u8], at: usize, id_tag: u8) -> Option<(usize, i64, usize)> {
    const { assert!(XLine::EVENTS == XEvent::STATS) };
    let head = rest.get(at..)?.first_chunk::<5>()?;
    let [tag, length, inner, low, high] = *head;
    let two = low >> 7;
    if u32::from(tag) != XLine::EVENTS || (length | high & two.wrapping_neg()) >= 0x80 || inner != id_tag {
        return None;
    }
    let id = i64::from(low & 0x7f) | i64::from(high & two.wrapping_neg()) << 7;
    let after = at + 4 + usize::from(two);
    let next = at + 2 + usize::from(length);
    (after <= next && next <= rest.len()).then_some((next, id, after))
}

/// Behind the varint field with this tag; `at` when there is another field, or when the varint is a long one.
#[inline(always)]
fn skip_usual_varint(rest: &[u8], at: usize, tag: u8) -> usize {
    let Some(&[found, ref varint @ ..]) = rest.get(at..).and_then(|rest| rest.first_chunk::<9>()) else { return at };
    let stops = !u64::from_le_bytes(*varint) & 0x8080_8080_8080_8080;
    if found != tag || stops == 0 { at } else { at + 2 + stops.trailing_zeros() as usize / 8 }
}

#[inline(always)]
fn stat_id(mut stat: Reader) -> Result<i64> {
    let mut id = 0;
    let mut tag = stat.tag_or_zero()?;
    while tag != 0 {
        if tag == XStat::METADATA_ID {
            id = stat.int64()?;
        } else {
            stat.skip(tag)?;
        }
        tag = stat.tag_or_zero()?;
    }
    Ok(id)
}

/// Whether some line's timestamp is so large that all lines of the profile must be known to place its events.
pub fn has_far_line(data: &[u8]) -> Result<bool> {
    let whole = Reader::new(data, 0, "XSpace");
    for span in outline(data, 0)?.planes.into_iter().flat_map(|plane| plane.lines) {
        let mut line = whole.within(span, "XLine");
        while let Some(tag) = line.tag()? {
            match tag {
                XLine::TIMESTAMP_NS if line.int64()?.unsigned_abs() > LARGEST_NS => return Ok(true),
                XLine::TIMESTAMP_NS => {}
                XLine::EVENTS => break, // all writers put the line's own numbers before them
                _ => line.skip(tag)?,
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event of metadata 7 at 300 ps, lasting 5, with stats 1 and 200.
    const EVENT: [u8; 18] = [0x22, 16, 8, 7, 0x10, 0xac, 2, 0x18, 5, 0x22, 2, 8, 1, 0x22, 3, 8, 0xc8, 1];

    fn skipped(ids: &[i64], stats: &[i64], bytes: &[u8]) -> usize {
        EventFilter::new(ids, stats).skip_unmatched(bytes)
    }

    #[test]
    fn events_of_the_usual_form_are_skipped_unless_they_match() {
        let two = [EVENT, EVENT].concat();
        assert_eq!(skipped(&[8], &[], &two), 36);
        assert_eq!(skipped(&[8], &[2, 199], &two), 36);
        for (ids, stats) in [(&[7][..], &[][..]), (&[], &[1]), (&[], &[200]), (&[7], &[9])] {
            assert_eq!(skipped(ids, stats, &two), 0);
        }
        let other_id = [&EVENT[..], &[0x22, 3, 8, 0x88, 1], &[0; 8]].concat();
        assert_eq!(skipped(&[136], &[], &other_id), 18);
    }

    #[test]
    fn sets_of_small_large_and_negative_ids() {
        let ids = Ids::new(&[3, 70_000, -5, i64::MAX, 0]);
        for id in [3, 70_000, -5, i64::MAX, 0] {
            assert!(ids.has(id), "{id}");
        }
        for id in [1, 4, 69_999, -1, i64::MIN] {
            assert!(!ids.has(id) && !Ids::new(&[]).has(id), "{id}");
        }
    }

    #[test]
    fn other_forms_are_left_to_the_careful_reader() {
        for cut in 0..EVENT.len() {
            assert_eq!(skipped(&[], &[3], &EVENT[..cut]), 0, "cut at {cut}");
        }
        for at in 0..EVENT.len() {
            let mut changed = [EVENT, [0; 18]].concat();
            for value in 0..=255 {
                changed[at] = value;
                assert!(skipped(&[], &[3], &changed) <= changed.len());
            }
        }
        assert_eq!(skipped(&[], &[], &[0x22, 0x80, 1, 8, 7, 0, 0, 0]), 0);
        assert_eq!(skipped(&[], &[], &[0x22, 2, 0x10, 7, 0, 0, 0, 0]), 0);
        assert_eq!(skipped(&[], &[], &[0x22, 4, 8, 0x80, 0x80, 1, 0, 0]), 0);
        assert_eq!(skipped(&[], &[], &[0x22, 1, 8, 7, 0, 0, 0, 0]), 0, "the id lies behind the event's end");
    }
}
