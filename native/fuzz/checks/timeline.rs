//! Any events as a timeline: built, ordered, cut to a window, searched and written; what is measured is what is written.

use std::io::Read;

use _native::timeline::answer::arguments::{Args, Extra, Sheet, Stats, Values};
use _native::timeline::answer::payload::{Container, Strings, columns};
use _native::timeline::answer::{hits, legacy, typed};
use _native::timeline::model::build::build;
use _native::timeline::model::names::Names;
use _native::timeline::model::timeline::Timeline;
use _native::timeline::model::trace::{HIDDEN, TrackId};
use _native::timeline::model::track::{Segment, Table};
use _native::timeline::packed::{Source, gzip, pack};
use _native::timeline::perfetto::packets::{Arguments, Clock, Events, Flows, Packets};
use _native::timeline::perfetto::writer::Writer;
use _native::timeline::query::select::{Query, Run, Selection, select};
use _native::timeline::query::{lod, search, sums};
use flate2::read::GzDecoder;

/// The events as the trace viewer gets them, unpacked.
fn text(timeline: &Timeline, selection: &Selection) -> String {
    let parts = pack(&[Source { timeline, selection, pid_offset: 1000 }], 1).unwrap();
    let mut file = vec![0; gzip::size(&parts)];
    gzip::write(&parts, &mut file);
    let mut text = String::new();
    GzDecoder::new(&file[..]).read_to_string(&mut text).unwrap();
    text
}

/// The input read from its front; zeros behind its end.
struct Feed<'a>(&'a [u8]);

impl Feed<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    /// Mostly small, sometimes an extreme.
    fn time(&mut self) -> i64 {
        match self.byte() {
            0xff => i64::MAX,
            0xfe => i64::MIN,
            0xfd => i64::MAX / 2,
            0xfc => -1,
            0xfb => (i64::from(self.byte()) << 40) | i64::from(self.byte()),
            small => i64::from(small) * 100,
        }
    }
}

