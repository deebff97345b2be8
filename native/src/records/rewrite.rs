//! Events, stats and metadata with changed ids and offsets, for merging a record into another.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::error::Result;
use crate::wire::Reader;
use crate::wire::tags::xplane::{XEvent, XEventMetadata, XStat};
use crate::wire::write::{message, number};

/// Changed ids; all others stay.
#[derive(Debug, Default)]
pub struct Changes(HashMap<i64, i64>);

impl Changes {
    pub fn set(&mut self, old: i64, new: i64) {
        if old != new {
            self.0.insert(old, new);
        }
    }

    fn of(&self, id: i64) -> i64 {
        self.0.get(&id).copied().unwrap_or(id)
    }
}

/// How the ids of one record change in one plane.
#[derive(Debug, Default)]
pub struct Maps {
    pub events: Changes,
    pub stats: Changes,
}

/// Gives out ids: the wanted one if it is free, else one that no record uses.
pub struct Ids {
    reserved: HashSet<i64>,
    taken: HashSet<i64>,
    next: i64,
}

impl Ids {
    /// `reserved` are the ids of all records.
    pub fn new(reserved: impl Iterator<Item = i64>) -> Self {
        let reserved: HashSet<i64> = reserved.collect();
        let next = reserved.iter().max().map_or(1, |largest| largest.wrapping_add(1));
        Ids { reserved, taken: HashSet::new(), next }
    }

    pub fn take(&mut self, wanted: i64) -> i64 {
        let mut id = wanted;
        while !self.taken.insert(id) {
            while self.reserved.contains(&self.next) {
                self.next = self.next.wrapping_add(1);
            }
            id = self.next;
            self.next = self.next.wrapping_add(1);
        }
        id
    }
}

/// An event whose line begins `delta_ps` later than the line that it moves to.
pub fn event<'a>(body: &'a [u8], maps: &Maps, delta_ps: i64) -> Result<Cow<'a, [u8]>> {
    if maps.events.0.is_empty() && maps.stats.0.is_empty() && delta_ps == 0 {
        return Ok(Cow::Borrowed(body));
    }
    let mut out = Vec::with_capacity(body.len() + 10);
    let mut reader = Reader::new(body, 0, "XEvent");
    let (mut offset_ps, mut counted) = (0, false);
    loop {
        let begin = reader.position();
        let Some(tag) = reader.tag()? else { break };
        match tag {
            XEvent::METADATA_ID => number(&mut out, tag, maps.events.of(reader.int64()?)),
            XEvent::OFFSET_PS => offset_ps = reader.int64()?,
            XEvent::STATS => {
                let span = reader.span()?;
                message(&mut out, tag, &stat(&body[span.start..span.end], maps)?.1);
            }
            _ => {
                counted |= tag == XEvent::NUM_OCCURRENCES;
                reader.skip(tag)?;
                out.extend_from_slice(&body[begin..reader.position()]);
            }
        }
    }
    if !counted {
        number(&mut out, XEvent::OFFSET_PS, offset_ps.saturating_add(delta_ps));
    }
    Ok(Cow::Owned(out))
}

/// A stat of the plane, and its new id.
pub fn plane_stat<'a>(body: &'a [u8], maps: &Maps) -> Result<(i64, Cow<'a, [u8]>)> {
    stat(body, maps)
}

fn stat<'a>(body: &'a [u8], maps: &Maps) -> Result<(i64, Cow<'a, [u8]>)> {
    let mut out = Vec::with_capacity(body.len() + 10);
    let mut reader = Reader::new(body, 0, "XStat");
    let mut id = 0;
    loop {
        let begin = reader.position();
        let Some(tag) = reader.tag()? else { break };
        match tag {
            XStat::METADATA_ID => {
                id = maps.stats.of(reader.int64()?);
                number(&mut out, tag, id);
            }
            // A text that is written once, as the name of a stat.
            XStat::REF_VALUE => number(&mut out, tag, maps.stats.of(reader.int64()?)),
            _ => {
                reader.skip(tag)?;
                out.extend_from_slice(&body[begin..reader.position()]);
            }
        }
    }
    Ok((id, if maps.stats.0.is_empty() { Cow::Borrowed(body) } else { Cow::Owned(out) }))
}

/// The metadata of an event: its stats and children.
pub fn event_metadata<'a>(body: &'a [u8], maps: &Maps) -> Result<Cow<'a, [u8]>> {
    if maps.events.0.is_empty() && maps.stats.0.is_empty() {
        return Ok(Cow::Borrowed(body));
    }
    let mut out = Vec::with_capacity(body.len() + 10);
    let mut reader = Reader::new(body, 0, "XEventMetadata");
    loop {
        let begin = reader.position();
        let Some(tag) = reader.tag()? else { return Ok(Cow::Owned(out)) };
        match tag {
            XEventMetadata::STATS => {
                let span = reader.span()?;
                message(&mut out, tag, &stat(&body[span.start..span.end], maps)?.1);
            }
            XEventMetadata::CHILD_ID | XEventMetadata::CHILD_ID_PACKED => {
                let mut children = Vec::new();
                reader.int64s(tag, &mut children)?;
                for child in children {
                    number(&mut out, XEventMetadata::CHILD_ID, maps.events.of(child));
                }
            }
            _ => {
                reader.skip(tag)?;
                out.extend_from_slice(&body[begin..reader.position()]);
            }
        }
    }
}
