//! Any bytes decode or are refused, with the same answer for any number of threads; every text value can be read; with a
//! filter exactly the events that pass it are decoded.

use _native::decode::columns::{Columns, Options, PlaneColumns, decode};
use _native::decode::filter::{EventFilter, PlaneFilter};
use _native::decode::xspace::outline;
use _native::error::Result;
use _native::wire::tags::xplane::{XEvent, XLine, XStat};
use _native::wire::{Reader, Span, text};

pub fn check(data: &[u8]) {
    let options = Options::ALL;
    let first = decode(data, 0, options);
    // Threads cost more than the decoding of small inputs; some are enough.
    if data.len() % 16 == 0 {
        assert_eq!(first, decode(data, 0, Options { threads: 2, ..options }));
    }
    let space = match first {
        Ok(space) => space,
        Err(error) => return assert!(error.offset <= data.len() as u64),
    };
    for plane in &space.planes {
        assert!(plane.events.metadata.iter().all(|&row| (row as usize) < plane.event_metadata.id.len()));
        for stats in [&plane.events.stats, &plane.event_metadata.stats, &plane.stats] {
            assert!(stats.key.iter().all(|&row| (row as usize) < plane.stat_metadata.id.len()));
            for (kind, value) in stats.kind.iter().zip(&stats.value) {
                match kind {
                    5 | 6 | 8 => drop(text::slice(data, *value).unwrap()),
                    7 => assert!((*value as usize) < plane.stat_metadata.id.len()),
                    _ => {}
                }
            }
        }
        for &name in plane.event_metadata.name.iter().chain(&plane.stat_metadata.name).chain(&plane.lines.name) {
            text::slice(data, name).unwrap();
        }
    }
    // A filter goes by the first id or name, the decoder by the last; no writer has them twice.
    if !has_doubled(data).unwrap() {
        filtered(data, &space);
    }
}

/// Whether any event or stat has its id twice, or any line its name.
fn has_doubled(data: &[u8]) -> Result<bool> {
    let whole = Reader::new(data, 0, "XSpace");
    let mut doubled = false;
    for span in outline(data, 0)?.planes.into_iter().flat_map(|plane| plane.lines) {
        doubled |= each(whole.within(span, "XLine"), XLine::NAME, XLine::EVENTS, |event| {
            let event = whole.within(event, "XEvent");
            each(event, XEvent::METADATA_ID, XEvent::STATS, |stat| {
                each(whole.within(stat, "XStat"), XStat::METADATA_ID, 0, |_| Ok(false))
            })
        })?;
    }
    Ok(doubled)
}

/// Whether a message has field `once` twice, or one of the messages in `inner` is found so.
fn each(mut message: Reader, once: u32, inner: u32, mut found: impl FnMut(Span) -> Result<bool>) -> Result<bool> {
    let (mut count, mut doubled) = (0, false);
    while let Some(tag) = message.tag()? {
        count += u32::from(tag == once);
        if tag == inner {
            doubled |= found(message.span()?)?;
        } else {
            message.skip(tag)?;
        }
    }
    Ok(doubled || count > 1)
}

/// Metadata (as its id), begin, duration and the keys of the stats of an event (as their ids), line by line.
type Event = (usize, i64, i64, i64, Vec<i64>);

fn events(plane: &PlaneColumns) -> Vec<Event> {
    let (events, stats) = (&plane.events, &plane.events.stats);
    let mut found = Vec::new();
    for (line, bounds) in plane.lines.event_start.windows(2).enumerate() {
        for event in bounds[0] as usize..bounds[1] as usize {
            let own = stats.start[event] as usize..stats.start[event + 1] as usize;
            let keys = stats.key[own].iter().map(|&key| plane.stat_metadata.id[key as usize]).collect();
            let id = plane.event_metadata.id[events.metadata[event] as usize];
            found.push((line, id, events.begin_ps[event], events.duration_ps[event], keys));
        }
    }
    found
}

/// Decodes once more with a filter per plane, chosen by the plane's own events and lines.
fn filtered(data: &[u8], all: &Columns) {
    let mut filters = Vec::new();
    let mut expected = Vec::new();
    for plane in all.planes.iter().take(4) {
        let listed = events(plane);
        let Some(first) = listed.first() else { continue };
        let ids = [first.1, listed[listed.len() / 2].1];
        let stats: Vec<i64> = listed[listed.len() - 1].4.iter().take(data.len() % 3).copied().collect();
        let name = plane.lines.name[listed[listed.len() / 3].0];
        let lines = (data.len() % 2 == 0).then(|| vec![text::slice(data, name).unwrap().to_vec()]);
        let named = |line: usize| {
            let name = text::slice(data, plane.lines.name[line]).unwrap();
            lines.as_ref().is_none_or(|lines| lines.iter().any(|line| line == name))
        };
        let pass = |event: &&Event| {
            named(event.0) && (ids.contains(&event.1) || event.4.iter().any(|key| stats.contains(key)))
        };
        expected.push((plane.index, listed.iter().filter(pass).cloned().collect::<Vec<_>>()));
        filters.push(PlaneFilter {
            plane: plane.index,
            lines: lines.clone(),
            events: Some(EventFilter::new(&ids, &stats)),
            stats: None,
        });
    }
    if filters.is_empty() {
        return;
    }
    let found = decode(data, 0, Options { filters: &filters, ..Options::ALL }).unwrap();
    assert_eq!(found.planes.len(), all.planes.len());
    for (index, wanted) in expected {
        let plane = found.planes.iter().find(|plane| plane.index == index).unwrap();
        assert_eq!(events(plane), wanted);
    }
}
