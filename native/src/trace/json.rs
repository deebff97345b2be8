//! The events of a trace viewer as JSON, written without a detour: plain into memory of the exact size, or compressed.

use super::args::{self, Args};
use super::deflate::{self, Packed, Packer};
use super::order::{FLOW_IN, FLOW_OUT, Flow, decode_flow};
use super::pieces::{Pieces, Writer};
use super::select::{Run, Selection};
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
    pub chosen: &'a Selection,
    /// Added to every process id.
    pub pid_offset: u32,
    pub threads: usize,
}

/// The texts that all events have in common.
#[derive(Default)]
struct Words {
    duration: u32,
    z: u32,
    phase: u32,
    tail: u32,
    with_group: u32,
    group: u32,
    group_tail: u32,
    more: u32,
    serial: u32,
    next_serial: u32,
    close: u32,
    flow: u32,
    quote: u32,
    minus: u32,
    flow_in: u32,
    flow_out: u32,
    categories: Vec<u32>,
    id: u32,
    pair_begin: u32,
    pair_end: u32,
    pair_category: Vec<u32>,
}

/// All texts of one host's events.
struct Script {
    pieces: Pieces,
    words: Words,
    /// By track: what stands before a name; by name: the name and what follows it.
    tracks: Vec<u32>,
    processes: Vec<u32>,
    names: Vec<u32>,
    /// By track: the end of a plain event and the beginning of the next one on the same track, without and with a group.
    links: Vec<[u32; 2]>,
}

const UNUSED: u32 = u32::MAX;
const TAIL: &[u8] = b",\"ph\":\"X\",\"args\":{\"uid\":0}}";
const GROUP_TAIL: &[u8] = b",\"uid\":0}}";

impl Script {
    fn new(host: &Host) -> Self {
        let trace = host.trace;
        let mut pieces = Pieces::default();
        let words = Words::new(&mut pieces);
        let mut script = Script {
            pieces,
            words,
            tracks: vec![UNUSED; trace.tracks.len()],
            processes: vec![UNUSED; trace.tracks.len()],
            names: vec![UNUSED; trace.names.len()],
            links: vec![[UNUSED; 2]; trace.tracks.len()],
        };
        for run in &host.chosen.runs {
            if script.tracks[run.track as usize] == UNUSED {
                script.add_track(host, run.track as usize);
            }
        }
        for &event in &host.chosen.events {
            let name = trace.name[event as usize];
            if script.names.get(name as usize) == Some(&UNUSED) {
                script.names[name as usize] = script.pieces.add(&[trace.names.quoted(name), b",\"ts\":"].concat());
            }
        }
        script
    }

    fn add_track(&mut self, host: &Host, track: usize) {
        let id = host.trace.tracks[track];
        let pid = id.pid.wrapping_add(host.pid_offset);
        let prefix = format!(",{{\"pid\":{pid},\"tid\":{},\"name\":", id.tid);
        self.tracks[track] = self.pieces.add(prefix.as_bytes());
        self.processes[track] = self.pieces.add(format!(",{{\"pid\":{pid},\"name\":").as_bytes());
        self.links[track] = [TAIL, GROUP_TAIL].map(|tail| self.pieces.add(&[tail, prefix.as_bytes()].concat()));
    }
}

impl Words {
    fn new(pieces: &mut Pieces) -> Self {
        let named = |pieces: &mut Pieces, always: bool| -> Vec<u32> {
            let text = |name: &&str| {
                if name.is_empty() && !always { String::new() } else { format!(",\"cat\":\"{name}\"") }
            };
            CATEGORIES.iter().map(|name| pieces.add(text(name).as_bytes())).collect()
        };
        Words {
            duration: pieces.add(b",\"dur\":"),
            z: pieces.add(b"\"z\":"),
            phase: pieces.add(b",\"ph\":\"X\",\"args\":{"),
            tail: pieces.add(TAIL),
            with_group: pieces.add(b",\"ph\":\"X\",\"args\":{\"group_id\":"),
            group: pieces.add(b"\"group_id\":"),
            group_tail: pieces.add(GROUP_TAIL),
            more: pieces.add(b","),
            serial: pieces.add(b"\"uid\":"),
            next_serial: pieces.add(b"},\"z\":"),
            close: pieces.add(b"}"),
            flow: pieces.add(b",\"bind_id\":"),
            quote: pieces.add(b"\""),
            minus: pieces.add(b"-"),
            flow_in: pieces.add(b",\"flow_in\":true"),
            flow_out: pieces.add(b",\"flow_out\":true"),
            categories: named(pieces, false),
            id: pieces.add(b",\"id\":"),
            pair_begin: pieces.add(b",\"ph\":\"b\",\"args\":{"),
            pair_end: pieces.add(b",\"ph\":\"e\",\"args\":{"),
            pair_category: named(pieces, true),
        }
    }
}

