//! What becomes of events, stats, lines and planes that several records have.

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
