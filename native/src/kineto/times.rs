//! Which events of a trace have possible times. Others are counted, and tell nothing of ops, launches and steps.

use super::event::Kind;
use super::trace::{Document, Record, Track};
use crate::kernels::possible::{Possible, verdicts};

const SECOND: i64 = 1_000_000_000;
const PS_IN_NS: i64 = 1000;
/// Frames of one function that all last to the end of their thread. So many are no recursion: their ends are not recorded.
const MOST_OPEN: usize = 32;

/// Begins are in ns so far: events with impossible ones are left out, the others count in ps from the origin. So are
/// events of threads that last far longer than the recording, or for a negative time; streams: see `shorten`.
pub fn settle(document: &mut Document) {
    let spans = all(document).flat_map(|track| &track.records);
    let spans = spans.map(|record| (record.begin, record.duration / PS_IN_NS));
    let possible = Possible::of_spans(spans, SECOND);
    let begins = all(document).flat_map(|track| &track.records).map(|record| record.begin);
    let origin = begins.filter(|&begin| possible.begins(begin)).min().unwrap_or(0);
    document.origin_ns = origin;
    let possible = possible.scaled(origin, PS_IN_NS);
    for track in document.threads.values_mut().chain(document.notes.values_mut()).chain(document.unknown.values_mut()) {
        count_from(origin, track);
        leave_out(track, |record| possible.has(record.begin, record.end()));
    }
    for track in document.streams.values_mut() {
        count_from(origin, track);
        leave_out(track, |record| possible.begins(record.begin));
    }
}

/// Durations of streams that are impossible end where the next event begins, or as is usual for their name.
pub fn shorten(document: &mut Document) {
    for track in document.streams.values_mut() {
        let column = |of: fn(&Record) -> i64| track.records.iter().map(of).collect::<Vec<i64>>();
        let (begin, duration) = (column(|record| record.begin), column(|record| record.duration));
        let names: Vec<u32> = track.records.iter().map(|record| record.name).collect();
        let mut out = vec![false; names.len()];
        for (at, instead) in verdicts(&begin, &duration, &names, Possible::ALL, true) {
            match instead {
                Some(duration) => {
                    track.records[at].duration = duration;
                    track.shortened += 1;
                }
                None => out[at] = true,
            }
        }
        let mut out = out.into_iter();
        leave_out(track, |_| !out.next().unwrap_or(false));
    }
}

/// Leaves out frames whose end is not recorded: the profiler lets them last to the end, where they enclose all that follows.
pub fn leave_out_open_frames(track: &mut Track) {
    let frames = || track.records.iter().filter(|record| record.kind == Kind::Frame);
    let Some(end) = frames().map(Record::end).max() else { return };
    let mut open = ahash::AHashMap::<u32, usize>::new();
    frames().filter(|record| record.end() == end).for_each(|record| *open.entry(record.name).or_default() += 1);
    open.retain(|_, count| *count > MOST_OPEN);
    if !open.is_empty() {
        leave_out(track, |one| one.kind != Kind::Frame || one.end() != end || !open.contains_key(&one.name));
    }
}

fn all(document: &Document) -> impl Iterator<Item = &Track> + Clone {
    let threads = document.threads.values().chain(document.streams.values());
    threads.chain(document.notes.values()).chain(document.unknown.values())
}

fn count_from(origin: i64, track: &mut Track) {
    for record in &mut track.records {
        let since = record.begin.saturating_sub(origin).saturating_mul(PS_IN_NS);
        record.begin = since.saturating_add(record.rest.into());
    }
}

fn leave_out(track: &mut Track, mut keep: impl FnMut(&Record) -> bool) {
    let before = track.records.len();
    track.records.retain(|record| keep(record));
    track.left_out += (before - track.records.len()) as u64;
}
