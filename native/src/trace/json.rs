//! The events of a trace viewer as JSON, written without a detour: plain into memory of the exact size, or compressed.

use super::deflate::{self, Packed, Packer};
use super::order::decode_flow;
use super::pieces::{Pieces, Writer};
use super::script::{Script, Words};
use super::select::{Run, Selection};
use super::text::{Meter, Page, Sink};
use super::{NO_GROUP, Trace};
use crate::memory::ask_for_huge_pages;
use crate::parallel;

/// What one host contributes to a body.
pub struct Host<'a> {
    pub trace: &'a Trace,
    pub chosen: &'a Selection,
    /// Added to every process id.
    pub pid_offset: u32,
    pub threads: usize,
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

/// What an event says; the name as a piece.
struct Facts {
    begin: i64,
    duration: i64,
    flow: Option<u64>,
    group: i64,
    name: u32,
    serial: u8,
}

/// Events fetched at once.
const BATCH: usize = 64;

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
        pages: vec![packed.map_or_else(|| deflate::stored(text), <[u8]>::to_vec)],
        length: text.len() as u64,
        register: super::checksum::update(0, text),
    }
}

impl Job<'_> {
    /// The end of an event is held back: with the beginning of the next one it is a chain that was written before.
    fn emit(&self, script: &Script, out: &mut impl Events) {
        let mut held = script.words.nothing;
        let mut batch = Vec::with_capacity(BATCH);
        for (run, events) in &self.runs {
            let track = run.track as usize;
            for events in events.chunks(BATCH) {
                // Fetched before they are written, so that the memory answers to many at once.
                batch.clear();
                batch.extend(events.iter().map(|&event| self.facts(script, event as usize)));
                for facts in &batch {
                    held = if run.asynchronous {
                        out.piece(&script.pieces, held);
                        pair(script, track, facts, out);
                        script.words.nothing
                    } else {
                        out.event(script, [held, script.tracks[track]], facts)
                    };
                }
            }
        }
        out.piece(&script.pieces, held);
    }

    #[inline(always)]
    fn facts(&self, script: &Script, event: usize) -> Facts {
        let trace = self.trace;
        Facts {
            begin: trace.begin[event],
            duration: trace.duration[event],
            name: script.names[trace.name[event] as usize],
            flow: trace.flow.get(event),
            group: trace.group_of(event),
            serial: self.serial[event],
        }
    }
}

/// Where events go.
trait Events: Writer + Sized {
    /// Writes an event behind two pieces; gives the end that is still to be written.
    fn event(&mut self, script: &Script, before: [u32; 2], event: &Facts) -> u32 {
        plain(script, before, event, self)
    }
}

impl<S: Sink> Events for Plain<'_, S> {}

impl Events for Packer {
    #[inline(always)]
    fn event(&mut self, script: &Script, before: [u32; 2], event: &Facts) -> u32 {
        if script.pieces.are_short() {
            self.room_for_event();
            let mut cursor = self.cursor();
            let tail = plain(script, before, event, &mut cursor);
            let state = cursor.state;
            self.resume(state);
            tail
        } else {
            plain(script, before, event, self)
        }
    }
}

/// Writes an event behind two pieces; gives the end that is still to be written.
#[inline(always)]
fn plain(script: &Script, [before, track]: [u32; 2], event: &Facts, out: &mut impl Writer) -> u32 {
    let (pieces, words) = (&script.pieces, &script.words);
    out.chain(pieces, [before, track, event.name]);
    out.micro(event.begin);
    out.piece(pieces, words.duration);
    out.micro(event.duration.max(1));
    let flow = event.flow.map(decode_flow);
    if let Some(flow) = &flow {
        Words::exact(pieces, words.flow, flow.id, out);
    }
    let shape = words.shape(flow.as_ref());
    match (event.group, event.serial) {
        (NO_GROUP, 0) => shape.tail,
        (NO_GROUP, serial) => {
            out.piece(pieces, shape.phase);
            words.serial(pieces, serial, false, out)
        }
        (group, serial) => {
            words.signed(pieces, shape.with_group, group, out);
            words.serial(pieces, serial, true, out)
        }
    }
}

/// An asynchronous event as a begin and an end.
fn pair(script: &Script, track: usize, event: &Facts, out: &mut impl Writer) {
    let (pieces, words) = (&script.pieces, &script.words);
    let flow = decode_flow(event.flow.unwrap_or(0));
    let category = words.pair_category.get(flow.category as usize).copied().unwrap_or(words.pair_category[0]);
    let end = event.begin.saturating_add(event.duration.max(0));
    for (phase, time) in [(words.pair_begin, event.begin), (words.pair_end, end)] {
        out.piece(pieces, script.processes[track]);
        out.piece(pieces, event.name);
        out.micro(time);
        Words::exact(pieces, words.id, flow.id, out);
        out.piece(pieces, category);
        out.piece(pieces, phase);
        if event.group != NO_GROUP {
            words.signed(pieces, words.group, event.group, out);
        }
        let tail = if phase == words.pair_begin {
            words.serial(pieces, event.serial, event.group != NO_GROUP, out)
        } else {
            words.serial_of_end(pieces, event.serial, out)
        };
        out.piece(pieces, tail);
    }
}

/// Writes pieces and numbers as plain text.
pub struct Plain<'a, S: Sink> {
    pub out: &'a mut S,
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

    fn quote(&mut self) {
        self.out.put(b"\"");
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
