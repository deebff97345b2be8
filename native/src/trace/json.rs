//! The events of a trace viewer as JSON, written without a detour: measured, allocated once, written in parallel.

use std::sync::Arc;

use super::args::{self, Args};
use super::order::{FLOW_IN, FLOW_OUT, Flow, Kind, Order};
use super::text::{Meter, Page, Sink};
use super::{NO_GROUP, Trace};
use crate::memory::ask_for_huge_pages;
use crate::parallel;

/// Names of the flow categories; generic and legacy flows have none.
const CATEGORIES: [&str; 18] = [
    "",
    "",
    "tf_exec",
    "tfrt_exec",
    "batch_sched",
    "PjRt",
    "as_batch_sched",
    "tfrt_rt",
    "tpu_embed",
    "gpu_launch",
    "batcher",
    "tpu_stream",
    "tpu_launch",
    "pathways_exec",
    "pjrt_library_call",
    "threadpool_event",
    "jax_serving",
    "sparsecore_offload",
];

/// Name of a flow category, empty when it has none.
pub fn category(flow: &Flow) -> &'static str {
    CATEGORIES.get(flow.category as usize).copied().unwrap_or("")
}

/// Largest integer that JavaScript holds exactly; larger ones are quoted.
const EXACT: u64 = 1 << 53;

/// What one host contributes to a body.
pub struct Host<'a> {
    pub trace: &'a Trace,
    /// Places in the order of the trace.
    pub places: &'a [u32],
    /// Added to every process id.
    pub pid_offset: u32,
    pub threads: usize,
}

/// Bytes that an event needs before its name, per track.
struct Prefixes {
    tracks: Vec<Vec<u8>>,
    processes: Vec<Vec<u8>>,
}

impl Prefixes {
    fn new(host: &Host) -> Self {
        let pid = |id: u32| id.wrapping_add(host.pid_offset);
        let tracks = host
            .trace
            .tracks
            .iter()
            .map(|t| format!(",{{\"pid\":{},\"tid\":{},\"name\":", pid(t.pid), t.tid).into_bytes())
            .collect();
        let processes =
            host.trace.tracks.iter().map(|t| format!(",{{\"pid\":{},\"name\":", pid(t.pid)).into_bytes()).collect();
        Prefixes { tracks, processes }
    }
}

/// A body that is measured and waits for its memory.
pub struct Plan<'a> {
    jobs: Vec<Job<'a>>,
    sizes: Vec<usize>,
    threads: usize,
}

impl<'a> Plan<'a> {
    pub fn new(hosts: &[Host<'a>]) -> Self {
        let mut jobs = Vec::new();
        for host in hosts {
            let prefixes = Arc::new(Prefixes::new(host));
            let share = host.places.len().div_ceil(4 * host.threads.max(1)).max(4096);
            for places in host.places.chunks(share) {
                jobs.push(Job {
                    trace: host.trace,
                    order: host.trace.order(host.threads),
                    places,
                    prefixes: prefixes.clone(),
                });
            }
        }
        let threads = hosts.iter().map(|h| h.threads).max().unwrap_or(1);
        let sizes = parallel::run(threads, jobs.iter().collect(), |job: &Job| Ok(job.measure())).unwrap_or_default();
        Plan { jobs, sizes, threads }
    }

    /// Bytes of the whole body.
    pub fn size(&self, head: &[u8], tail: &[u8]) -> usize {
        head.len() + self.sizes.iter().sum::<usize>() + tail.len()
    }

    /// Writes `head`, every event behind a comma, and `tail` into memory of exactly that size.
    pub fn write(&self, memory: &mut [u8], head: &[u8], tail: &[u8]) {
        if memory.len() != self.size(head, tail) {
            return;
        }
        ask_for_huge_pages(memory);
        let (front, mut rest) = memory.split_at_mut(head.len());
        front.copy_from_slice(head);
        let mut parts = Vec::with_capacity(self.jobs.len());
        for (job, &size) in self.jobs.iter().zip(&self.sizes) {
            let (part, left) = std::mem::take(&mut rest).split_at_mut(size);
            parts.push((job, part));
            rest = left;
        }
        rest.copy_from_slice(tail);
        // Jobs cannot fail.
        let _ = parallel::run(self.threads, parts, |(job, part): (&Job, &mut [u8])| {
            job.write(part);
            Ok(())
        });
    }
}

struct Job<'a> {
    trace: &'a Trace,
    order: &'a Order,
    places: &'a [u32],
    prefixes: Arc<Prefixes>,
}

