//! The whole trace in the older form: one line per event, every argument a string, keys ascending.

use crate::json::text::Sink;
use crate::system::parallel;
use crate::timeline::answer::arguments::{Args, Value, stringly};
use crate::timeline::model::order::Kind;
use crate::timeline::model::timeline::Timeline;
use crate::timeline::model::trace::{NO_GROUP, Trace};
use crate::timeline::query::select::{Run, Selection, by_track};

/// At most this many events are written, the earliest.
pub const CAP: usize = 5_000_000;

/// Events that are written together.
const CHUNK: usize = 1 << 14;

/// The events that the older form has: the earliest `cap`, without asynchronous ones, which belong to no thread.
pub fn select(timeline: &Timeline, cap: usize, threads: usize) -> Selection {
    let (trace, order) = (&timeline.trace, timeline.order(threads));
    let kept: Vec<u32> =
        (0..order.event.len() as u32).filter(|&k| order.kind[k as usize] != Kind::Async).take(cap).collect();
    by_track(trace, order, &kept)
}

/// Selected events from chunk `first` on, about `most` of them, each as `{...},\n`; and the next chunk, 0 at the end.
pub fn events(
    timeline: &Timeline,
    selection: &Selection,
    args: &Args,
    pid_offset: u32,
    (first, most): (usize, usize),
    threads: usize,
) -> (Vec<Vec<u8>>, usize) {
    let trace = &timeline.trace;
    let work = |(run, events): (Run, &[u32])| {
        let mut out = Vec::with_capacity(events.len() * 128);
        let mut list = Vec::new();
        for &event in events {
            one(trace, args, run.track as usize, event as usize, pid_offset, &mut list, &mut out);
        }
        Ok(out)
    };
    let chunks = selection.chunks(CHUNK);
    let mut left = most;
    let fits = |(_, events): &&(Run, &[u32])| {
        let fits = left > 0;
        left = left.saturating_sub(events.len());
        fits
    };
    let jobs: Vec<_> = chunks.iter().skip(first).take_while(fits).copied().collect();
    let next = first + jobs.len();
    (parallel::run(threads, jobs, work).unwrap_or_default(), if next < chunks.len() { next } else { 0 })
}

fn one<'a>(
    trace: &Trace,
    args: &Args<'a>,
    track: usize,
    event: usize,
    pid_offset: u32,
    list: &mut Vec<(u32, Value<'a>)>,
    out: &mut Vec<u8>,
) {
    let source = trace.source[event] as usize;
    args.collect(source, list);
    list.retain(|(key, _)| *key != args.group_id && *key != args.flow);
    if trace.group_of(event) != NO_GROUP {
        list.push((args.group_id, Value::Int(trace.group_of(event))));
    }
    if let Some(flow) = trace.flow.get(event) {
        list.push((args.flow, Value::Uint(flow)));
    }
    list.sort_unstable_by_key(|(key, _)| *key);
    out.put(b"{");
    for (i, &(key, value)) in list.iter().enumerate() {
        out.put(if i == 0 { b"\"args\": {" } else { b", " });
        out.put(args.keys.quoted(key));
        out.put(b": ");
        stringly(out, args, value);
    }
    if !list.is_empty() {
        out.put(b"}, ");
    }
    let instant = trace.duration(event) <= 0;
    if !instant {
        out.put(b"\"dur\": ");
        out.micro(trace.duration(event));
        out.put(b", ");
    }
    out.put(b"\"name\": ");
    out.put(trace.names.quoted(trace.name[event]));
    out.put(if instant { b", \"ph\": \"i\", \"pid\": " } else { b", \"ph\": \"X\", \"pid\": " });
    out.uint(u64::from(trace.tracks[track].pid.wrapping_add(pid_offset)));
    if instant {
        out.put(b", \"s\": \"t\"");
    }
    out.put(b", \"tid\": ");
    out.uint(u64::from(trace.tracks[track].tid));
    out.put(b", \"ts\": ");
    out.micro(trace.begin[event]);
    out.put(b"},\n");
}
