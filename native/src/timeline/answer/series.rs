//! The trace viewer's binary form: one series of events per track, as fields of a `TraceDataResponse`.

use std::collections::{BTreeMap, HashMap};

use crate::timeline::model::order::{Order, decode_flow};
use crate::timeline::model::trace::{NO_GROUP, Trace};
use crate::timeline::packed::Source;
use crate::timeline::packed::flow::category;
use crate::timeline::query::select::Run;
use crate::wire::tags::trace_data::{
    TraceDataResponse, TraceEventMetadata, TraceEventSeries, TraceEventSeriesMetadata,
};
use crate::wire::write::{message, packed, present, varint};

/// Samples of one value of a counter.
pub struct Samples<'a> {
    pub pid: u32,
    pub name: &'a str,
    pub series: &'a str,
    pub begin: &'a [i64],
    pub value: &'a [f64],
    /// Whether the values are written as integers.
    pub whole: bool,
}

/// Texts by number; 0 is the empty one.
#[derive(Default)]
struct Texts {
    known: HashMap<Vec<u8>, u32>,
    fields: Vec<u8>,
}

impl Texts {
    fn new() -> Self {
        let mut texts = Texts::default();
        texts.number(b"");
        texts
    }

    fn number(&mut self, text: &[u8]) -> u32 {
        if let Some(&number) = self.known.get(text) {
            return number;
        }
        let number = self.known.len() as u32;
        self.known.insert(text.to_vec(), number);
        message(&mut self.fields, TraceDataResponse::INTERNED_STRINGS, text);
        number
    }
}

/// Counters, selected events and their texts as fields of the message.
pub fn fields(sources: &[Source], counters: &[Samples], threads: usize) -> Vec<u8> {
    let (mut out, mut texts) = (Vec::new(), Texts::new());
    for counter in counters {
        let body = of_samples(counter, &mut texts);
        message(&mut out, TraceDataResponse::COUNTER_EVENTS, &body);
    }
    for source in sources {
        let (trace, order) = (&source.timeline.trace, source.timeline.order(threads));
        let mut host = Host { trace, order, pid_offset: source.pid_offset, numbers: HashMap::new(), texts: &mut texts };
        for (run, events) in source.selection.chunks(usize::MAX) {
            if run.asynchronous {
                host.asynchronous(run, events, &mut out);
            } else {
                host.track(run, events, &mut out);
            }
        }
    }
    out.append(&mut texts.fields);
    out
}

fn of_samples(counter: &Samples, texts: &mut Texts) -> Vec<u8> {
    let mut place = Vec::new();
    present(&mut place, TraceEventSeriesMetadata::PROCESS_ID, counter.pid.into());
    present(&mut place, TraceEventSeriesMetadata::NAME_REF, texts.number(counter.name.as_bytes()).into());
    present(&mut place, TraceEventSeriesMetadata::EVENT_STATS_REF, texts.number(counter.series.as_bytes()).into());
    let mut out = Vec::new();
    message(&mut out, TraceEventSeries::METADATA, &place);
    packed(&mut out, TraceEventSeries::DELTAS_PACKED, deltas(counter.begin.iter().copied()));
    let mut one = Vec::new();
    for &value in counter.value {
        one.clear();
        // Fields of a choice are written even if they are 0.
        if counter.whole {
            varint(&mut one, TraceEventMetadata::COUNTER_VALUE_UINT64.into());
            varint(&mut one, value as u64);
        } else {
            varint(&mut one, TraceEventMetadata::COUNTER_VALUE_DOUBLE.into());
            one.extend_from_slice(&value.to_le_bytes());
        }
        message(&mut out, TraceEventSeries::EVENT_METADATA, &one);
    }
    out
}

/// Each time less the one before; readers add them up in 64 bits, so they may wrap around.
fn deltas(times: impl Iterator<Item = i64>) -> impl Iterator<Item = u64> {
    times.scan(0, |last, time| Some((time.wrapping_sub(std::mem::replace(last, time))) as u64))
}

struct Host<'a> {
    trace: &'a Trace,
    order: &'a Order,
    pid_offset: u32,
    /// Number of the text per name id.
    numbers: HashMap<u32, u32>,
    texts: &'a mut Texts,
}

