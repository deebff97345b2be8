//! Packets of one sequence: slices, instants and samples in columns, of tracks on which events nest.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::wire;
use crate::wire::tags::perfetto::{self as tags, DebugAnnotation, TracePacket, TrackEvent};
use crate::wire::tags::xplane::XStat;
use crate::wire::write::{message, number, varint};

pub const PS_PER_NS: i64 = 1000;

/// Kinds of values, as stats have them.
const INT: u8 = wire::number(XStat::INT64_VALUE) as u8;
const UINT: u8 = wire::number(XStat::UINT64_VALUE) as u8;
const DOUBLE: u8 = wire::number(XStat::DOUBLE_VALUE) as u8;
const TEXT: u8 = wire::number(XStat::STR_VALUE) as u8;

/// Times of the file: ns since `origin_ns`, of a clock that `shift_ps` is added to.
#[derive(Clone, Copy, Default)]
pub struct Clock {
    pub origin_ns: i64,
    pub shift_ps: i64,
}

impl Clock {
    pub fn ns(&self, time_ps: i64) -> u64 {
        let since = time_ps.saturating_add(self.shift_ps).div_euclid(PS_PER_NS);
        since.saturating_add(self.origin_ns).max(0) as u64
    }
}

/// Events in order, each followed by its end before the next of its track begins; instants have no duration.
///
/// Texts are numbers of the caller, from 0, whose packets precede these with numbers from 1.
pub struct Events<'a> {
    pub track: &'a [i64],
    pub begin_ps: &'a [i64],
    pub duration_ps: &'a [i64],
    pub name: &'a [i64],
    pub arguments: Arguments<'a>,
    pub flows: Flows<'a>,
}

/// Arguments by event; `kind` and `value` are those of stats, values of texts their numbers.
pub struct Arguments<'a> {
    pub event: &'a [i64],
    pub key: &'a [i64],
    pub kind: &'a [u8],
    pub value: &'a [u64],
}

/// Flows by event, at its begin or at its end.
pub struct Flows<'a> {
    pub event: &'a [i64],
    pub number: &'a [u64],
    pub at_end: &'a [bool],
}

/// Writes packets of one sequence, whose first packet is another.
pub struct Packets {
    clock: Clock,
    /// Fields of every packet.
    tail: Vec<u8>,
}

impl Packets {
    pub fn new(sequence: u32, clock: Clock) -> Packets {
        let mut tail = Vec::new();
        number(&mut tail, TracePacket::TRUSTED_PACKET_SEQUENCE_ID, sequence.into());
        let flags = TracePacket::SequenceFlags::SEQ_NEEDS_INCREMENTAL_STATE;
        number(&mut tail, TracePacket::SEQUENCE_FLAGS, flags.into());
        Packets { clock, tail }
    }

    /// A time in ps as that of the file in ns.
    pub fn ns(&self, time_ps: i64) -> u64 {
        self.clock.ns(time_ps)
    }

    /// A packet with a `TrackEvent`.
    pub fn event(&self, time_ps: i64, event: &[u8], out: &mut Vec<u8>) {
        let ns = self.clock.ns(time_ps);
        let parts = size(TracePacket::TIMESTAMP.into()) + size(ns) + size(TracePacket::TRACK_EVENT.into());
        let length = parts + size(event.len() as u64) + event.len() + self.tail.len();
        varint(out, tags::Trace::PACKET.into());
        varint(out, length as u64);
        number(out, TracePacket::TIMESTAMP, ns as i64);
        message(out, TracePacket::TRACK_EVENT, event);
        out.extend_from_slice(&self.tail);
    }

    /// A packet with fields of `InternedData`.
    pub fn texts(&self, texts: &[u8], out: &mut Vec<u8>) {
        let mut body = Vec::with_capacity(texts.len() + 32);
        message(&mut body, TracePacket::INTERNED_DATA, texts);
        body.extend_from_slice(&self.tail);
        message(out, tags::Trace::PACKET, &body);
    }

    /// Packets of a counter's samples: of integers, if all values are.
    pub fn samples(&self, track: u64, begin_ps: &[i64], value: &[f64]) -> Vec<u8> {
        const WHOLE: f64 = (1u64 << 53) as f64;
        let whole = value.iter().all(|v| v.fract() == 0.0 && v.abs() <= WHOLE);
        let (mut out, mut body) = (Vec::with_capacity(begin_ps.len() * 32), Vec::new());
        for (&begin, &value) in begin_ps.iter().zip(value) {
            body.clear();
            number(&mut body, TrackEvent::TYPE, TrackEvent::Type::TYPE_COUNTER.into());
            number(&mut body, TrackEvent::TRACK_UUID, track as i64);
            if whole {
                number(&mut body, TrackEvent::COUNTER_VALUE, value as i64);
            } else {
                fixed(&mut body, TrackEvent::DOUBLE_COUNTER_VALUE, value.to_bits());
            }
            self.event(begin, &body, &mut out);
        }
        out
    }

