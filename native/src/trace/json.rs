//! The events of a trace viewer as JSON, in the words that a writer of text and one of a compressed stream share.

use super::deflate::Packer;
use super::order::decode_flow;
use super::pieces::{Pieces, Writer};
use super::script::{Script, Words};
use super::select::Run;
use super::text::Sink;
use super::{NO_GROUP, Trace};

/// What an event says; the name as a piece.
pub struct Facts {
    begin: i64,
    duration: i64,
    flow: Option<u64>,
    group: i64,
    name: u32,
    serial: u8,
}

/// Events fetched at once.
const BATCH: usize = 64;

/// Writes runs of events, each behind a comma; `serial` is by event.
///
/// The end of an event is held back: with the beginning of the next one it is a chain that was written before.
pub fn emit(script: &mut Script, trace: &Trace, serial: &[u8], runs: &[(Run, &[u32])], out: &mut impl Events) {
    let mut held = script.words.nothing;
    let mut batch = Vec::with_capacity(BATCH);
    for (run, events) in runs {
        let track = script.track(trace, run);
        for events in events.chunks(BATCH) {
            // Fetched before they are written, so that the memory answers to many at once.
            batch.clear();
            batch.extend(events.iter().map(|&event| Facts::new(script, trace, serial, event as usize)));
            out.prepare(&script.pieces);
            for facts in &batch {
                held = if run.asynchronous {
                    out.piece(&script.pieces, held);
                    pair(script, track, facts, out);
                    script.words.nothing
                } else {
                    out.event(script, [held, track], facts)
                };
            }
        }
    }
    out.prepare(&script.pieces);
    out.piece(&script.pieces, held);
}

impl Facts {
    #[inline(always)]
    fn new(script: &mut Script, trace: &Trace, serial: &[u8], event: usize) -> Self {
        Facts {
            begin: trace.begin[event],
            duration: trace.duration[event],
            name: script.name(trace, trace.name[event]),
            flow: trace.flow.get(event),
            group: trace.group_of(event),
            serial: serial[event],
        }
    }
}

/// Where events go.
pub trait Events: Writer + Sized {
    /// Hears of pieces that were added.
    fn prepare(&mut self, _: &Pieces) {}

    /// Writes an event behind two pieces; gives the end that is still to be written.
    fn event(&mut self, script: &Script, before: [u32; 2], event: &Facts) -> u32 {
        plain(script, before, event, self)
    }
}

impl<S: Sink> Events for Plain<'_, S> {}

impl Events for Packer {
    fn prepare(&mut self, pieces: &Pieces) {
        self.fit(pieces);
    }

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
fn pair(script: &Script, process: u32, event: &Facts, out: &mut impl Writer) {
    let (pieces, words) = (&script.pieces, &script.words);
    let flow = decode_flow(event.flow.unwrap_or(0));
    let category = words.pair_category.get(flow.category as usize).copied().unwrap_or(words.pair_category[0]);
    let end = event.begin.saturating_add(event.duration.max(0));
    for (phase, time) in [(words.pair_begin, event.begin), (words.pair_end, end)] {
        out.piece(pieces, process);
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
pub mod tests {
    use super::super::build::tests::{trace_of, trace_with};
    use super::super::checksum;
    use super::super::select::{Query, Selection, select};
    use super::*;

    /// The events as text.
    pub fn plain(trace: &Trace, chosen: &Selection, pid_offset: u32) -> Vec<u8> {
        let mut text = Vec::new();
        let mut script = Script::new(trace, pid_offset);
        emit(&mut script, trace, &trace.order(1).serial, &chosen.chunks(usize::MAX), &mut Plain { out: &mut text });
        text
    }

    fn text(trace: &Trace, asynchronous: bool) -> String {
        let query = Query { begin: i64::MIN, end: i64::MAX, resolution: 0, asynchronous, threads: 1 };
        let chosen = select(trace, &query);
        let text = plain(trace, &chosen, 1000);
        let mut packer = Packer::new();
        let mut script = Script::new(trace, 1000);
        emit(&mut script, trace, &trace.order(1).serial, &chosen.chunks(usize::MAX), &mut packer);
        let packed = packer.finish();
        assert_eq!((packed.length, packed.register), (text.len() as u64, checksum::update(0, &text)));
        String::from_utf8(text).expect("UTF-8")
    }

    #[test]
    fn plain_events_carry_serials() {
        let trace = trace_of(&[(0, 1_500_000, 2_000_000, 0), (0, 1_500_000, 0, 1)]);
        assert_eq!(
            text(&trace, false),
            ",{\"pid\":1001,\"tid\":1,\"name\":\"n0\",\"ts\":1.500,\"dur\":2,\"ph\":\"X\",\"args\":{\"uid\":0}}\
             ,{\"pid\":1001,\"tid\":1,\"name\":\"n1\",\"ts\":1.500,\"dur\":0.000001,\"ph\":\"X\",\"args\":{\"uid\":1},\"z\":1}"
        );
    }

    #[test]
    fn flows_carry_their_id_category_and_direction() {
        let trace = trace_with(
            &[(0, 0, 1, 0), (0, 5, 1, 1), (0, 9, 1, 2)],
            &[(0, 9 << 58 | 77 << 2 | 2), (1, 77 << 2 | 3), (2, (1 << 55) << 2 | 1)],
            &[],
        );
        let json = text(&trace, false);
        assert!(json.contains(",\"bind_id\":77,\"cat\":\"gpu_launch\",\"flow_out\":true,\"ph\":\"X\""), "{json}");
        assert!(json.contains(",\"bind_id\":77,\"flow_in\":true,\"flow_out\":true,"), "{json}");
        assert!(json.contains(",\"bind_id\":\"36028797018963968\",\"flow_in\":true,"), "{json}");
    }

    #[test]
    fn asynchronous_events_become_pairs_without_a_thread() {
        let trace = trace_with(&[(0, 0, 3_000_000, 0)], &[(0, 7 << 2 | 3)], &[0]);
        assert_eq!(
            text(&trace, true),
            ",{\"pid\":1001,\"name\":\"n0\",\"ts\":0,\"id\":7,\"cat\":\"\",\"ph\":\"b\",\"args\":{\"uid\":0}}\
             ,{\"pid\":1001,\"name\":\"n0\",\"ts\":3,\"id\":7,\"cat\":\"\",\"ph\":\"e\",\"args\":{}}"
        );
    }
}