/// A body in parts that can be written independently.
pub struct Plan<'a> {
    scripts: Vec<Script>,
    jobs: Vec<Job<'a>>,
    threads: usize,
}

struct Job<'a> {
    trace: &'a Trace,
    serial: &'a [u8],
    runs: Vec<(Run, &'a [u32])>,
    script: usize,
}

impl<'a> Plan<'a> {
    pub fn new(hosts: &[Host<'a>]) -> Self {
        let threads = hosts.iter().map(|h| h.threads).max().unwrap_or(1);
        let scripts = hosts.iter().map(Script::new).collect();
        let mut jobs = Vec::new();
        for (script, host) in hosts.iter().enumerate() {
            let (trace, serial) = (host.trace, host.trace.order(host.threads).serial.as_slice());
            let share = host.chosen.events.len().div_ceil(4 * host.threads.max(1)).max(8192);
            let mut runs = Vec::new();
            let mut size = 0;
            for run in host.chosen.chunks(share) {
                size += run.1.len();
                runs.push(run);
                if size >= share {
                    jobs.push(Job { trace, serial, runs: std::mem::take(&mut runs), script });
                    size = 0;
                }
            }
            jobs.push(Job { trace, serial, runs, script });
        }
        Plan { scripts, jobs, threads }
    }

    /// Bytes of every part when written plainly.
    pub fn measure(&self) -> Vec<usize> {
        let work = |job: &Job| {
            let mut meter = Meter::default();
            job.emit(&self.scripts[job.script], &mut Plain { out: &mut meter });
            Ok(meter.len)
        };
        // Jobs cannot fail, here and below.
        parallel::run(self.threads, self.jobs.iter().collect(), work).unwrap_or_default()
    }

    /// Writes `head`, every event behind a comma, and `tail` into memory that has room for exactly them.
    pub fn write(&self, sizes: &[usize], memory: &mut [u8], head: &[u8], tail: &[u8]) {
        if memory.len() != head.len() + sizes.iter().sum::<usize>() + tail.len() {
            return;
        }
        ask_for_huge_pages(memory);
        let (front, mut rest) = memory.split_at_mut(head.len());
        front.copy_from_slice(head);
        let mut parts = Vec::with_capacity(self.jobs.len());
        for (job, &size) in self.jobs.iter().zip(sizes) {
            let (part, left) = std::mem::take(&mut rest).split_at_mut(size);
            parts.push((job, part));
            rest = left;
        }
        rest.copy_from_slice(tail);
        let _ = parallel::run(self.threads, parts, |(job, part): (&Job, &mut [u8])| {
            job.emit(&self.scripts[job.script], &mut Plain { out: &mut Page::new(part) });
            Ok(())
        });
    }

    /// The events as parts of a compressed stream.
    pub fn pack(&self) -> Vec<Packed> {
        let work = |job: &Job| {
            let script = &self.scripts[job.script];
            let mut packer = Packer::new(&script.pieces);
            job.emit(script, &mut packer);
            Ok(packer.finish())
        };
        parallel::run(self.threads, self.jobs.iter().collect(), work).unwrap_or_default()
    }
}

/// A text as a part of a compressed stream, as it is or (`packed`) compressed already, ending at a byte.
pub fn part(text: &[u8], packed: Option<&[u8]>) -> Packed {
    Packed {
        bytes: packed.map_or_else(|| deflate::stored(text), <[u8]>::to_vec),
        length: text.len() as u64,
        register: super::checksum::update(0, text),
    }
}

impl Job<'_> {
    fn emit(&self, script: &Script, out: &mut impl Writer) {
        for (run, events) in &self.runs {
            if run.asynchronous {
                for &event in *events {
                    self.pair(script, run.track as usize, event as usize, out);
                }
            } else {
                self.run(script, run.track as usize, events, out);
            }
        }
    }

