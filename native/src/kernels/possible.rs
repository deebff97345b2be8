//! Which events of a recording have possible times: not far from the bulk of all events, and not so long that they
//! would have lasted over many later events of a queue that runs one after the other.

use std::convert::Infallible;

use ahash::AHashMap;

/// More spans would not move the bulk of a recording.
const MOST_SPANS: usize = 1 << 16;
/// Events that begin so long after all earlier ones have ended, and nothing else, belong to no recording.
const NEAR_S: i64 = 60;
/// An event that ends so long after the last one begins has no possible duration; waits for a hung rank are shorter.
const TAIL_S: i64 = 3600;
/// A recording of hours may have pauses of minutes: gaps and tails of so many times its length are possible.
const TIMES_LENGTH: i64 = 100;
/// Longer events say nothing about when the recording ran.
const DAY_S: i64 = 86_400;
/// So many events of a hundred are no accident, wherever they lie.
const ONE_IN: usize = 100;
const FEW: usize = 8;

/// Begins and ends that events can have, in the unit of the spans they were found from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Possible {
    pub first: i64,
    pub last: i64,
    pub end: i64,
}

impl Possible {
    /// Everything is possible.
    pub const ALL: Possible = Possible { first: i64::MIN, last: i64::MAX, end: i64::MAX };

    /// The bulk of spans (begin, duration), and as much around it as a recording can have; `second` is a second.
    pub fn of(mut spans: Vec<(i64, i64)>, second: i64) -> Possible {
        let known = |span: &(i64, i64)| span.0 > 0;
        if spans.iter().any(known) {
            spans.retain(known); // what lies at 0 or before is part of no bulk, but may lie beside one
        }
        spans.sort_unstable();
        let Some((bulk, length)) = bulk(&spans, second) else { return Possible::ALL };
        let room = |seconds: i64| second.saturating_mul(seconds).max(length.saturating_mul(TIMES_LENGTH));
        let mut first = bulk.begin.saturating_sub(room(NEAR_S));
        if bulk.begin > second.max(length) {
            first = first.max(1); // a time of 0 is then no time
        }
        Possible { first, last: bulk.last.saturating_add(room(NEAR_S)), end: bulk.last.saturating_add(room(TAIL_S)) }
    }

    /// Of a recording with so many events, the first of which begins and the last of which ends then; `spans` gives begin
    /// and duration of one event in `stride`. They are read only if some event is far from another.
    pub fn of_recording<E>(
        count: usize,
        (first, end): (i64, i64),
        second: i64,
        spans: impl FnOnce(usize) -> Result<Vec<(i64, i64)>, E>,
    ) -> Result<Possible, E> {
        if end.saturating_sub(first) <= NEAR_S.saturating_mul(second) {
            return Ok(Possible::ALL); // nothing is far from all others
        }
        Ok(Possible::of(spans(count.div_ceil(MOST_SPANS).max(1))?, second))
    }

    /// Of events that are in memory; `spans` gives begin and duration of each.
    pub fn of_spans(spans: impl Iterator<Item = (i64, i64)> + Clone, second: i64) -> Possible {
        let (mut first, mut end, mut count) = (i64::MAX, i64::MIN, 0);
        for (begin, duration) in spans.clone() {
            (first, end) = (first.min(begin), end.max(begin.saturating_add(duration)));
            count += 1;
        }
        let some = |stride| Ok::<_, Infallible>(spans.step_by(stride).collect());
        Possible::of_recording(count, (first, end), second, some).unwrap_or(Possible::ALL)
    }

    pub fn begins(&self, begin: i64) -> bool {
        self.first <= begin && begin <= self.last
    }

    pub fn has(&self, begin: i64, end: i64) -> bool {
        self.begins(begin) && begin <= end && end <= self.end
    }

    /// The same in another unit, counted from `origin`.
    pub fn scaled(&self, origin: i64, factor: i64) -> Possible {
        let scale = |value: i64| match value {
            i64::MIN | i64::MAX => value,
            _ => value.saturating_sub(origin).saturating_mul(factor),
        };
        Possible { first: scale(self.first), last: scale(self.last), end: scale(self.end) }
    }
}

/// Events without a long pause between them.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    begin: i64,
    last: i64,
    reach: i64,
    count: usize,
}

impl Cluster {
    /// From the first begin to the last: one event may last for hours.
    fn length(&self) -> i64 {
        self.last.saturating_sub(self.begin)
    }

    fn with(self, other: Cluster) -> Cluster {
        Cluster {
            begin: self.begin.min(other.begin),
            last: self.last.max(other.last),
            reach: self.reach.max(other.reach),
            count: self.count + other.count,
        }
    }
}

