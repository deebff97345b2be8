//! The records of a file as one XSpace: planes of one name become one plane, its lines of one id one line.
//!
//! Every record numbers its events and stats itself. Where numbers clash, those of the later record are changed
//! (`rewrite`); where a line begins at another time, its offsets are.

use std::collections::HashMap;

use super::rewrite::{Changes, Ids, Maps, event, event_metadata, plane_stat};
use crate::decode::xspace;
use crate::error::Result;
use crate::wire::tags::xplane::{XEventMetadata, XLine, XPlane, XSpace, XStatMetadata};
use crate::wire::write::{message, number};
use crate::wire::{Reader, Span};

/// Lines more than 100 days apart belong to different captures and stay apart: their offsets would not fit.
const MOST_APART_NS: i64 = 100 * 86_400 * 1_000_000_000;

/// Whether a record is an XSpace as far as its planes, metadata and lines; events are not read.
pub fn check(record: &[u8]) -> Result<()> {
    for plane in xspace::outline(record, 0)?.planes {
        let part = Part::read(&record[plane.body.start..plane.body.end])?;
        for line in &part.lines {
            Line::read(line)?;
        }
    }
    Ok(())
}

/// One XSpace of records that `check` accepts; a plane that does not decode after all is copied as it is.
pub fn merge(records: &[&[u8]]) -> Vec<u8> {
    let mut planes: Vec<Vec<&[u8]>> = Vec::new();
    let mut by_name: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut out = Vec::new();
    let mut strings: HashMap<(u32, &[u8]), ()> = HashMap::new();
    for record in records {
        let mut space = Reader::new(record, 0, "XSpace");
        while let Ok(Some(tag)) = space.tag() {
            match tag {
                XSpace::PLANES => {
                    let Ok(span) = space.span() else { break };
                    let body = &record[span.start..span.end];
                    let number = *by_name.entry(name_of(body)).or_insert(planes.len());
                    if number == planes.len() {
                        planes.push(Vec::new());
                    }
                    planes[number].push(body);
                }
                XSpace::ERRORS | XSpace::WARNINGS | XSpace::HOSTNAMES => {
                    let Ok(span) = space.span() else { break };
                    let text = &record[span.start..span.end];
                    if strings.insert((tag, text), ()).is_none() {
                        message(&mut out, tag, text);
                    }
                }
                _ if space.skip(tag).is_err() => break,
                _ => {}
            }
        }
    }
    for parts in planes {
        match parts.as_slice() {
            [only] => message(&mut out, XSpace::PLANES, only),
            several => match merge_plane(several) {
                Ok(body) => message(&mut out, XSpace::PLANES, &body),
                Err(_) => several.iter().for_each(|body| message(&mut out, XSpace::PLANES, body)),
            },
        }
    }
    out
}

fn name_of(plane: &[u8]) -> Vec<u8> {
    let mut reader = Reader::new(plane, 0, "XPlane");
    let mut name = Vec::new();
    while let Ok(Some(tag)) = reader.tag() {
        match tag {
            XPlane::NAME => match reader.span() {
                Ok(span) => name = plane[span.start..span.end].to_vec(),
                Err(_) => break,
            },
            _ if reader.skip(tag).is_err() => break,
            _ => {}
        }
    }
    name
}