    /// Events of one track. The end of a plain event is held back: with the beginning of its neighbour it is one piece.
    fn run(&self, script: &Script, track: usize, events: &[u32], out: &mut impl Writer) {
        let (pieces, words) = (&script.pieces, &script.words);
        let mut held: Option<usize> = None;
        for (i, &event) in events.iter().enumerate() {
            match held {
                Some(kind) => out.piece(pieces, script.links[track][kind]),
                None => out.piece(pieces, script.tracks[track]),
            }
            held = self.event(script, event as usize, out);
            if let (Some(kind), true) = (held, i + 1 == events.len()) {
                out.piece(pieces, [words.tail, words.group_tail][kind]);
            }
        }
    }

    /// Writes an event from its name on; gives the end that is still to be written, if it is a plain one.
    #[inline]
    fn event(&self, script: &Script, event: usize, out: &mut impl Writer) -> Option<usize> {
        let (trace, pieces, words) = (self.trace, &script.pieces, &script.words);
        out.piece(pieces, script.names[trace.name[event] as usize]);
        out.micro(trace.begin[event]);
        out.piece(pieces, words.duration);
        out.micro(trace.duration[event].max(1));
        if let Some(value) = trace.flow.get(event) {
            flow_fields(script, &decode_flow(value), out);
        }
        let (group, serial) = (trace.group_of(event), self.serial[event]);
        match (group == NO_GROUP, serial) {
            (true, 0) => return Some(0),
            (true, _) => out.piece(pieces, words.phase),
            (false, _) => {
                out.piece(pieces, words.with_group);
                signed(script, group, out);
                if serial == 0 {
                    return Some(1);
                }
                out.piece(pieces, words.more);
            }
        }
        serials(script, serial, out);
        None
    }

    /// An asynchronous event as a begin and an end.
    fn pair(&self, script: &Script, track: usize, event: usize, out: &mut impl Writer) {
        let (trace, pieces, words) = (self.trace, &script.pieces, &script.words);
        let (group, serial) = (trace.group_of(event), self.serial[event]);
        let flow = decode_flow(trace.flow.get(event).unwrap_or(0));
        for (phase, time) in [(words.pair_begin, trace.begin[event]), (words.pair_end, trace.end(event))] {
            out.piece(pieces, script.processes[track]);
            out.piece(pieces, script.names[trace.name[event] as usize]);
            out.micro(time);
            out.piece(pieces, words.id);
            exact(script, flow.id, out);
            out.piece(
                pieces,
                words.pair_category.get(flow.category as usize).copied().unwrap_or(words.pair_category[0]),
            );
            out.piece(pieces, phase);
            if group != NO_GROUP {
                out.piece(pieces, words.group);
                signed(script, group, out);
            }
            if phase == words.pair_begin {
                if group != NO_GROUP {
                    out.piece(pieces, words.more);
                }
                serials(script, serial, out);
            } else {
                out.piece(pieces, words.close);
                if serial > 0 {
                    out.piece(pieces, words.more);
                    out.piece(pieces, words.z);
                    out.uint(u64::from(serial));
                }
                out.piece(pieces, words.close);
            }
        }
    }
}

fn flow_fields(script: &Script, flow: &Flow, out: &mut impl Writer) {
    let (pieces, words) = (&script.pieces, &script.words);
    out.piece(pieces, words.flow);
    exact(script, flow.id, out);
    out.piece(pieces, words.categories.get(flow.category as usize).copied().unwrap_or(words.categories[0]));
    if flow.direction & FLOW_IN != 0 {
        out.piece(pieces, words.flow_in);
    }
    if flow.direction & FLOW_OUT != 0 {
        out.piece(pieces, words.flow_out);
    }
}

/// The serial as `uid`, the end of the args, and as `z` when there is one.
fn serials(script: &Script, serial: u8, out: &mut impl Writer) {
    let (pieces, words) = (&script.pieces, &script.words);
    out.piece(pieces, words.serial);
    out.uint(u64::from(serial));
    if serial > 0 {
        out.piece(pieces, words.next_serial);
        out.uint(u64::from(serial));
    } else {
        out.piece(pieces, words.close);
    }
    out.piece(pieces, words.close);
}

