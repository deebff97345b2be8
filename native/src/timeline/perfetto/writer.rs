//! Packets of a host's events: begin and end of every slice, in the order in which slices nest on their lane. A track whose
//! events overlap without nesting becomes several lanes, on each of which they nest.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use crate::kernels::rows::Seeded;
use crate::timeline::answer::arguments::Args;
use crate::timeline::model::order::decode_flow;
use crate::timeline::model::trace::{NO_GROUP, Trace};
use crate::timeline::perfetto::annotations::{Annotations, Known};
use crate::timeline::perfetto::packets::{PS_PER_NS, Packets, fixed};
use crate::wire::tags::perfetto::TrackEvent;
use crate::wire::write::number;

/// Events of one track that are not written yet.
struct Cursor {
    /// Number of its first lane.
    uuid: u64,
    event: Vec<u32>,
    /// Lane of each event; empty: all are on the first.
    lane: Vec<u32>,
    next: usize,
    /// Ends of the open slices per lane, innermost last.
    open: Vec<Vec<i64>>,
}

impl Cursor {
    /// Number of the track of a lane, as a field.
    #[inline]
    fn number(&self, lane: usize) -> i64 {
        self.uuid.wrapping_add(lane as u64) as i64
    }
}

/// Writes the packets of one host, which are one sequence.
pub struct Writer {
    pub packets: Packets,
    /// Begin and end of the window whose events are written; None: all.
    window: Option<(i64, i64)>,
    annotations: Annotations,
    flows: HashMap<u64, u64, Seeded>,
    next_flow: u64,
    /// Tracks that are not written to their end.
    queue: VecDeque<Cursor>,
}

impl Writer {
    /// `window`: begin and end in ps of the events that are written, those that reach into it included; `first_flow`: least
    /// number of a flow.
    pub fn new(packets: Packets, window: Option<(i64, i64)>, first_flow: u64, categories: Vec<String>) -> Writer {
        let (flows, queue) = Default::default();
        Writer { packets, window, annotations: Annotations::new(categories), flows, next_flow: first_flow, queue }
    }

    /// The least number that no flow has so far.
    pub fn next_flow(&self) -> u64 {
        self.next_flow
    }

    /// Adds a track to those to be written; returns the number of its lanes, which are tracks from `uuid` on; 0 without
    /// events.
    pub fn add(&mut self, trace: &Trace, track: usize, uuid: u64) -> u32 {
        let bound = |i: usize| trace.track_events.get(i).map_or(0, |&at| at);
        let mut event: Vec<u32> = (bound(track)..bound(track + 1)).collect();
        if let Some((begin, end)) = self.window {
            event.retain(|&e| trace.begin[e as usize] <= end && trace.end(e as usize) >= begin);
        }
        if event.is_empty() {
            return 0;
        }
        let (mut lane, mut count) = (Vec::new(), 1);
        if trace.track_rows[track + 1] - trace.track_rows[track] > 1 {
            event.sort_by_key(|&e| (trace.begin[e as usize], Reverse(trace.duration(e as usize))));
            (lane, count) = lanes(event.iter().map(|&e| (trace.begin[e as usize], trace.end(e as usize))));
        }
        self.queue.push_back(Cursor { uuid, event, lane, next: 0, open: vec![Vec::new(); count as usize] });
        count
    }

    /// Packets of the next events of the added tracks, at most `most`; empty at their end.
    pub fn events(&mut self, trace: &Trace, args: &Args, most: usize) -> Vec<u8> {
        let known = Known::of(args);
        let (mut out, mut left) = (Vec::new(), most.max(1));
        while left > 0 {
            let Some(mut cursor) = self.queue.pop_front() else { break };
            left -= self.of_track(trace, args, &known, &mut cursor, left, &mut out);
            if cursor.next < cursor.event.len() {
                self.queue.push_front(cursor);
            }
        }
        self.with_texts(out)
    }

