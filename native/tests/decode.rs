//! The decoder on built, cut, changed and random bytes, without Python.

use _native::decode::columns::{Columns, Options, decode};
use _native::decode::filter::{EventFilter, PlaneFilter, StatFilter, has_far_line};
use _native::decode::xspace::CHUNK_EVENTS;
use _native::error::{Problem, Result};
use _native::wire::text;

const ALL: Options = Options::ALL;

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn int(field: u64, value: i64) -> Vec<u8> {
    [varint(field << 3), varint(value as u64)].concat()
}

fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

fn message(field: u64, fields: &[Vec<u8>]) -> Vec<u8> {
    bytes(field, &fields.concat())
}

/// One plane: a line with an ordinary and an aggregated event, both maps behind it, the second event without metadata.
fn small() -> Vec<u8> {
    let first = message(4, &[int(1, 7), int(2, 5), int(3, 6), message(4, &[int(1, 1), int(4, -9)])]);
    let second = message(4, &[int(1, 8), int(2, 5), int(5, 3), message(4, &[int(1, 2), int(7, 1)])]);
    let line = message(3, &[int(1, -4), bytes(2, b"line"), int(3, 2), first, second]);
    let event = message(4, &[int(1, 7), message(2, &[bytes(2, b"event")])]);
    let stat = message(5, &[int(1, 1), message(2, &[bytes(2, b"stat")])]);
    [bytes(4, b"host"), message(1, &[int(1, 11), bytes(2, b"plane"), line, event, stat])].concat()
}

fn load(data: &[u8]) -> Result<Columns> {
    decode(data, 0, ALL)
}

#[test]
fn a_small_profile() {
    let data = small();
    let space = load(&data).unwrap();
    let plane = &space.planes[0];
    assert_eq!((plane.id, text::slice(&data, plane.name).unwrap()), (11, &b"plane"[..]));
    assert_eq!(text::slice(&data, space.hostnames[0]).unwrap(), b"host");
    assert_eq!(plane.lines.id, [-4]);
    assert_eq!(plane.lines.event_start, [0, 2]);
    assert_eq!(plane.event_metadata.id, [7, 8]);
    assert_eq!(plane.events.metadata, [0, 1]);
    assert_eq!(plane.events.begin_ps, [2005, 2000]);
    assert_eq!(plane.events.duration_ps, [6, 0]);
    assert_eq!(plane.events.occurrences, Some(vec![0, 3]));
    assert_eq!(plane.stat_metadata.id, [1, 2]);
    assert_eq!(plane.events.stats.start, [0, 1, 2]);
    assert_eq!(plane.events.stats.key, [0, 1]);
    assert_eq!(plane.events.stats.kind, [4, 7]);
    assert_eq!(plane.events.stats.value, [-9i64 as u64, 0]);
}

#[test]
fn what_is_not_wanted_is_not_decoded() {
    let data = small();
    let nothing = decode(&data, 0, Options { keep: Some(&[]), ..ALL }).unwrap();
    assert!(nothing.planes.is_empty());
    let metadata = decode(&data, 0, Options { events: false, ..ALL }).unwrap();
    assert_eq!(metadata.planes[0].event_metadata.id, [7]);
    assert!(metadata.planes[0].lines.id.is_empty() && metadata.planes[0].events.metadata.is_empty());
}

#[test]
fn only_the_picked_events_of_the_picked_lines() {
    let data = small();
    let whole = load(&data).unwrap();
    let events = |lines: Option<&[&str]>, wanted: Option<(&[i64], &[i64])>| {
        let lines = lines.map(|names| names.iter().map(|name| name.as_bytes().to_vec()).collect());
        let filters = [PlaneFilter {
            lines,
            events: wanted.map(|(ids, stats)| EventFilter::new(ids, stats)),
            ..PlaneFilter::default()
        }];
        let space = decode(&data, 0, Options { filters: &filters, ..ALL }).unwrap();
        let plane = &space.planes[0];
        assert_eq!(plane.lines.name, whole.planes[0].lines.name);
        assert_eq!(plane.lines.event_start, [0, plane.events.metadata.len() as i64]);
        assert_eq!(plane.lines.filled, [true], "whether or not its events are chosen");
        (plane.events.begin_ps.clone(), plane.events.stats.value.clone())
    };
    assert_eq!(events(None, None), (vec![2005, 2000], vec![-9i64 as u64, 0]));
    assert_eq!(events(None, Some((&[7], &[]))), (vec![2005], vec![-9i64 as u64]));
    assert_eq!(events(None, Some((&[8], &[1]))), (vec![2005, 2000], vec![-9i64 as u64, 0]));
    assert_eq!(events(None, Some((&[], &[2]))), (vec![2000], vec![0]));
    assert_eq!(events(None, Some((&[], &[]))), (vec![], vec![]));
    assert_eq!(events(Some(&["line"]), Some((&[8], &[]))), (vec![2000], vec![0]));
    assert_eq!(events(Some(&["other", ""]), None), (vec![], vec![]));
}