    /// Packets of events. Fails if columns of one table differ in length.
    pub fn events(&self, events: &Events) -> Result<Vec<u8>> {
        let Events { track, begin_ps, duration_ps, name, ref arguments, ref flows } = *events;
        let count = track.len();
        if [begin_ps.len(), duration_ps.len(), name.len()].iter().any(|&length| length != count) {
            return Err(Error::argument("columns of events of different lengths"));
        }
        let length = arguments.event.len();
        if (arguments.key.len(), arguments.kind.len(), arguments.value.len()) != (length, length, length) {
            return Err(Error::argument("columns of arguments of different lengths"));
        }
        if (flows.number.len(), flows.at_end.len()) != (flows.event.len(), flows.event.len()) {
            return Err(Error::argument("columns of flows of different lengths"));
        }
        let mut out = Vec::with_capacity(count.saturating_mul(96));
        let (mut body, mut behind, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
        let (mut argument, mut flow) = (0, 0);
        for i in 0..count {
            let instant = duration_ps[i] == 0;
            let kind = if instant { TrackEvent::Type::TYPE_INSTANT } else { TrackEvent::Type::TYPE_SLICE_BEGIN };
            body.clear();
            number(&mut body, TrackEvent::TYPE, kind.into());
            number(&mut body, TrackEvent::TRACK_UUID, track[i]);
            number(&mut body, TrackEvent::NAME_IID, name[i].wrapping_add(1));
            let own = run_of(arguments.event, &mut argument, i);
            arguments.write(own, &mut scratch, &mut body);
            behind.clear();
            for flow in run_of(flows.event, &mut flow, i) {
                let packet = if flows.at_end[flow] && !instant { &mut behind } else { &mut body };
                fixed(packet, TrackEvent::FLOW_IDS, flows.number[flow]);
            }
            self.event(begin_ps[i], &body, &mut out);
            if !instant {
                body.clear();
                number(&mut body, TrackEvent::TYPE, TrackEvent::Type::TYPE_SLICE_END.into());
                number(&mut body, TrackEvent::TRACK_UUID, track[i]);
                body.extend_from_slice(&behind);
                self.event(begin_ps[i].saturating_add(duration_ps[i]), &body, &mut out);
            }
        }
        Ok(out)
    }
}

/// The rows of event `i` from `next` on, in a column of ascending events; `next` is behind them then.
fn run_of(events: &[i64], next: &mut usize, i: usize) -> Range<usize> {
    let first = *next;
    while events.get(*next).is_some_and(|&event| event == i as i64) {
        *next += 1;
    }
    first..*next
}

/// Memory that events share.
#[derive(Default)]
struct Scratch {
    rows: Vec<usize>,
    /// First row of each name, and how many rows it has; the first of `rows`.
    names: Vec<(usize, usize, usize)>,
    annotation: Vec<u8>,
    item: Vec<u8>,
}

impl Arguments<'_> {
    /// Arguments of an event in order; a repeated name has a list of values, where it first appears.
    fn write(&self, rows: Range<usize>, scratch: &mut Scratch, out: &mut Vec<u8>) {
        let Scratch { rows: sorted, names, annotation, item } = scratch;
        sorted.clear();
        sorted.extend(rows);
        sorted.sort_by_key(|&row| self.key[row]);
        names.clear();
        let mut place = 0;
        for run in sorted.chunk_by(|&a, &b| self.key[a] == self.key[b]) {
            names.push((run[0], run.len(), place));
            place += run.len();
        }
        names.sort_unstable();
        for &(first, count, place) in names.iter() {
            annotation.clear();
            number(annotation, DebugAnnotation::NAME_IID, self.key[first].wrapping_add(1));
            if count == 1 {
                self.value(first, annotation);
            } else {
                for &row in &sorted[place..place + count] {
                    item.clear();
                    self.value(row, item);
                    message(annotation, DebugAnnotation::ARRAY_VALUES, item);
                }
            }
            message(out, TrackEvent::DEBUG_ANNOTATIONS, annotation);
        }
    }