    /// Packets of at most `most` events of a track; returns their number.
    fn of_track(
        &mut self,
        trace: &Trace,
        args: &Args,
        known: &Known,
        cursor: &mut Cursor,
        most: usize,
        out: &mut Vec<u8>,
    ) -> usize {
        let (first, count) = (cursor.next, cursor.event.len());
        let last = count.min(first.saturating_add(most));
        out.reserve((last - first) * 96);
        let (mut body, mut list) = (Vec::new(), Vec::new());
        for i in first..last {
            let event = cursor.event[i] as usize;
            let lane = cursor.lane.get(i).map_or(0, |&lane| lane as usize);
            let (begin, end) = (trace.begin[event], trace.end(event));
            self.close(cursor, lane, begin, out);
            body.clear();
            let kind = if end > begin { TrackEvent::Type::TYPE_SLICE_BEGIN } else { TrackEvent::Type::TYPE_INSTANT };
            number(&mut body, TrackEvent::TYPE, kind.into());
            number(&mut body, TrackEvent::TRACK_UUID, cursor.number(lane));
            let name = trace.name[event];
            let name = self.annotations.texts.name(name, || trace.names.text(name));
            number(&mut body, TrackEvent::NAME_IID, name as i64);
            self.annotations.stats(args, known, trace.source[event] as usize, &mut list, &mut body);
            let group = trace.group_of(event);
            if group != NO_GROUP {
                self.annotations.group(args, group, &mut body);
            }
            let (begin_ns, end_ns) = (self.packets.ns(begin), self.packets.ns(end));
            let duration = end.wrapping_sub(begin);
            if end_ns.wrapping_sub(begin_ns).wrapping_mul(PS_PER_NS as u64) != duration as u64 {
                self.annotations.exact(args, known, duration, &mut body);
            }
            if let Some(flow) = trace.flow.get(event) {
                let next = self.next_flow;
                let flow = *self.flows.entry(decode_flow(flow).id).or_insert(next);
                self.next_flow += u64::from(flow == next);
                fixed(&mut body, TrackEvent::FLOW_IDS, flow);
            }
            self.packets.event(begin, &body, out);
            if end > begin {
                cursor.open[lane].push(end);
            }
        }
        cursor.next = last;
        if last == count {
            for lane in 0..cursor.open.len() {
                self.close(cursor, lane, i64::MAX, out);
            }
        }
        last - first
    }

    /// Ends the slices of a lane that end until `time`.
    #[inline]
    fn close(&self, cursor: &mut Cursor, lane: usize, time: i64, out: &mut Vec<u8>) {
        while let Some(&end) = cursor.open[lane].last().filter(|end| **end <= time) {
            cursor.open[lane].pop();
            let mut body = Vec::with_capacity(16);
            number(&mut body, TrackEvent::TYPE, TrackEvent::Type::TYPE_SLICE_END.into());
            number(&mut body, TrackEvent::TRACK_UUID, cursor.number(lane));
            self.packets.event(end, &body, out);
        }
    }

    /// The packets behind one with the texts that they are the first to need.
    fn with_texts(&mut self, packets: Vec<u8>) -> Vec<u8> {
        let texts = self.annotations.texts.take();
        if texts.is_empty() {
            return packets;
        }
        let mut out = Vec::with_capacity(texts.len() + packets.len() + 64);
        self.packets.texts(&texts, &mut out);
        out.extend_from_slice(&packets);
        out
    }
}

/// Lanes that hold nested events; further ones hold events that follow each other, so that no input takes long.
const NESTED: usize = 64;

