//! The binary answer of a search, and hits among arguments.

use crate::json::text::Sink;
use crate::timeline::answer::arguments::{Args, Value};
use crate::timeline::answer::payload::{Container, Strings};
use crate::timeline::model::trace::Trace;
use crate::timeline::query::search::Hits;

/// Hits of several traces as one binary answer, by begin; tracks are numbered through.
pub fn answer(
    parts: &[(&Trace, Hits)],
    limit: usize,
    head: &[u8],
    mut strings: Strings,
    mut container: Container,
) -> Vec<u8> {
    let mut all: Vec<(i64, usize, usize)> = Vec::new();
    for (p, (trace, hits)) in parts.iter().enumerate() {
        all.extend(hits.event.iter().enumerate().map(|(i, &e)| (trace.begin[e as usize], p, i)));
    }
    all.sort_unstable();
    all.truncate(limit);
    let bases: Vec<u32> = parts
        .iter()
        .scan(0, |sum, (trace, _)| {
            let base = *sum;
            *sum += trace.tracks.len() as u32;
            Some(base)
        })
        .collect();
    let total: u64 = parts.iter().map(|(_, hits)| hits.total).sum();
    let event = |&(_, p, i): &(i64, usize, usize)| parts[p].1.event[i] as usize;
    let names: Vec<u32> =
        all.iter().map(|hit| strings.number(parts[hit.1].0.names.text(parts[hit.1].0.name[event(hit)]))).collect();
    let mut members = head.to_vec();
    members.put(format!("\"total_hits\":{total},\"truncated\":{},", total > all.len() as u64).as_bytes());
    strings.member(&mut members);
    container.u32s("track", &all.iter().map(|&(_, p, i)| bases[p] + parts[p].1.track[i]).collect::<Vec<_>>());
    container.u16s("row", &all.iter().map(|&(_, p, i)| parts[p].1.row[i]).collect::<Vec<_>>());
    container.f64s("begin_ps", &all.iter().map(|hit| hit.0 as f64).collect::<Vec<_>>());
    container
        .f64s("duration_ps", &all.iter().map(|hit| parts[hit.1].0.duration(event(hit)) as f64).collect::<Vec<_>>());
    container.u32s("name", &names);
    let within = |hit: &(i64, usize, usize)| {
        event(hit) as u32 - parts[hit.1].0.track_events[parts[hit.1].1.track[hit.2] as usize]
    };
    container.u32s("event", &all.iter().map(within).collect::<Vec<_>>());
    container.finish(&members)
}

/// One flag per source event: whether `key: value` of an argument contains `text`; `fold`: text is lower case, so compare that way.
pub fn in_args(trace: &Trace, args: &Args, text: &str, fold: bool) -> Vec<u8> {
    let total = args.base.last().copied().unwrap_or(0) + args.sheets.last().map_or(0, |s| s.metadata.len());
    let mut flags = vec![0u8; total];
    let (mut list, mut line) = (Vec::new(), Vec::new());
    for &source in &trace.source {
        args.collect(source as usize, &mut list);
        let hit = list.iter().any(|&(key, value)| {
            line.clear();
            line.extend_from_slice(args.keys.text(key));
            line.put(b": ");
            match value {
                Value::Int(v) => line.int(v),
                Value::Uint(v) => line.uint(v),
                Value::Double(v) => line.put(format!("{v}").as_bytes()),
                _ => line.put(args.text(value).unwrap_or_default()),
            }
            contains(&mut line, text.as_bytes(), fold)
        });
        if let (true, Some(flag)) = (hit, flags.get_mut(source as usize)) {
            *flag = 1;
        }
    }
    flags
}

fn contains(line: &mut [u8], text: &[u8], fold: bool) -> bool {
    if fold {
        line.make_ascii_lowercase();
    }
    text.is_empty() || line.windows(text.len()).any(|w| w == text)
}