    fn value(&self, row: usize, out: &mut Vec<u8>) {
        let value = self.value[row];
        match self.kind[row] {
            INT => number(out, DebugAnnotation::INT_VALUE, value as i64),
            UINT => number(out, DebugAnnotation::UINT_VALUE, value as i64),
            TEXT => number(out, DebugAnnotation::STRING_VALUE_IID, value.wrapping_add(1) as i64),
            DOUBLE => fixed(out, DebugAnnotation::DOUBLE_VALUE, value),
            _ => {}
        }
    }
}

/// A field of eight bytes.
pub fn fixed(out: &mut Vec<u8>, tag: u32, value: u64) {
    varint(out, tag.into());
    out.extend_from_slice(&value.to_le_bytes());
}

/// Bytes of a varint.
#[inline]
fn size(value: u64) -> usize {
    (63 - (value | 1).leading_zeros() as usize) / 7 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_ARGUMENTS: Arguments = Arguments { event: &[], key: &[], kind: &[], value: &[] };
    const NO_FLOWS: Flows = Flows { event: &[], number: &[], at_end: &[] };

    fn written(arguments: Arguments, flows: Flows) -> Result<Vec<u8>> {
        let packets = Packets::new(1, Clock { origin_ns: 5, shift_ps: 0 });
        let (track, begin_ps, duration_ps, name) = (&[7, 7], &[0, 9000], &[2000, 0], &[0, 1]);
        packets.events(&Events { track, begin_ps, duration_ps, name, arguments, flows })
    }

    fn has(file: &[u8], part: &[u8]) -> usize {
        file.windows(part.len()).filter(|found| *found == part).count()
    }

    #[test]
    fn slices_have_an_end_and_instants_none() {
        let file = written(NO_ARGUMENTS, NO_FLOWS).unwrap();
        // Timestamp 5, a begin on track 7 with name 1; timestamp 7, its end; timestamp 14, an instant with name 2.
        let parts: [&[u8]; 3] = [
            &[0x40, 5, 0x5a, 6, 0x48, 1, 0x58, 7, 0x50, 1],
            &[0x40, 7, 0x5a, 4, 0x48, 2, 0x58, 7],
            &[0x40, 14, 0x5a, 6, 0x48, 3, 0x58, 7, 0x50, 2],
        ];
        assert_eq!(parts.map(|part| has(&file, part)), [1, 1, 1]);
    }

    #[test]
    fn a_repeated_name_is_a_list_where_it_first_appears() {
        let arguments = Arguments { event: &[0, 0, 0], key: &[4, 2, 4], kind: &[INT, TEXT, INT], value: &[1, 8, 3] };
        let file = written(arguments, NO_FLOWS).unwrap();
        let list = [0x22, 10, 0x08, 5, 0x62, 2, 0x20, 1, 0x62, 2, 0x20, 3];
        let text = [0x22, 5, 0x08, 3, 0x88, 1, 9];
        assert_eq!(has(&file, &[&list[..], &text[..]].concat()), 1);
    }

    #[test]
    fn flows_leave_slices_at_their_end_and_instants_where_they_are() {
        let flows = Flows { event: &[0, 0, 1], number: &[1, 2, 3], at_end: &[false, true, true] };
        let file = written(NO_ARGUMENTS, flows).unwrap();
        let flow = |number| [&[0xf9, 2, number][..], &[0; 7]].concat();
        assert_eq!(has(&file, &[&[0x50, 1][..], &flow(1)].concat()), 1, "at the begin");
        assert_eq!(has(&file, &[&[0x48, 2, 0x58, 7][..], &flow(2)].concat()), 1, "at the end");
        assert_eq!(has(&file, &[&[0x50, 2][..], &flow(3)].concat()), 1, "of an instant");
    }

    #[test]
    fn columns_of_different_lengths_are_refused() {
        assert!(written(Arguments { key: &[1], ..NO_ARGUMENTS }, NO_FLOWS).is_err());
        assert!(written(NO_ARGUMENTS, Flows { event: &[0], ..NO_FLOWS }).is_err());
    }

    #[test]
    fn times_stay_in_the_range_of_the_file() {
        let clock = Clock { origin_ns: 5, shift_ps: -1 };
        assert_eq!([0, 1, 1000, i64::MIN].map(|time| clock.ns(time)), [4, 5, 5, 0]);
        assert_eq!(Clock { origin_ns: i64::MAX, shift_ps: i64::MAX }.ns(i64::MAX), i64::MAX as u64);
    }
}