/// Lane of every event, and the number of lanes; events are (begin, end), by (begin, longer first).
///
/// An event goes on the first lane that is free or whose innermost open event contains it; one without a duration always
/// on the first.
fn lanes(events: impl Iterator<Item = (i64, i64)>) -> (Vec<u32>, u32) {
    let mut open: Vec<Vec<i64>> = vec![Vec::new()];
    let mut rest: BinaryHeap<Reverse<(i64, u32)>> = BinaryHeap::new();
    let mut count = 1;
    let lane = |(begin, end): (i64, i64)| {
        if end <= begin {
            return 0;
        }
        for (lane, stack) in open.iter_mut().enumerate() {
            while stack.last().is_some_and(|&last| last <= begin) {
                stack.pop();
            }
            if stack.last().is_none_or(|&last| last >= end) {
                stack.push(end);
                return lane as u32;
            }
        }
        if open.len() < NESTED {
            open.push(vec![end]);
            count = open.len() as u32;
            return count - 1;
        }
        let lane = match rest.peek() {
            Some(&Reverse((free, lane))) if free <= begin => {
                rest.pop();
                lane
            }
            _ => {
                count += 1;
                count - 1
            }
        };
        rest.push(Reverse((end, lane)));
        lane
    };
    let found = events.map(lane).collect();
    (found, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::model::build::tests::trace_with;
    use crate::timeline::model::names::Names;
    use crate::timeline::perfetto::packets::Clock;
    use crate::wire::Reader;
    use crate::wire::tags::perfetto::TracePacket;

    /// (Time, type, track) of the packets with events, and the number of packets with texts.
    fn packets(file: &[u8]) -> (Vec<(u64, u64, u64)>, usize) {
        let (mut found, mut texts) = (Vec::new(), 0);
        let mut reader = Reader::new(file, 0, "trace");
        while reader.tag().unwrap().is_some() {
            let mut packet = reader.message("packet").unwrap();
            let (mut time, mut kind, mut track) = (0, 0, 0);
            while let Some(tag) = packet.tag().unwrap() {
                match tag {
                    TracePacket::TIMESTAMP => time = packet.varint().unwrap(),
                    TracePacket::TRACK_EVENT => {
                        let mut event = packet.message("event").unwrap();
                        while let Some(tag) = event.tag().unwrap() {
                            match tag {
                                TrackEvent::TYPE => kind = event.varint().unwrap(),
                                TrackEvent::TRACK_UUID => track = event.varint().unwrap(),
                                _ => event.skip(tag).unwrap(),
                            }
                        }
                    }
                    TracePacket::INTERNED_DATA => {
                        texts += 1;
                        packet.skip(tag).unwrap();
                    }
                    _ => packet.skip(tag).unwrap(),
                }
            }
            if kind > 0 {
                found.push((time, kind, track));
            }
        }
        (found, texts)
    }

    #[test]
    fn slices_end_before_the_next_begins_and_overlapping_ones_are_on_the_next_track() {
        let ns = |begin: i64, duration: i64| (0, begin * 1000, duration * 1000, 1);
        let trace = trace_with(&[ns(0, 10), ns(2, 3), ns(5, 5), ns(5, 0), ns(8, 4)], &[], &[]);
        let none = Names::default();
        let args = Args {
            data: &[],
            sheets: vec![],
            keys: &none,
            texts: &none,
            long_name: 0,
            group_id: 0,
            flow: 0,
            base: vec![],
        };
        let clock = Clock { origin_ns: 100, shift_ps: 0 };
        let all = [
            (100, 1, 7),
            (102, 1, 7),
            (105, 2, 7),
            (105, 1, 7),
            (105, 3, 7),
            (108, 1, 8),
            (110, 2, 7),
            (110, 2, 7),
            (112, 2, 8),
        ];
        for most in [9, 1] {
            let mut writer = Writer::new(Packets::new(1, clock), None, 1, vec![]);
            assert_eq!(writer.add(&trace, 0, 7), 2);
            let parts: Vec<_> = (0..5_usize.div_ceil(most)).map(|_| writer.events(&trace, &args, most)).collect();
            assert!(writer.events(&trace, &args, most).is_empty());
            assert_eq!(packets(&parts.concat()), (all.to_vec(), 1));
        }
    }
}

#[cfg(test)]
mod lanes_tests {
    use super::*;

    #[test]
    fn nested_events_share_a_lane_and_overlapping_ones_do_not() {
        let events = [(0, 10), (2, 6), (2, 4), (5, 12), (6, 6), (10, 11), (12, 15), (12, 12)];
        assert_eq!(lanes(events.into_iter()), (vec![0, 0, 0, 1, 0, 0, 0, 0], 2));
        assert_eq!(lanes(std::iter::empty()), (vec![], 1));
    }

    #[test]
    fn any_number_of_overlapping_events_nests_on_every_lane() {
        let events: Vec<(i64, i64)> =
            (0..3000).map(|i| (i, i + 200)).chain((5000..5100).map(|i| (i, i + 1_000_000))).collect();
        let (lane, count) = lanes(events.iter().copied());
        assert_eq!(count, 200);
        let mut open = vec![Vec::<i64>::new(); count as usize];
        for (&(begin, end), &lane) in events.iter().zip(&lane) {
            let stack = &mut open[lane as usize];
            stack.retain(|&last| last > begin);
            assert!(stack.iter().all(|&last| last >= end));
            stack.push(end);
        }
    }
}
