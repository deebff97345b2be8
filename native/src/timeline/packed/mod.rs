//! The trace viewer's JSON as a gzip file that is written compressed: one function, `pack`, and no state between calls.
//!
//! `events` cuts an event into numbers and texts, `stream` writes them as deflate, `code` is its Huffman code, `gzip`
//! joins what several threads wrote. docs/developer/timeline.md has a drawing and the reason.

mod code;
pub mod events;
pub mod flow;
pub mod gzip;
mod stream;

use crate::error::Result;
use crate::system::parallel;
use crate::timeline::model::timeline::Timeline;
use crate::timeline::query::select::Selection;
use events::Events;
use gzip::Part;

/// Events that a thread writes at once; texts are repeated within such a part only.
const SHARE: usize = 8192;

/// What one host contributes.
pub struct Source<'a> {
    pub timeline: &'a Timeline,
    pub selection: &'a Selection,
    /// Added to every process id.
    pub pid_offset: u32,
}

/// The selected events of all hosts as JSON without their arguments, each behind a comma.
pub fn pack(sources: &[Source], threads: usize) -> Result<Vec<Part>> {
    let mut shares = Vec::new();
    for &Source { timeline, selection, pid_offset } in sources {
        let serial = timeline.order(threads).serial.as_slice();
        let mut runs = Vec::new();
        let mut left = selection.events.len();
        let mut room = SHARE;
        for (run, events) in selection.chunks(SHARE) {
            room = room.saturating_sub(events.len());
            left -= events.len();
            runs.push((run, events));
            if room == 0 || left == 0 {
                let runs = std::mem::take(&mut runs);
                shares.push(Events { trace: &timeline.trace, serial, runs, pid_offset });
                room = SHARE;
            }
        }
    }
    parallel::run(threads, shares, |events| Ok(events.write()))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::timeline::model::build::tests::{trace_of, trace_with};
    use crate::timeline::model::trace::Trace;
    use crate::timeline::query::select::{Query, select};

    /// All events of a trace as text, read back from the file.
    fn text(trace: Trace) -> String {
        let timeline = &trace.into();
        let query = Query { begin: i64::MIN, end: i64::MAX, resolution: 0, middles: true, threads: 1 };
        let selection = &select(timeline, &query);
        let parts = pack(&[Source { timeline, selection, pid_offset: 1000 }], 2).expect("no error");
        let mut file = vec![0; gzip::size(&parts)];
        gzip::write(&parts, &mut file);
        let mut text = String::new();
        GzDecoder::new(file.as_slice()).read_to_string(&mut text).expect("a gzip file");
        text
    }

    #[test]
    fn events_carry_their_times_and_serials() {
        let trace = trace_of(&[(0, 1_500_000, 2_000_000, 0), (0, 1_500_000, 0, 1)]);
        assert_eq!(
            text(trace),
            ",{\"ts\":1.500,\"dur\":2,\"args\":{\"uid\":0},\"ph\":\"X\",\"pid\":1001,\"tid\":1,\"name\":\"n0\"}\
             ,{\"ts\":1.500,\"dur\":0.000001,\"args\":{\"uid\":1},\"ph\":\"X\",\"z\":1,\"pid\":1001,\"tid\":1,\"name\":\"n1\"}"
        );
    }

    #[test]
    fn flows_carry_their_id_category_and_direction() {
        let trace = trace_with(
            &[(0, 0, 1, 0), (0, 5, 1, 1), (0, 9, 1, 2)],
            &[(0, 9 << 58 | 77 << 2 | 2), (1, 77 << 2 | 3), (2, (1 << 55) << 2 | 1)],
            &[],
        );
        let json = text(trace);
        let args = ",\"args\":{\"uid\":0},\"ph\":\"X\"";
        assert!(json.contains(&format!(",\"bind_id\":77{args},\"cat\":\"gpu_launch\",\"flow_out\":true,")), "{json}");
        assert!(json.contains(&format!(",\"bind_id\":77{args},\"flow_in\":true,\"flow_out\":true,")), "{json}");
        assert!(json.contains(&format!(",\"bind_id\":\"36028797018963968\"{args},\"flow_in\":true,")), "{json}");
    }

    #[test]
    fn groups_stand_in_front_of_the_serial() {
        let mut trace = trace_with(&[(0, 0, 1, 0), (0, 5, 1, 1)], &[(1, (1 << 55) << 2 | 1)], &[]);
        trace.group = vec![7, -12];
        let json = text(trace);
        assert!(json.contains(",\"dur\":0.000001,\"args\":{\"group_id\":7,\"uid\":0},\"ph\":\"X\",\"pid\""), "{json}");
        assert!(json.contains("36028797018963968\",\"args\":{\"group_id\":-12,\"uid\":0},\"ph\""), "{json}");
    }

    #[test]
    fn middles_of_asynchronous_flows_become_pairs_without_a_thread() {
        let mut trace = trace_with(&[(0, 0, 3_000_000, 0), (0, 5, 1, 1)], &[(0, 7 << 2 | 3), (1, 9 << 2 | 3)], &[0, 1]);
        trace.group = vec![-1, 4];
        assert_eq!(
            text(trace),
            ",{\"ts\":0,\"id\":7,\"args\":{\"uid\":0},\"ph\":\"b\",\"cat\":\"\",\"pid\":1001,\"name\":\"n0\"}\
             ,{\"ts\":3,\"id\":7,\"ph\":\"e\",\"cat\":\"\",\"pid\":1001,\"name\":\"n0\"}\
             ,{\"ts\":0.000005,\"id\":9,\"args\":{\"group_id\":4,\"uid\":0},\"ph\":\"b\",\"cat\":\"\",\"pid\":1001,\"name\":\"n1\"}\
             ,{\"ts\":0.000006,\"id\":9,\"args\":{\"group_id\":4},\"ph\":\"e\",\"cat\":\"\",\"pid\":1001,\"name\":\"n1\"}"
        );
    }

    #[test]
    fn begins_and_ends_of_asynchronous_flows_stand_alone() {
        let large = 1 << 55;
        let flows = [(0, 7 << 2 | 2), (1, large << 2 | 1), (2, 9 << 2)];
        let trace = trace_with(&[(0, 0, 3, 0), (0, 5, 3, 1), (0, 9, 3, 2)], &flows, &[0, 1, 2]);
        let rest = |name: &str| format!(",\"cat\":\"\",\"pid\":1001,\"name\":\"{name}\"}}");
        let expected = [
            format!(",{{\"ts\":0,\"id\":7,\"args\":{{\"uid\":0}},\"ph\":\"b\"{}", rest("n0")),
            format!(",{{\"ts\":0.000005,\"id\":\"{large}\",\"args\":{{\"uid\":0}},\"ph\":\"e\"{}", rest("n1")),
            format!(",{{\"ts\":0.000009,\"id\":9,\"args\":{{\"uid\":0}}{}", rest("n2")),
        ];
        assert_eq!(text(trace), expected.concat());
    }

    #[test]
    fn several_threads_write_all_events_once() {
        let events: Vec<_> = (0..3 * SHARE).map(|i| (i % 5, i as i64, 1, (i % 7) as u32)).collect();
        let json = text(trace_of(&events));
        assert_eq!(json.matches(",{\"ts\":").count(), 3 * SHARE);
        assert_eq!(json.matches("\"pid\":1005,").count(), 3 * SHARE / 5);
        assert!(text(trace_of(&[])).is_empty());
    }

    #[test]
    fn any_texts_and_numbers_come_back() {
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        // Lengths around what one repeat can hold, and one that is longer than repeats reach back.
        let lengths = [0, 1, 2, 3, 57, 258, 259, 260, 261, 516, 517, 518, 10_000, 40_000];
        let texts: Vec<Vec<u8>> =
            lengths.iter().map(|&length| (0..length).map(|_| random(256) as u8).collect()).collect();
        let mut last = vec![stream::Last::default(); texts.len()];
        let (mut stream, mut expected) = (stream::Stream::new(10), Vec::new());
        for _ in 0..3000 {
            let value = (random(u64::MAX) << random(64)) as i64 >> random(64);
            match random(5) {
                0 => {
                    stream.int(value);
                    expected.extend(value.to_string().bytes());
                }
                1 => {
                    stream.micro(value);
                    crate::json::text::Sink::micro(&mut expected, value);
                }
                2 => {
                    stream.literal(&texts[4]);
                    expected.extend(&texts[4]);
                }
                _ => {
                    let at = random(texts.len() as u64) as usize;
                    stream.repeat(&texts[at], &mut last[at]);
                    expected.extend(&texts[at]);
                }
            }
        }
        let parts = [stream.finish(), Part::new(b"", &[])];
        let mut file = vec![0; gzip::size(&parts)];
        gzip::write(&parts, &mut file);
        let mut found = Vec::new();
        GzDecoder::new(file.as_slice()).read_to_end(&mut found).expect("a gzip file");
        assert!(found == expected);
    }
}