pub fn check(data: &[u8]) {
    let mut feed = Feed(data);
    let n = 1 + feed.below(40);
    let mut events: Vec<(i64, i64, u32)> = (0..n).map(|_| (feed.time(), feed.time(), feed.byte() as u32 % 7)).collect();
    let split = feed.below(n + 1);
    // Lines of a profile are mostly in order.
    if feed.byte() & 1 == 0 {
        events[..split].sort_unstable_by_key(|e| e.0);
        events[split..].sort_unstable_by_key(|e| e.0);
    }
    let begin: Vec<i64> = events.iter().map(|e| e.0).collect();
    let duration: Vec<i64> = events.iter().map(|e| e.1).collect();
    let metadata: Vec<u32> = events.iter().map(|e| e.2).collect();
    let removed: Vec<u8> = if feed.byte() & 1 == 0 { Vec::new() } else { (0..n).map(|_| feed.byte() & 1).collect() };
    let group: Vec<i64> = if feed.byte() & 1 == 0 { Vec::new() } else { (0..n).map(|_| feed.time()).collect() };
    let names = [0, 1, 2, HIDDEN, 3];
    let at = [feed.below(n) as u32];
    let flow = [(u64::from(feed.byte()) << 58) | u64::from(feed.byte())];
    let table = Table {
        begin: &begin,
        duration: &duration,
        metadata: &metadata,
        names: &names,
        removed: &removed,
        group: &group,
        renamed: (&at, &[2]),
        flow: (&at, &flow),
        asynchronous: if feed.byte() & 1 == 0 { &[] } else { &at },
    };
    let tracks = vec![TrackId { pid: 1, tid: 0 }, TrackId { pid: 1, tid: 9 }, TrackId { pid: u32::MAX, tid: u32::MAX }];
    let segments = [
        Segment { table: 0, first: 0, last: split, track: 0 },
        Segment { table: 0, first: split, last: n + 3, track: feed.below(4) },
    ];
    let texts = ["a", "b\"\\\u{1}", "é\u{2028}", "z"];
    let trace = build(&[table], &segments, tracks, texts.into_iter(), 1);
    let (from, to) = (feed.time(), feed.time());
    let width = u32::from(feed.byte());
    let boxes = lod::boxes(&trace, from, to, width, 20, 2);
    assert!(boxes.count.iter().map(|&c| c as usize).sum::<usize>() <= trace.len());
    columns(&[&trace], vec![boxes], b"", Strings::default(), Container::default());
    let query = Query { begin: from, end: to, resolution: feed.time(), middles: feed.byte() & 1 == 0, threads: 1 };
    let timeline = Timeline::from(trace);
    let selection = select(&timeline, &query);
    timeline.compute_levels(1);
    assert_eq!(selection.events, select(&timeline, &query).events, "levels are the same whenever they are computed");
    // Asynchronous events in the middle of flows are pairs.
    let is_middle = |event: &&u32| timeline.trace.flow.get(**event as usize).is_some_and(|flow| flow & 3 == 3);
    let pairs = |run: &&Run| selection.events[run.first as usize..run.last as usize].iter().filter(is_middle).count();
    let count = selection.events.len()
        + selection.runs.iter().filter(|run| run.asynchronous).map(|run| pairs(&run)).sum::<usize>();
    assert_eq!(text(&timeline, &selection).matches(",{\"ts\":").count(), count);
    let host = typed::Host { timeline: &timeline, selection: &selection, pid_offset: 1000, threads: 1 };
    let trace = &timeline.trace;
    search::search(trace, &[1, 0, 1], &removed, 1 + width as usize);
    let areas: Vec<_> = (0..4).map(|track| sums::Area { track, first: 0, last: u32::MAX }).collect();
    let found = sums::sums(trace, &areas, from, to);
    assert!(found.own.iter().zip(&found.wall).all(|(own, wall)| own <= wall));
    assert!(found.count.iter().sum::<i64>() as usize <= trace.len());
    for track in 0..4 {
        trace.ancestors(track, 0);
        trace.is_async(track);
    }
    timeline.flow_ends(flow[0] >> 2, 9, 1);
    let (keys, known) = (Names::new(["k", "l"].into_iter()), Names::new(["v"].into_iter()));
    let value: Vec<u64> = (0..4).map(|_| feed.time() as u64).collect();
    let kind: Vec<u8> = (0..4).map(|_| feed.byte() % 10).collect();
    let stats = Stats { start: &[0, 2, 3, 9], key: &[0, 1, 0, 7], kind: &kind, value: &value };
    let sheet = Sheet {
        metadata: &metadata,
        long_name: &[0, HIDDEN, 5],
        metadata_stats: stats,
        event_stats: stats,
        keys: &[0, 1, HIDDEN],
        refs: &[0],
        extras: vec![Extra { key: 1, events: &at, values: Values::Ints(&group) }],
        ..Sheet::default()
    };
    let args = Args {
        data,
        sheets: vec![sheet],
        keys: &keys,
        texts: &known,
        long_name: 0,
        group_id: 1,
        flow: 9,
        base: vec![0],
    };
    typed::typed(&host, &args, &[0, 1]);
    let older = legacy::select(&timeline, 10, 1);
    legacy::events(&timeline, &older, &args, 0, (0, 9), 1);
    let clock = Clock { origin_ns: from, shift_ps: to };
    let window = (feed.byte() & 1 == 0).then_some((from, to));
    let mut writer = Writer::new(Packets::new(1, clock), window, 1, vec!["a".into()]);
    let lanes: u32 = (0..4).map(|track| writer.add(trace, track, u64::MAX)).sum();
    let parts = std::iter::repeat_with(|| writer.events(trace, &args, 2).len()).take_while(|&size| size > 0);
    assert_eq!(parts.sum::<usize>() > 0, lanes > 0);
    let numbers: Vec<i64> = value.iter().map(|&value| value as i64).collect();
    let (event, at_end) = (&[0, 0, 2, numbers[0]], &[true, false, true, true]);
    let arguments = Arguments { event, key: &numbers, kind: &kind, value: &value };
    let flows = Flows { event, number: &value, at_end };
    let (track, name) = (&numbers, &numbers);
    let events = Events { track, begin_ps: &numbers, duration_ps: &[0, from, to, 1], name, arguments, flows };
    assert!(Packets::new(1, clock).events(&events).is_ok_and(|written| !written.is_empty()));
    hits::in_args(trace, &args, "k: ", width & 1 == 0);
}