/// The fields of one plane in one record; slices are message bodies.
#[derive(Default)]
struct Part<'a> {
    id: i64,
    name: &'a [u8],
    lines: Vec<&'a [u8]>,
    events: Vec<(i64, &'a [u8])>,
    stat_names: Vec<(i64, &'a [u8])>,
    stats: Vec<&'a [u8]>,
}

impl<'a> Part<'a> {
    fn read(plane: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(plane, 0, "XPlane");
        let slice = |span: Span| &plane[span.start..span.end];
        let mut part = Part::default();
        while let Some(tag) = reader.tag()? {
            match tag {
                XPlane::ID => part.id = reader.int64()?,
                XPlane::NAME => part.name = slice(reader.span()?),
                XPlane::LINES => part.lines.push(slice(reader.span()?)),
                XPlane::EVENT_METADATA => part.events.push(entry(slice(reader.span()?))?),
                XPlane::STAT_METADATA => part.stat_names.push(entry(slice(reader.span()?))?),
                XPlane::STATS => part.stats.push(slice(reader.span()?)),
                _ => reader.skip(tag)?,
            }
        }
        Ok(part)
    }
}

/// Key and value of a map entry; both maps have entries of one form.
fn entry(body: &[u8]) -> Result<(i64, &[u8])> {
    let mut reader = Reader::new(body, 0, "map entry");
    let (mut key, mut value) = (0, &body[..0]);
    while let Some(tag) = reader.tag()? {
        match tag {
            XPlane::EventMetadataEntry::KEY => key = reader.int64()?,
            XPlane::EventMetadataEntry::VALUE => {
                let span = reader.span()?;
                value = &body[span.start..span.end];
            }
            _ => reader.skip(tag)?,
        }
    }
    Ok((key, value))
}

fn put_entry(out: &mut Vec<u8>, tag: u32, key: i64, value: &[u8]) {
    let mut entry = Vec::with_capacity(value.len() + 16);
    number(&mut entry, XPlane::EventMetadataEntry::KEY, key);
    message(&mut entry, XPlane::EventMetadataEntry::VALUE, value);
    message(out, tag, &entry);
}

/// The last string with this tag in a message.
fn text(body: &[u8], wanted: u32) -> Result<&[u8]> {
    let mut reader = Reader::new(body, 0, "metadata");
    let mut found = &body[..0];
    while let Some(tag) = reader.tag()? {
        if tag == wanted {
            let span = reader.span()?;
            found = &body[span.start..span.end];
        } else {
            reader.skip(tag)?;
        }
    }
    Ok(found)
}

fn merge_plane(bodies: &[&[u8]]) -> Result<Vec<u8>> {
    let parts = bodies.iter().map(|body| Part::read(body)).collect::<Result<Vec<_>>>()?;
    let mut out = Vec::new();
    if let Some(id) = parts.iter().map(|part| part.id).find(|&id| id != 0) {
        number(&mut out, XPlane::ID, id);
    }
    message(&mut out, XPlane::NAME, parts[0].name);
    let mut maps = Vec::with_capacity(parts.len());
    merge_stat_names(&parts, &mut maps, &mut out)?;
    merge_events(&parts, &mut maps, &mut out)?;
    let mut seen = HashMap::new();
    for (part, maps) in parts.iter().zip(&maps) {
        for body in &part.stats {
            let (id, stat) = plane_stat(body, maps)?;
            if seen.insert(id, ()).is_none() {
                message(&mut out, XPlane::STATS, &stat);
            }
        }
    }
    merge_lines(&parts, &maps, &mut out)?;
    Ok(out)
}

/// Stats are identified by name: equal names get one id.
fn merge_stat_names(parts: &[Part], maps: &mut Vec<Maps>, out: &mut Vec<u8>) -> Result<()> {
    let mut ids = Ids::new(parts.iter().flat_map(|part| part.stat_names.iter().map(|&(id, _)| id)));
    let mut by_name: HashMap<&[u8], i64> = HashMap::new();
    for part in parts {
        let mut map = Maps::default();
        for &(id, body) in &part.stat_names {
            let name = text(body, XStatMetadata::NAME)?;
            let known = by_name.get(name).copied().filter(|_| !name.is_empty());
            let new = known.unwrap_or_else(|| ids.take(id));
            if known.is_none() {
                by_name.insert(name, new);
                put_entry(out, XPlane::STAT_METADATA, new, &with_id(body, XStatMetadata::ID, id, new)?);
            }
            map.stats.set(id, new);
        }
        maps.push(map);
    }
    Ok(())
}

/// Events are the same if id and name are, or everything but the id is.
fn merge_events(parts: &[Part], maps: &mut [Maps], out: &mut Vec<u8>) -> Result<()> {
    let mut ids = Ids::new(parts.iter().flat_map(|part| part.events.iter().map(|&(id, _)| id)));
    let mut by_id: HashMap<i64, usize> = HashMap::new();
    let mut by_body: HashMap<Vec<u8>, i64> = HashMap::new();
    // (new id, part, body)
    let mut kept: Vec<(i64, usize, &[u8])> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let mut changes = Changes::default();
        for &(id, body) in &part.events {
            if let Some(&at) = by_id.get(&id)
                && text(kept[at].2, XEventMetadata::NAME)? == text(body, XEventMetadata::NAME)?
            {
                // A later record may know more of it, e.g. its stats.
                if body.len() > kept[at].2.len() {
                    kept[at] = (id, index, body);
                }
                continue;
            }
            let plain = event_metadata(&with_id(body, XEventMetadata::ID, id, 0)?, &maps[index])?.into_owned();
            let new = match by_body.get(&plain) {
                Some(&same) => same,
                None => {
                    let new = ids.take(id);
                    by_id.insert(new, kept.len());
                    by_body.insert(plain, new);
                    kept.push((new, index, body));
                    new
                }
            };
            changes.set(id, new);
        }
        maps[index].events = changes;
    }
    for (id, index, body) in kept {
        let body = with_id(body, XEventMetadata::ID, 0, id)?;
        put_entry(out, XPlane::EVENT_METADATA, id, &event_metadata(&body, &maps[index])?);
    }
    Ok(())
}