#[test]
fn stats_of_the_picked_lines_alone() {
    let event = |id: i64, stats: &[Vec<u8>]| message(4, &[&[int(1, id)], stats, &[int(2, 5)]].concat());
    // Stats of a key declared behind the lines, of none, twice the same key, and one whose value is a row.
    let first = event(7, &[message(4, &[int(1, 1), int(4, 3)]), message(4, &[int(1, 99), int(7, 1)])]);
    let second = event(8, &[message(4, &[int(1, 1), int(4, 4)]), message(4, &[int(1, 1), int(4, 5)])]);
    let ops = message(3, &[bytes(2, b"ops"), first, int(3, 1)]);
    let runs = message(3, &[second, bytes(2, b"runs")]);
    let declared = message(5, &[int(1, 1), message(2, &[int(1, 1), bytes(2, b"run_id")])]);
    let data = message(1, &[ops, runs, declared]);
    let whole = &load(&data).unwrap().planes[0];
    let with = |lines: &[&str], unless: &[&str]| {
        let names = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect();
        let stats = Some(StatFilter { lines: names(lines), unless: names(unless) });
        let filters = [PlaneFilter { stats, ..PlaneFilter::default() }];
        decode(&data, 0, Options { filters: &filters, ..ALL }).unwrap().planes.remove(0)
    };
    assert_eq!((whole.events.stats.value.as_slice(), whole.partial), (&[3, 0, 4, 5][..], false));
    let some = with(&["runs"], &["steps"]);
    assert_eq!((&some.lines, &some.events.begin_ps), (&whole.lines, &whole.events.begin_ps));
    assert_eq!((&some.events.stats.start, &some.events.stats.value), (&vec![0, 0, 2], &vec![4, 5]));
    assert!(some.partial && some.events.stats.key == [0, 0]);
    assert_eq!((&some.stat_metadata.id, &whole.stat_metadata.id), (&vec![1], &vec![1, 99]));
    assert_eq!(with(&["ops"], &[]).events.stats.value, [3, 0]);
    assert_eq!(with(&[], &[]).events.stats.start, [0, 0, 0]);
    for unpicked in [with(&["runs", "ops"], &[]), with(&[], &["ops"])] {
        assert_eq!(&unpicked, whole);
    }
}

#[test]
fn lines_without_events_are_not_filled() {
    let events = |count: usize| message(4, &[int(1, 7)]).repeat(count);
    let lines = [0, 1, CHUNK_EVENTS, CHUNK_EVENTS + 1].map(|count| message(3, &[bytes(2, b"line"), events(count)]));
    let data = message(1, &lines);
    let none = || Some(EventFilter::new(&[], &[]));
    for events in [None, none()] {
        let filters = [PlaneFilter { events, ..PlaneFilter::default() }];
        let space = decode(&data, 0, Options { filters: &filters, ..ALL }).unwrap();
        assert_eq!(space.planes[0].lines.filled, [false, true, true, true]);
    }
    assert_eq!(load(&data).unwrap().planes[0].lines.filled, [false, true, true, true]);
}

#[test]
fn the_name_of_a_line_may_stand_behind_its_events() {
    let line = message(3, &[message(4, &[int(1, 7), int(2, 5)]), bytes(2, b"late"), int(3, 1)]);
    let data = message(1, &[line]);
    for (name, count) in [("late", 1), ("early", 0)] {
        let filters = [PlaneFilter { lines: Some(vec![name.into()]), ..PlaneFilter::default() }];
        let space = decode(&data, 0, Options { filters: &filters, ..ALL }).unwrap();
        assert_eq!(space.planes[0].events.begin_ps, vec![1005; count]);
    }
}

#[test]
fn a_line_that_is_left_out_is_read_up_to_its_first_event() {
    let event = message(4, &[int(1, 7), int(2, 5)]);
    let line = message(3, &[bytes(2, b"other"), int(3, 2), event, int(9, 4), vec![0x22, 9]]);
    let data = message(1, &[line]);
    let only = |name: &str| {
        let filters = [PlaneFilter { lines: Some(vec![name.into()]), ..PlaneFilter::default() }];
        decode(&data, 0, Options { filters: &filters, ..ALL })
    };
    let lines = only("line").unwrap().planes.remove(0).lines;
    assert_eq!((lines.timestamp_ns, lines.duration_ps, lines.filled), (vec![2], vec![0], vec![true]));
    assert!(only("other").is_err(), "an event past the end of the line");
}