impl Host<'_> {
    fn name(&mut self, id: u32) -> u64 {
        let (trace, texts) = (self.trace, &mut *self.texts);
        (*self.numbers.entry(id).or_insert_with(|| texts.number(trace.names.text(id)))).into()
    }

    fn pid(&self, run: Run) -> u64 {
        self.trace.tracks[run.track as usize].pid.wrapping_add(self.pid_offset).into()
    }

    fn track(&mut self, run: Run, events: &[u32], out: &mut Vec<u8>) {
        let mut place = Vec::new();
        present(&mut place, TraceEventSeriesMetadata::PROCESS_ID, self.pid(run));
        present(&mut place, TraceEventSeriesMetadata::THREAD_ID, self.trace.tracks[run.track as usize].tid.into());
        let names: Vec<u64> = events.iter().map(|&event| self.name(self.trace.name[event as usize])).collect();
        let body = self.series(&place, events, &names);
        message(out, TraceDataResponse::COMPLETE_EVENTS, &body);
    }

    /// One series per name.
    fn asynchronous(&mut self, run: Run, events: &[u32], out: &mut Vec<u8>) {
        let mut named: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &event in events {
            named.entry(self.trace.name[event as usize]).or_default().push(event);
        }
        for (name, events) in named {
            let mut place = Vec::new();
            present(&mut place, TraceEventSeriesMetadata::PROCESS_ID, self.pid(run));
            present(&mut place, TraceEventSeriesMetadata::NAME_REF, self.name(name));
            let body = self.series(&place, &events, &[]);
            message(out, TraceDataResponse::ASYNC_EVENTS, &body);
        }
    }

    fn series(&mut self, place: &[u8], events: &[u32], names: &[u64]) -> Vec<u8> {
        let trace = self.trace;
        let mut out = Vec::new();
        message(&mut out, TraceEventSeries::METADATA, place);
        let times = events.iter().map(|&event| trace.begin[event as usize]);
        packed(&mut out, TraceEventSeries::DELTAS_PACKED, deltas(times));
        let durations = events.iter().map(|&event| trace.duration(event as usize).max(0) as u64);
        packed(&mut out, TraceEventSeries::DURATIONS_PACKED, durations);
        packed(&mut out, TraceEventSeries::NAME_REFS_PACKED, names.iter().copied());
        let mut one = Vec::new();
        for &event in events {
            one.clear();
            self.facts(event as usize, &mut one);
            message(&mut out, TraceEventSeries::EVENT_METADATA, &one);
        }
        out
    }

    /// Flow, group and serial of an event; the format has 32 bits for each.
    fn facts(&mut self, event: usize, out: &mut Vec<u8>) {
        if let Some(flow) = self.trace.flow.get(event).map(decode_flow) {
            present(out, TraceEventMetadata::FLOW_ID, u64::from(flow.id as u32));
            present(out, TraceEventMetadata::FLOW_CATEGORY, self.texts.number(category(&flow).as_bytes()).into());
        }
        let group = self.trace.group_of(event);
        if group != NO_GROUP {
            present(out, TraceEventMetadata::GROUP_ID, u64::from(group as u32));
        }
        present(out, TraceEventMetadata::SERIAL, self.order.serial[event].into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::model::build::tests::trace_with;
    use crate::timeline::query::select::{Query, select};

    fn written(trace: Trace, counters: &[Samples]) -> Vec<u8> {
        let timeline = &trace.into();
        let query = Query { begin: i64::MIN, end: i64::MAX, resolution: 0, middles: true, threads: 1 };
        let selection = &select(timeline, &query);
        fields(&[Source { timeline, selection, pid_offset: 1000 }], counters, 1)
    }

    #[test]
    fn a_track_is_one_series_with_times_as_differences() {
        let trace = trace_with(&[(0, 5, 3, 1), (0, 9, 0, 2), (0, 9, 300, 1)], &[(0, 9 << 58 | 77 << 2 | 2)], &[]);
        let place = [8, 0xe9, 7, 16, 1]; // process 1001, thread 1
        let times = [18, 3, 5, 4, 0, 26, 4, 3, 0xac, 2, 0, 34, 3, 1, 1, 2];
        let facts = [42, 4, 8, 77, 16, 3, 42, 0, 42, 2, 32, 1]; // flow 77 of category 3; nothing; serial 1
        let series = [&[10, 5][..], &place, &times, &facts].concat();
        let texts = b"\x2a\x00\x2a\x02n1\x2a\x02n2\x2a\x0agpu_launch";
        assert_eq!(written(trace, &[]), [&[10, series.len() as u8][..], &series, texts].concat());
    }

    #[test]
    fn asynchronous_events_are_series_by_name() {
        let trace = trace_with(&[(0, 0, 3, 2), (0, 1, 3, 1), (0, 7, 1, 2)], &[(0, 7), (1, 7), (2, 7)], &[0, 1, 2]);
        let flow = [42, 2, 8, 1];
        let first = [&[10, 5, 8, 0xe9, 7, 24, 1, 18, 1, 1, 26, 1, 3][..], &flow].concat();
        let second = [&[10, 5, 8, 0xe9, 7, 24, 2, 18, 2, 0, 7, 26, 2, 3, 1][..], &flow, &flow].concat();
        let texts = b"\x2a\x00\x2a\x02n1\x2a\x02n2";
        let expected = [&[26, first.len() as u8][..], &first, &[26, second.len() as u8], &second, texts].concat();
        assert_eq!(written(trace, &[]), expected);
    }

    #[test]
    fn samples_keep_a_value_of_zero() {
        let samples = |whole| Samples { pid: 3, name: "c", series: "v", begin: &[4, 6], value: &[0.0, 2.0], whole };
        let double = [[42, 9, 41, 0, 0, 0, 0, 0, 0, 0, 0], [42, 9, 41, 0, 0, 0, 0, 0, 0, 0, 0x40]].concat();
        for (whole, values) in [(false, double), (true, vec![42, 2, 48, 0, 42, 2, 48, 2])] {
            let series = [&[10, 6, 8, 3, 24, 1, 32, 2, 18, 2, 4, 2][..], &values].concat();
            let texts = b"\x2a\x00\x2a\x01c\x2a\x01v";
            let expected = [&[18, series.len() as u8][..], &series, texts].concat();
            assert_eq!(written(Trace::default(), &[samples(whole)]), expected);
        }
    }
}