/// A metadata message with another id (0: none).
fn with_id(body: &[u8], tag_of_id: u32, old: i64, new: i64) -> Result<Vec<u8>> {
    if old == new {
        return Ok(body.to_vec());
    }
    let mut out = Vec::with_capacity(body.len() + 10);
    if new != 0 {
        number(&mut out, tag_of_id, new);
    }
    let mut reader = Reader::new(body, 0, "metadata");
    loop {
        let begin = reader.position();
        let Some(tag) = reader.tag()? else { return Ok(out) };
        reader.skip(tag)?;
        if tag != tag_of_id {
            out.extend_from_slice(&body[begin..reader.position()]);
        }
    }
}

/// One line of one part, without its events.
#[derive(Default)]
struct Line<'a> {
    body: &'a [u8],
    id: i64,
    display_id: i64,
    name: &'a [u8],
    display_name: &'a [u8],
    timestamp_ns: i64,
    duration_ps: i64,
}

impl<'a> Line<'a> {
    fn read(body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body, 0, "XLine");
        let mut line = Line { body, ..Line::default() };
        while let Some(tag) = reader.tag()? {
            match tag {
                XLine::ID => line.id = reader.int64()?,
                XLine::DISPLAY_ID => line.display_id = reader.int64()?,
                XLine::TIMESTAMP_NS => line.timestamp_ns = reader.int64()?,
                XLine::DURATION_PS => line.duration_ps = reader.int64()?,
                XLine::NAME => {
                    let span = reader.span()?;
                    line.name = &body[span.start..span.end];
                }
                XLine::DISPLAY_NAME => {
                    let span = reader.span()?;
                    line.display_name = &body[span.start..span.end];
                }
                _ => reader.skip(tag)?,
            }
        }
        Ok(line)
    }

    fn near(&self, other: &Line) -> bool {
        self.timestamp_ns.checked_sub(other.timestamp_ns).is_some_and(|apart| apart.abs() < MOST_APART_NS)
    }
}

/// Lines of one id: the n-th lines of all records are merged.
fn merge_lines(parts: &[Part], maps: &[Maps], out: &mut Vec<u8>) -> Result<()> {
    let mut groups: Vec<Vec<(usize, Line)>> = Vec::new();
    let mut by_key: HashMap<(i64, usize), usize> = HashMap::new();
    for (index, part) in parts.iter().enumerate() {
        let mut count: HashMap<i64, usize> = HashMap::new();
        for body in &part.lines {
            let line = Line::read(body)?;
            let nth = count.entry(line.id).or_default();
            let group = *by_key.entry((line.id, *nth)).or_insert(groups.len());
            *nth += 1;
            match groups.get_mut(group) {
                Some(lines) if lines[0].1.near(&line) => lines.push((index, line)),
                _ => groups.push(vec![(index, line)]),
            }
        }
    }
    for group in &groups {
        message(out, XPlane::LINES, &merge_line(group, maps)?);
    }
    Ok(())
}