fn signed(script: &Script, value: i64, out: &mut impl Writer) {
    if value < 0 {
        out.piece(&script.pieces, script.words.minus);
    }
    out.uint(value.unsigned_abs());
}

fn exact(script: &Script, value: u64, out: &mut impl Writer) {
    let quoted = value > EXACT;
    if quoted {
        out.piece(&script.pieces, script.words.quote);
    }
    out.uint(value);
    if quoted {
        out.piece(&script.pieces, script.words.quote);
    }
}

/// Events with all their arguments, each behind a comma; `frames` is the stack frame per text.
pub fn typed(host: &Host, args: &Args, frames: &[u32]) -> Vec<u8> {
    let (trace, serial) = (host.trace, &host.trace.order(host.threads).serial);
    let script = Script::new(host);
    let write = |(run, events): (Run, &[u32])| {
        let (mut out, mut list) = (Vec::new(), Vec::new());
        for &event in events {
            let event = event as usize;
            out.put(script.pieces.text(script.tracks[run.track as usize]));
            out.put(trace.names.quoted(trace.name[event]));
            out.put(b",\"ts\":");
            out.micro(trace.begin[event]);
            out.put(b",\"dur\":");
            out.micro(trace.duration[event].max(1));
            if let Some(value) = trace.flow.get(event) {
                flow_fields(&script, &decode_flow(value), &mut Plain { out: &mut out });
            }
            out.put(b",\"ph\":\"X\",");
            args.collect(trace.source[event] as usize, &mut list);
            args::typed(&mut out, args, &list, trace.group_of(event), frames, false);
            if serial[event] > 0 {
                out.put(b",\"z\":");
                out.uint(u64::from(serial[event]));
            }
            out.put(b"}");
        }
        Ok(out)
    };
    parallel::run(host.threads, host.chosen.chunks(4096), write).unwrap_or_default().concat()
}

/// Writes pieces and numbers as plain text.
struct Plain<'a, S: Sink> {
    out: &'a mut S,
}

impl<S: Sink> Writer for Plain<'_, S> {
    fn piece(&mut self, pieces: &Pieces, number: u32) {
        self.out.put(pieces.text(number));
    }

    fn uint(&mut self, value: u64) {
        self.out.uint(value);
    }

    fn micro(&mut self, value: i64) {
        self.out.micro(value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::tests::{trace_of, trace_with};
    use super::super::checksum;
    use super::super::select::{Query, select};
    use super::*;

    fn text(trace: &Trace, asynchronous: bool, threads: usize) -> String {
        let query = Query { begin: i64::MIN, end: i64::MAX, resolution: 0, asynchronous, threads };
        let chosen = select(trace, &query);
        let hosts = [Host { trace, chosen: &chosen, pid_offset: 1000, threads }];
        let plan = Plan::new(&hosts);
        let sizes = plan.measure();
        let mut memory = vec![b'?'; sizes.iter().sum::<usize>() + 3];
        plan.write(&sizes, &mut memory, b"[0", b"]");
        let packed = plan.pack();
        assert_eq!(
            packed.iter().map(|part| part.length).collect::<Vec<_>>(),
            sizes.iter().map(|&s| s as u64).collect::<Vec<_>>()
        );
        let register = packed.iter().fold(0, |r, part| checksum::join(r, part.register, part.length));
        assert_eq!(register, checksum::update(0, &memory[2..memory.len() - 1]));
        String::from_utf8(memory).expect("UTF-8")
    }

    #[test]
    fn plain_events_carry_serials() {
        let trace = trace_of(&[(0, 1_500_000, 2_000_000, 0), (0, 1_500_000, 0, 1)]);
        assert_eq!(
            text(&trace, false, 2),
            "[0,{\"pid\":1001,\"tid\":1,\"name\":\"n0\",\"ts\":1.500,\"dur\":2,\"ph\":\"X\",\"args\":{\"uid\":0}}\
             ,{\"pid\":1001,\"tid\":1,\"name\":\"n1\",\"ts\":1.500,\"dur\":0.000001,\"ph\":\"X\",\"args\":{\"uid\":1},\"z\":1}]"
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