impl Job<'_> {
    fn measure(&self) -> usize {
        let mut meter = Meter::default();
        self.emit(&mut meter);
        meter.len
    }

    fn write(&self, memory: &mut [u8]) {
        self.emit(&mut Page::new(memory));
    }

    fn emit(&self, out: &mut impl Sink) {
        for &place in self.places {
            self.event(place as usize, out);
        }
    }

    fn event(&self, place: usize, out: &mut impl Sink) {
        let (trace, order) = (self.trace, self.order);
        let event = order.event[place] as usize;
        let track = order.track[place] as usize;
        let flow = match order.kind[place] {
            Kind::Plain => None,
            Kind::Async => {
                if let Some(flow) = order.flow.get(place) {
                    self.pair(place, event, &flow, out);
                }
                return;
            }
            _ => order.flow.get(place),
        };
        out.put(&self.prefixes.tracks[track]);
        out.put(trace.names.quoted(trace.name[event]));
        times(out, trace.begin[event], trace.duration[event]);
        if let Some(flow) = flow {
            flow_fields(out, &flow);
        }
        out.put(b",\"ph\":\"X\",\"args\":{");
        group(out, trace.group_of(event), true);
        serial(out, order.serial[place]);
    }

    /// An asynchronous event as a begin and an end.
    fn pair(&self, place: usize, event: usize, flow: &Flow, out: &mut impl Sink) {
        let (trace, order) = (self.trace, self.order);
        let track = order.track[place] as usize;
        let group_id = trace.group_of(event);
        for (phase, time) in [(b'b', trace.begin[event]), (b'e', trace.end(event))] {
            out.put(&self.prefixes.processes[track]);
            out.put(trace.names.quoted(trace.name[event]));
            out.put(b",\"ts\":");
            out.micro(time);
            out.put(b",\"id\":");
            exact(out, flow.id);
            out.put(b",\"cat\":\"");
            out.put(category(flow).as_bytes());
            out.put(b"\",\"ph\":\"");
            out.put(&[phase]);
            out.put(b"\",\"args\":{");
            if phase == b'b' {
                group(out, group_id, true);
                serial(out, order.serial[place]);
            } else {
                group(out, group_id, false);
                out.put(b"}");
                if order.serial[place] > 0 {
                    out.put(b",\"z\":");
                    out.uint(u64::from(order.serial[place]));
                }
                out.put(b"}");
            }
        }
    }
}

fn times(out: &mut impl Sink, begin: i64, duration: i64) {
    out.put(b",\"ts\":");
    out.micro(begin);
    out.put(b",\"dur\":");
    out.micro(duration.max(1));
}

fn flow_fields(out: &mut impl Sink, flow: &Flow) {
    out.put(b",\"bind_id\":");
    exact(out, flow.id);
    let name = category(flow);
    if !name.is_empty() {
        out.put(b",\"cat\":\"");
        out.put(name.as_bytes());
        out.put(b"\"");
    }
    if flow.direction & FLOW_IN != 0 {
        out.put(b",\"flow_in\":true");
    }
    if flow.direction & FLOW_OUT != 0 {
        out.put(b",\"flow_out\":true");
    }
}

fn group(out: &mut impl Sink, group: i64, more: bool) {
    if group != NO_GROUP {
        out.put(b"\"group_id\":");
        out.int(group);
        if more {
            out.put(b",");
        }
    }
}

/// The serial as `uid`, the end of the args, and as `z` when there is one.
fn serial(out: &mut impl Sink, serial: u8) {
    out.put(b"\"uid\":");
    out.uint(u64::from(serial));
    if serial > 0 {
        out.put(b"},\"z\":");
        out.uint(u64::from(serial));
        out.put(b"}");
    } else {
        out.put(b"}}");
    }
}

fn exact(out: &mut impl Sink, value: u64) {
    if value > EXACT {
        out.put(b"\"");
        out.uint(value);
        out.put(b"\"");
    } else {
        out.uint(value);
    }
}