fn merge_line(lines: &[(usize, Line)], maps: &[Maps]) -> Result<Vec<u8>> {
    let first_text = |of: fn(&Line<'_>) -> usize| lines.iter().position(|(_, line)| of(line) > 0);
    let begin_ns = lines.iter().map(|(_, line)| line.timestamp_ns).min().unwrap_or(0);
    let delta_ps = |line: &Line| (line.timestamp_ns - begin_ns) * 1000;
    let end = |line: &Line| if line.duration_ps > 0 { line.duration_ps.saturating_add(delta_ps(line)) } else { 0 };
    let mut out = Vec::with_capacity(lines.iter().map(|(_, line)| line.body.len() + 16).sum());
    number(&mut out, XLine::ID, lines[0].1.id);
    number(&mut out, XLine::DISPLAY_ID, lines[0].1.display_id);
    if let Some(at) = first_text(|line| line.name.len()) {
        message(&mut out, XLine::NAME, lines[at].1.name);
    }
    if let Some(at) = first_text(|line| line.display_name.len()) {
        message(&mut out, XLine::DISPLAY_NAME, lines[at].1.display_name);
    }
    number(&mut out, XLine::TIMESTAMP_NS, begin_ns);
    number(&mut out, XLine::DURATION_PS, lines.iter().map(|(_, line)| end(line)).max().unwrap_or(0));
    for (index, line) in lines {
        let mut reader = Reader::new(line.body, 0, "XLine");
        while let Some(tag) = reader.tag()? {
            if tag == XLine::EVENTS {
                let span = reader.span()?;
                let body = &line.body[span.start..span.end];
                message(&mut out, XLine::EVENTS, &event(body, &maps[*index], delta_ps(line))?);
            } else {
                reader.skip(tag)?;
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::columns::{Options, decode};
    use crate::wire::tags::xplane::{XEvent, XStat};

    fn event(metadata: i64, offset_ps: i64, stat: Option<(i64, i64)>) -> Vec<u8> {
        let mut out = Vec::new();
        number(&mut out, XEvent::METADATA_ID, metadata);
        if offset_ps != 0 {
            number(&mut out, XEvent::OFFSET_PS, offset_ps);
        }
        number(&mut out, XEvent::DURATION_PS, 7);
        if let Some((id, text)) = stat {
            let mut body = Vec::new();
            number(&mut body, XStat::METADATA_ID, id);
            number(&mut body, XStat::REF_VALUE, text);
            message(&mut out, XEvent::STATS, &body);
        }
        out
    }

    fn line(id: i64, timestamp_ns: i64, events: &[Vec<u8>]) -> Vec<u8> {
        let mut out = Vec::new();
        number(&mut out, XLine::ID, id);
        message(&mut out, XLine::NAME, b"ops");
        number(&mut out, XLine::TIMESTAMP_NS, timestamp_ns);
        events.iter().for_each(|event| message(&mut out, XLine::EVENTS, event));
        out
    }

    fn named(id: i64, name: &str) -> Vec<u8> {
        let mut out = Vec::new();
        number(&mut out, XEventMetadata::ID, id);
        message(&mut out, XEventMetadata::NAME, name.as_bytes());
        out
    }

    fn space(lines: &[Vec<u8>], events: &[(i64, &str)], stats: &[(i64, &str)]) -> Vec<u8> {
        let mut plane = Vec::new();
        message(&mut plane, XPlane::NAME, b"/device:TPU:0");
        lines.iter().for_each(|line| message(&mut plane, XPlane::LINES, line));
        events.iter().for_each(|(id, name)| put_entry(&mut plane, XPlane::EVENT_METADATA, *id, &named(*id, name)));
        stats.iter().for_each(|(id, name)| put_entry(&mut plane, XPlane::STAT_METADATA, *id, &named(*id, name)));
        let mut out = Vec::new();
        message(&mut out, XSpace::PLANES, &plane);
        message(&mut out, XSpace::HOSTNAMES, b"h");
        out
    }

    /// Line, begin in ps, name, [(stat, text)].
    type Row = (i64, i64, String, Vec<(String, String)>);

    /// The number of planes, and every event.
    fn read(space: &[u8]) -> (usize, Vec<Row>) {
        let columns = decode(space, 0, Options::ALL).unwrap();
        let text = |value: u64| String::from_utf8(crate::wire::text::slice(space, value).unwrap().to_vec()).unwrap();
        let mut rows = Vec::new();
        for plane in &columns.planes {
            for (number, &id) in plane.lines.id.iter().enumerate() {
                for at in plane.lines.event_start[number] as usize..plane.lines.event_start[number + 1] as usize {
                    let stats = plane.events.stats.start[at] as usize..plane.events.stats.start[at + 1] as usize;
                    let stats = stats
                        .map(|stat| {
                            let names = &plane.stat_metadata.name;
                            let key = plane.events.stats.key[stat] as usize;
                            (text(names[key]), text(names[plane.events.stats.value[stat] as usize]))
                        })
                        .collect();
                    let name = text(plane.event_metadata.name[plane.events.metadata[at] as usize]);
                    rows.push((id, plane.events.begin_ps[at], name, stats));
                }
            }
        }
        (columns.planes.len(), rows)
    }

    #[test]
    fn lines_continue_and_later_ones_are_moved() {
        let first = space(&[line(3, 1000, &[event(1, 5, None)])], &[(1, "a")], &[]);
        let second = space(&[line(3, 1002, &[event(1, 0, None), event(1, 4, None)])], &[(1, "a")], &[]);
        let (planes, rows) = read(&merge(&[&first, &second]));
        assert_eq!(planes, 1);
        let begins: Vec<i64> = rows.iter().map(|row| row.1).collect();
        assert_eq!(begins, [1_000_005, 1_002_000, 1_002_004]);
        // In the other order the line begins at the earlier time.
        let begins: Vec<i64> = read(&merge(&[&second, &first])).1.iter().map(|row| row.1).collect();
        assert_eq!(begins, [1_002_000, 1_002_004, 1_000_005]);
    }

    #[test]
    fn ids_that_clash_are_changed() {
        let first = space(&[line(3, 0, &[event(1, 1, Some((7, 8)))])], &[(1, "a")], &[(7, "kind"), (8, "red")]);
        let second = space(&[line(3, 0, &[event(1, 2, Some((8, 7)))])], &[(1, "b")], &[(8, "kind"), (7, "blue")]);
        let stats = |text: &str| vec![("kind".to_string(), text.to_string())];
        let wanted = vec![(3, 1, "a".to_string(), stats("red")), (3, 2, "b".to_string(), stats("blue"))];
        assert_eq!(read(&merge(&[&first, &second])), (1, wanted));
    }

    #[test]
    fn the_same_event_under_another_id_is_found_and_known_ids_need_no_metadata() {
        let first = space(&[line(3, 0, &[event(1, 1, None)])], &[(1, "a"), (2, "b")], &[]);
        let second = space(&[line(3, 0, &[event(5, 2, None), event(2, 3, None)])], &[(5, "a")], &[]);
        let merged = merge(&[&first, &second]);
        let names: Vec<String> = read(&merged).1.into_iter().map(|row| row.2).collect();
        assert_eq!(names, ["a", "a", "b"]);
        let columns = decode(&merged, 0, Options::ALL).unwrap();
        assert_eq!(columns.planes[0].event_metadata.id, [1, 2]);
        assert_eq!(columns.hostnames.len(), 1);
    }

    #[test]
    fn lines_of_one_id_in_one_record_stay_apart() {
        let one = space(&[line(3, 0, &[event(1, 1, None)]), line(3, 0, &[event(1, 2, None)])], &[(1, "a")], &[]);
        let merged = merge(&[&one, &one]);
        let columns = decode(&merged, 0, Options::ALL).unwrap();
        assert_eq!(columns.planes[0].lines.event_start, [0, 2, 4]);
        assert_eq!(columns.planes[0].events.begin_ps, [1, 1, 2, 2]);
    }

    #[test]
    fn lines_too_far_apart_stay_apart() {
        let near = space(&[line(3, 0, &[event(1, 1, None)])], &[(1, "a")], &[]);
        let far = space(&[line(3, i64::MAX / 1000, &[event(1, 2, None)])], &[(1, "a")], &[]);
        let merged = merge(&[&near, &far]);
        let columns = decode(&merged, 0, Options::ALL).unwrap();
        assert_eq!(columns.planes[0].lines.id.len(), 2);
    }

    #[test]
    fn a_record_that_is_no_xspace_is_noticed() {
        let good = space(&[line(3, 0, &[])], &[], &[]);
        assert!(check(&good).is_ok());
        assert!(check(&good[..good.len() - 5]).is_err());
        assert!(check(b"\x0a\x02\x0a\x05").is_err());
    }
}