/// The largest cluster of spans in order with those that belong to it, and the length of the largest.
fn bulk(spans: &[(i64, i64)], second: i64) -> Option<(Cluster, i64)> {
    let clusters = clusters(spans, second);
    // Events that all begin at one moment are rather what a writer puts in place of an unknown time.
    let main = (0..clusters.len()).max_by_key(|&i| (clusters[i].length() > 0, clusters[i].count))?;
    let length = clusters[main].length();
    let near = second.saturating_mul(NEAR_S).max(length.saturating_mul(TIMES_LENGTH));
    let many = (spans.len() / ONE_IN).max(FEW);
    let belongs = |bulk: &Cluster, other: &Cluster| {
        let away = other.begin.saturating_sub(bulk.reach).max(bulk.begin.saturating_sub(other.reach));
        away <= near || (other.count >= many && other.length() > 0)
    };
    let mut found = clusters[main];
    for other in clusters[..main].iter().rev().chain(&clusters[main + 1..]) {
        if belongs(&found, other) {
            found = found.with(*other);
        }
    }
    Some((found, length))
}

fn clusters(spans: &[(i64, i64)], second: i64) -> Vec<Cluster> {
    let (gap, day) = (second.saturating_mul(NEAR_S), second.saturating_mul(DAY_S));
    let mut found: Vec<Cluster> = Vec::new();
    for &(begin, duration) in spans {
        let lasts = if (0..=day).contains(&duration) { duration } else { 0 };
        let own = Cluster { begin, last: begin, reach: begin.saturating_add(lasts), count: 1 };
        match found.last_mut() {
            Some(last) if begin.saturating_sub(last.reach) <= gap => *last = last.with(own),
            _ => found.push(own),
        }
    }
    found
}

/// Later events of a queue that an event lasts over, and how many times as long as is usual it is then at least, if its
/// duration is impossible. Launches that overlap the end of their predecessor (programmatic dependent launch) are far
/// below.
const OVER: [(usize, i64); 2] = [(4, 10), (1, 100)];
/// So many events of a name tell how long they usually are.
const USUAL: usize = 3;

/// Events of a queue whose duration is impossible, and when they end instead: where the next one begins, and not later than
/// is usual for its name; None if neither is known.
///
/// The events are in order of their begins.
pub fn impossible_durations(begin: &[i64], duration: &[i64], name: &[u32]) -> Vec<(usize, Option<i64>)> {
    let over = |i: usize, events: usize| match begin.get(i + events) {
        Some(&later) => begin[i].saturating_add(duration[i]) > later,
        None => false,
    };
    let (suspects, plain): (Vec<usize>, Vec<usize>) = (0..begin.len()).partition(|&i| duration[i] < 0 || over(i, 1));
    if suspects.is_empty() {
        return Vec::new();
    }
    let usual = usual(duration, name, &suspects);
    let longest = plain.iter().map(|&i| duration[i]).max();
    let is_wrong = |i: usize| {
        let reference = usual.get(&name[i]).copied().or(longest);
        let above = |times: i64| reference.is_some_and(|usual| duration[i] > usual.max(1).saturating_mul(times));
        duration[i] < 0 || OVER.iter().any(|&(events, times)| over(i, events) && above(times))
    };
    let end = |i: usize| {
        let next = begin[i + 1..].iter().copied().find(|&later| later > begin[i]);
        let usual = usual.get(&name[i]).map(|&usual| begin[i].saturating_add(usual));
        match (next, usual) {
            (Some(next), Some(usual)) => Some(next.min(usual)),
            (None, usual) => usual,
            (next, None) => next.filter(|_| duration[i] >= 0),
        }
    };
    suspects.into_iter().filter(|&i| is_wrong(i)).map(|i| (i, end(i))).collect()
}

/// The median duration of each name that some suspect and enough others have.
fn usual(duration: &[i64], name: &[u32], suspects: &[usize]) -> AHashMap<u32, i64> {
    let mut durations: AHashMap<u32, Vec<i64>> = suspects.iter().map(|&i| (name[i], Vec::new())).collect();
    for (name, &duration) in name.iter().zip(duration).filter(|(_, duration)| **duration >= 0) {
        if let Some(known) = durations.get_mut(name) {
            known.push(duration);
        }
    }
    let median = |(name, mut known): (u32, Vec<i64>)| {
        let middle = known.len().saturating_sub(1) / 2;
        (known.len() >= USUAL).then(|| (name, *known.select_nth_unstable(middle).1))
    };
    durations.into_iter().filter_map(median).collect()
}