/// Events with all their arguments, each behind a comma; `frames` is the stack frame per text.
pub fn typed(host: &Host, args: &Args, frames: &[u32]) -> Vec<u8> {
    let (trace, order) = (host.trace, host.trace.order(host.threads));
    let prefixes = Prefixes::new(host);
    let write = |places: &[u32]| {
        let (mut out, mut list) = (Vec::new(), Vec::new());
        for &place in places {
            let (place, event) = (place as usize, order.event[place as usize] as usize);
            out.put(&prefixes.tracks[order.track[place] as usize]);
            out.put(trace.names.quoted(trace.name[event]));
            times(&mut out, trace.begin[event], trace.duration[event]);
            if let Some(flow) = order.flow.get(place) {
                flow_fields(&mut out, &flow);
            }
            out.put(b",\"ph\":\"X\",");
            args.collect(trace.source[event] as usize, &mut list);
            args::typed(&mut out, args, &list, trace.group_of(event), frames, false);
            if order.serial[place] > 0 {
                out.put(b",\"z\":");
                out.uint(u64::from(order.serial[place]));
            }
            out.put(b"}");
        }
        Ok(out)
    };
    parallel::run(host.threads, host.places.chunks(4096).collect(), write).unwrap_or_default().concat()
}

#[cfg(test)]
mod tests {
    use super::super::build::tests::{trace_of, trace_with};
    use super::super::select::{Query, select};
    use super::*;

    fn text(trace: &Trace, asynchronous: bool, threads: usize) -> String {
        let query = Query { begin: i64::MIN, end: i64::MAX, resolution: 0, asynchronous, threads };
        let places = select(trace, &query).places;
        let hosts = [Host { trace, places: &places, pid_offset: 1000, threads }];
        let plan = Plan::new(&hosts);
        let mut memory = vec![b'?'; plan.size(b"[0", b"]")];
        plan.write(&mut memory, b"[0", b"]");
        String::from_utf8(memory).expect("UTF-8")
    }

    #[test]
    fn plain_events_carry_serials() {
        let trace = trace_of(&[(0, 1_500_000, 2_000_000, 0), (0, 1_500_000, 0, 1)]);
        assert_eq!(
            text(&trace, false, 2),
            "[0,{\"pid\":1001,\"tid\":1,\"name\":\"n0\",\"ts\":1.5,\"dur\":2,\"ph\":\"X\",\"args\":{\"uid\":0}}\
             ,{\"pid\":1001,\"tid\":1,\"name\":\"n1\",\"ts\":1.5,\"dur\":0.000001,\"ph\":\"X\",\"args\":{\"uid\":1},\"z\":1}]"
        );
    }

    #[test]
    fn flows_carry_their_id_category_and_direction() {
        let trace = trace_with(
            &[(0, 0, 1, 0), (0, 5, 1, 1), (0, 9, 1, 2)],
            &[(0, 9 << 58 | 77 << 2 | 2), (1, 77 << 2 | 3), (2, (1 << 55) << 2 | 1)],
            &[],
        );
        let json = text(&trace, false, 1);
        assert!(json.contains(",\"bind_id\":77,\"cat\":\"gpu_launch\",\"flow_out\":true,\"ph\":\"X\""), "{json}");
        assert!(json.contains(",\"bind_id\":77,\"flow_in\":true,\"flow_out\":true,"), "{json}");
        assert!(json.contains(",\"bind_id\":\"36028797018963968\",\"flow_in\":true,"), "{json}");
    }

    #[test]
    fn asynchronous_events_become_pairs_without_a_thread() {
        let trace = trace_with(&[(0, 0, 3_000_000, 0)], &[(0, 7 << 2 | 3)], &[0]);
        assert_eq!(
            text(&trace, true, 1),
            "[0,{\"pid\":1001,\"name\":\"n0\",\"ts\":0,\"id\":7,\"cat\":\"\",\"ph\":\"b\",\"args\":{\"uid\":0}}\
             ,{\"pid\":1001,\"name\":\"n0\",\"ts\":3,\"id\":7,\"cat\":\"\",\"ph\":\"e\",\"args\":{}}]"
        );
    }

    #[test]
    fn many_events_are_written_in_parallel_as_measured() {
        let events: Vec<_> =
            (0..20_000).map(|i| (i % 3, i as i64 * 1_234_567, i as i64 * 17, (i % 10) as u32)).collect();
        let trace = trace_of(&events);
        assert_eq!(text(&trace, false, 4), text(&trace, false, 1));
        assert!(!text(&trace, false, 4).contains('?'));
    }
}