#[test]
fn occurrences_and_stats_of_picked_events() {
    let stat = |id: i64| message(4, &[int(1, id)]);
    let events = [message(4, &[int(1, 7), stat(3), int(5, 2)]), message(4, &[int(1, 8), stat(3), stat(4)])];
    let data = message(1, &[message(3, &events)]);
    for (ids, stats, occurrences, count) in
        [(&[7][..], &[][..], Some(vec![2]), 1), (&[8], &[], None, 2), (&[], &[3], Some(vec![2, 0]), 3)]
    {
        let filters = [PlaneFilter { events: Some(EventFilter::new(ids, stats)), ..PlaneFilter::default() }];
        let events = decode(&data, 0, Options { filters: &filters, ..ALL }).unwrap().planes.remove(0).events;
        assert_eq!((events.occurrences, events.stats.key.len()), (occurrences, count));
    }
}

#[test]
fn far_lines() {
    let with = |ns| message(1, &[message(3, &[int(3, ns), message(4, &[int(1, 7)])])]);
    assert!(!has_far_line(&with(1 << 53)).unwrap() && has_far_line(&with(1 << 54)).unwrap());
    assert!(has_far_line(&with(i64::MIN)).unwrap() && has_far_line(&[0x0a, 9]).is_err());
}

#[test]
fn text_values_beyond_four_gigabytes() {
    let data = small();
    let base = (5 << 32) + 3;
    let (near, far) = (load(&data).unwrap(), decode(&data, base, ALL).unwrap());
    assert_eq!(far.planes[0].name, near.planes[0].name + base);
    assert_eq!(far.planes[0].event_metadata.name[0], near.planes[0].event_metadata.name[0] + base);
    assert_eq!(far.planes[0].events, near.planes[0].events);
    let error = decode(&data[..data.len() - 1], base, ALL).unwrap_err();
    assert!(error.offset > base && error.offset < base + data.len() as u64);
}

#[test]
fn every_prefix_is_decoded_or_refused_at_a_byte_of_it() {
    let data = small();
    for length in 0..data.len() {
        match load(&data[..length]) {
            Ok(space) => assert!(space.planes.is_empty()),
            Err(error) => assert!(error.offset <= length as u64),
        }
    }
}

#[test]
fn random_changes_and_noise_never_panic_and_do_not_depend_on_threads() {
    let data = small();
    let mut state = 88172645463325252u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..20_000 {
        let mut changed = data.clone();
        for _ in 0..1 + random() % 4 {
            let at = random() as usize % changed.len();
            changed[at] = random() as u8;
        }
        if round % 4 == 0 {
            changed = (0..random() % 64).map(|_| random() as u8).collect();
        }
        let filters = [PlaneFilter { events: Some(EventFilter::new(&[8], &[1])), ..PlaneFilter::default() }];
        let filtered = decode(&changed, 0, Options { filters: &filters, ..ALL });
        if round % 16 == 0 {
            assert_eq!(filtered, decode(&changed, 0, Options { threads: 3, filters: &filters, ..ALL }));
            assert_eq!(load(&changed), decode(&changed, 0, Options { threads: 3, ..ALL }));
        } else {
            let _ = load(&changed);
        }
    }
}

#[test]
fn ids_without_metadata_get_rows_in_ascending_order() {
    let events: Vec<_> = [9, -3, 9, 1 << 40].iter().map(|&id| message(4, &[int(1, id)])).collect();
    let data = message(1, &[message(3, &events)]);
    let space = load(&data).unwrap();
    assert_eq!(space.planes[0].event_metadata.id, [-3, 9, 1 << 40]);
    assert_eq!(space.planes[0].events.metadata, [1, 0, 1, 2]);
}

#[test]
fn of_equal_map_keys_the_last_entry_counts() {
    let entry = |key, name: &[u8]| message(4, &[int(1, key), message(2, &[bytes(2, name)])]);
    let data = message(1, &[entry(5, b"old"), entry(6, b"six"), entry(5, b"new")]);
    let space = load(&data).unwrap();
    let table = &space.planes[0].event_metadata;
    assert_eq!(table.id, [5, 6]);
    assert_eq!(text::slice(&data, table.name[0]).unwrap(), b"new");
}

#[test]
fn crafted_masses_of_planes_are_refused() {
    let error = load(&[0x0a, 0].repeat(1 << 15)).unwrap_err();
    assert_eq!(error.problem, Problem::TooMany);
}