/// The events of a line with impossible times, by position: the duration that they have instead, None for those that are
/// left out.
pub fn verdicts(
    begin: &[i64],
    duration: &[i64],
    name: &[u32],
    possible: Possible,
    stream: bool,
) -> Vec<(usize, Option<i64>)> {
    let on_axis = |&i: &usize| possible.begins(begin[i]);
    let mut wrong: Vec<(usize, Option<i64>)> = (0..begin.len()).filter(|i| !on_axis(i)).map(|i| (i, None)).collect();
    let within = |i: usize, lasts: i64| possible.has(begin[i], begin[i].saturating_add(lasts));
    if stream {
        let mut order: Vec<usize> = (0..begin.len()).filter(on_axis).collect();
        if !order.is_sorted_by_key(|&i| begin[i]) {
            order.sort_by_key(|&i| begin[i]);
        }
        let column = |values: &[i64]| order.iter().map(|&i| values[i]).collect::<Vec<i64>>();
        let names: Vec<u32> = order.iter().map(|&i| name[i]).collect();
        let found = impossible_durations(&column(begin), &column(duration), &names);
        wrong.extend(
            found.into_iter().map(|(at, end)| (order[at], end.map(|end| end.saturating_sub(begin[order[at]])))),
        );
        wrong.sort_unstable_by_key(|one| one.0);
    }
    let known: Vec<usize> = wrong.iter().map(|one| one.0).collect();
    let ends = (0..begin.len()).filter(|i| known.binary_search(i).is_err() && !within(*i, duration[*i]));
    wrong.extend(ends.map(|i| (i, None)));
    wrong.sort_unstable_by_key(|one| one.0);
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const S: i64 = 1000 * MS;

    fn recording(begin: i64, length: i64) -> Vec<(i64, i64)> {
        (0..1000).map(|i| (begin + i * length / 1000, length / 1000)).collect()
    }

    fn possible(spans: &[(i64, i64)], more: &[(i64, i64)]) -> Vec<bool> {
        let all = Possible::of([spans, more].concat(), S);
        assert!(spans.iter().all(|&(begin, duration)| all.has(begin, begin + duration)));
        more.iter().map(|&(begin, duration)| all.has(begin, begin.saturating_add(duration))).collect()
    }

    #[test]
    fn single_events_far_from_all_others_are_impossible() {
        let spans = recording(1_700_000_000 * S, 28 * MS);
        let begin = spans[0].0;
        let odd = [(0, 5), (-5, 1), (begin - 61 * S, 0), (begin + 70 * S, MS), (i64::MAX, 1), (begin, 7200 * S)];
        for one in odd {
            assert_eq!(possible(&spans, &[one]), [false], "{one:?}");
        }
        assert_eq!(possible(&spans, &[(begin - 30 * S, MS), (begin + 40 * S, MS), (begin, 600 * S)]), [true; 3]);
    }

    #[test]
    fn a_time_of_zero_is_none_unless_the_recording_begins_there() {
        assert_eq!(possible(&recording(5 * S, 28 * MS), &[(0, 5)]), [false]);
        assert_eq!(possible(&recording(MS, 28 * MS), &[(0, 5), (-MS, MS)]), [true, true]);
        let half: Vec<_> = recording(5 * S, 28 * MS).into_iter().map(|_| (0, 0)).collect();
        assert!(possible(&recording(5 * S, 28 * MS), &half).iter().all(|possible| !possible));
        assert!(Possible::of(vec![(0, 5)], S).has(0, 5));
        assert_eq!(Possible::of(Vec::new(), S), Possible::ALL);
    }

    #[test]
    fn pauses_of_a_recording_are_possible() {
        let (early, late) = (recording(1000 * S, 28 * MS), recording(9000 * S, 28 * MS));
        assert!(possible(&early, &late[..20]).iter().all(|possible| *possible), "many events after two hours");
        assert_eq!(possible(&early, &late[..3]), [false; 3]);
        assert_eq!(possible(&recording(1000 * S, 100 * S), &late[..3]), [true; 3], "one hundred times its length");
        let hung = (1000 * S + 28 * MS, 7000 * S);
        assert_eq!(possible(&early, &[hung, (hung.0 + hung.1, 5)]), [true; 2], "the next event follows a long wait");
    }

    #[test]
    fn other_units_count_from_an_origin() {
        let ns = Possible::of(recording(1_700_000_000 * S, 28 * MS), S);
        let ps = ns.scaled(1_700_000_000 * S, 1000);
        assert!(
            ps.has(0, 28 * MS * 1000)
                && !ps.has(i64::MIN, 0)
                && !ps.has(62 * S * 1000 + 100 * 28 * MS * 1000, i64::MAX)
        );
        assert_eq!(Possible::ALL.scaled(5, 1000), Possible::ALL);
    }

    #[test]
    fn events_over_many_later_ones_end_where_the_next_begins() {
        let begin: Vec<i64> = (0..12).map(|i| i * 10).collect();
        let mut duration = vec![8; 12];
        duration[2] = 1_000_000;
        duration[5] = -3;
        let name = vec![7; 12];
        assert_eq!(impossible_durations(&begin, &duration, &name), [(2, Some(28)), (5, Some(58))]);
        let names: Vec<u32> = (0..12).collect();
        assert_eq!(impossible_durations(&begin, &duration, &names), [(2, Some(30)), (5, None)]);
        assert_eq!(impossible_durations(&begin, &[8; 12], &name), []);
    }

    #[test]
    fn launches_overlap_their_predecessors() {
        let begin: Vec<i64> = (0..12).map(|i| i * 10).collect();
        assert_eq!(impossible_durations(&begin, &[15; 12], &[7; 12]), [], "each overlaps the next");
        let mut duration = vec![8; 12];
        duration[3] = 65;
        assert_eq!(impossible_durations(&begin, &duration, &[7; 12]), [], "a branch of a graph on the same queue");
        duration[10] = 1_000_000;
        assert_eq!(
            impossible_durations(&begin, &duration, &[7; 12]),
            [(10, Some(108))],
            "one event behind it is enough"
        );
    }
}
