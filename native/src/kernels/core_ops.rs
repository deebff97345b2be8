//! One pass over the ops of a core: where each ran on the device's clock, its own time, sums per op, and time at work.

use std::cmp::Reverse;

use crate::error::{Error, Result};

/// The stats that say where an event ran on the device's clock, as the columns hold them.
pub struct ClockStats<'a> {
    pub start: &'a [u32],
    pub key: &'a [u32],
    pub kind: &'a [u8],
    pub value: &'a [u64],
    /// Keys of the begin and of the duration; a key that no stat has means the host's clock everywhere.
    pub keys: (u32, u32),
}

/// Kind of an op's own time: work; work or waiting, unknown (custom calls); waiting.
pub const WORK: u8 = 0;
pub const UNSURE: u8 = 1;

/// One core's op line: its events on the host's clock and the op of each.
pub struct OpLine<'a> {
    pub begin: &'a [i64],
    pub duration: &'a [i64],
    pub row: &'a [u32],
    /// Number of rows of the op table.
    pub rows: usize,
    /// Per event: [`WORK`], [`UNSURE`], or any other number for waiting.
    pub duty: &'a [u8],
}

/// Disjoint intervals, ascending.
pub type Intervals = Vec<(i64, i64)>;

/// Sums per row (occurrences, time, own time, least time on the host's clock), spans and merged work intervals.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CoreOps {
    pub occurrences: Vec<i64>,
    pub time: Vec<i64>,
    pub own: Vec<i64>,
    pub least: Vec<i64>,
    /// First begin and last end on the device's clock, and on the host's clock; None without events.
    pub device_span: Option<(i64, i64)>,
    pub host_span: Option<(i64, i64)>,
    /// When the innermost op was work, on the host's clock; and when it was certainly work.
    pub work: Intervals,
    pub sure: Intervals,
}

const NUMBER_KINDS: [u8; 2] = [3, 4];

impl ClockStats<'_> {
    fn span(&self, owner: usize, host: (i64, i64)) -> (i64, i64) {
        let (mut begin, mut duration) = (None, None);
        let range = self.start[owner] as usize..self.start[owner + 1] as usize;
        for i in range {
            let number = || if NUMBER_KINDS.contains(&self.kind[i]) { self.value[i] as i64 } else { 0 };
            if self.key[i] == self.keys.0 {
                begin = begin.or_else(|| Some(number()));
            } else if self.key[i] == self.keys.1 {
                duration = duration.or_else(|| Some(number()));
            }
        }
        match (begin, duration) {
            (Some(begin), Some(duration)) => (begin, duration),
            _ => host,
        }
    }

    fn check(&self, owners: usize) -> Result<()> {
        let ascending = self.start.windows(2).all(|pair| pair[0] <= pair[1]);
        let end = self.start.last().map_or(0, |&end| end as usize);
        let same = self.key.len() == self.kind.len() && self.key.len() == self.value.len();
        if same && ascending && end <= self.key.len() && self.start.len() == owners + 1 {
            Ok(())
        } else {
            Err(Error::argument("stat columns that do not fit the events"))
        }
    }
}

/// Adds up one op line of a core. Events are taken by begin, longest first; sums are nested on the device's clock.
pub fn core_ops(line: &OpLine, clock: &ClockStats) -> Result<CoreOps> {
    let count = line.begin.len();
    if [line.duration.len(), line.row.len(), line.duty.len()].iter().any(|&length| length != count) {
        return Err(Error::argument("columns of different length"));
    }
    if line.row.iter().any(|&row| row as usize >= line.rows) {
        return Err(Error::argument("row beyond the op table"));
    }
    clock.check(count)?;
    let mut sums = vec![(0i64, 0i64, 0i64, i64::MAX); line.rows];
    let mut stack: Vec<(usize, i64, i64)> = Vec::new();
    let (mut found, mut shift) = (CoreOps::default(), Shift::default());
    let order = by_begin(line);
    for at in 0..count {
        let i = order.as_ref().map_or(at, |order| order[at] as usize);
        let host = (line.begin[i], line.duration[i]);
        let (b, d) = clock.span(i, host);
        let (e, host_end) = (b.saturating_add(d), host.0.saturating_add(host.1));
        let row = line.row[i] as usize;
        while let Some(&(top, top_begin, top_end)) = stack.last() {
            if top_begin <= b && e <= top_end {
                sums[top].2 = sums[top].2.wrapping_sub(d);
                break;
            }
            stack.pop();
        }
        stack.push((row, b, e));
        let sum = &mut sums[row];
        *sum = (sum.0 + 1, sum.1.wrapping_add(d), sum.2.wrapping_add(d), sum.3.min(host.1));
        widen(&mut found.device_span, b, e);
        widen(&mut found.host_span, host.0, host_end);
        shift.enter(host.0, host_end, line.duty[i]);
    }
    (found.work, found.sure) = shift.finish();
    found.occurrences = sums.iter().map(|s| s.0).collect();
    found.time = sums.iter().map(|s| s.1).collect();
    found.own = sums.iter().map(|s| s.2).collect();
    found.least = sums.iter().map(|s| if s.0 == 0 { 0 } else { s.3 }).collect();
    Ok(found)
}

/// The events by begin, longest first, when the file has them in another order.
fn by_begin(line: &OpLine) -> Option<Vec<u32>> {
    let key = |i: usize| (line.begin[i], Reverse(line.duration[i]));
    if (1..line.begin.len()).all(|i| key(i - 1) <= key(i)) {
        return None;
    }
    let mut order: Vec<u32> = (0..line.begin.len() as u32).collect();
    order.sort_by_key(|&i| key(i as usize));
    Some(order)
}

/// Collects own times as work while events are entered in order.
#[derive(Default)]
struct Shift {
    /// Open events: where what is left of their own time begins, their span, and their duty.
    open: Vec<(i64, i64, i64, u8)>,
    work: Union,
    sure: Union,
}

impl Shift {
    fn enter(&mut self, begin: i64, end: i64, duty: u8) {
        while let Some(&(own, top_begin, top_end, top_duty)) = self.open.last() {
            if top_begin <= begin && end <= top_end {
                self.add(own, begin, top_duty);
                if let Some(top) = self.open.last_mut() {
                    top.0 = own.max(end);
                }
                break;
            }
            self.open.pop();
            self.add(own, top_end, top_duty);
        }
        self.open.push((begin, begin, end, duty));
    }

    fn add(&mut self, begin: i64, end: i64, duty: u8) {
        if begin < end && duty <= UNSURE {
            self.work.add(begin, end);
            if duty == WORK {
                self.sure.add(begin, end);
            }
        }
    }

    fn finish(mut self) -> (Intervals, Intervals) {
        while let Some((own, _, end, duty)) = self.open.pop() {
            self.add(own, end, duty);
        }
        (self.work.merged(), self.sure.merged())
    }
}

/// A union of intervals, merged as they come as long as their begins ascend.
#[derive(Default)]
struct Union {
    spans: Intervals,
    unsorted: bool,
}

impl Union {
    fn add(&mut self, begin: i64, end: i64) {
        match self.spans.last_mut() {
            Some(last) if last.0 <= begin && begin <= last.1 => last.1 = last.1.max(end),
            last => {
                self.unsorted |= last.is_some_and(|last| begin < last.0);
                self.spans.push((begin, end));
            }
        }
    }

    fn merged(mut self) -> Intervals {
        if !self.unsorted {
            return self.spans;
        }
        self.spans.sort_unstable();
        let mut union = Union::default();
        self.spans.into_iter().for_each(|(begin, end)| union.add(begin, end));
        union.spans
    }
}

fn widen(span: &mut Option<(i64, i64)>, begin: i64, end: i64) {
    let (first, last) = span.get_or_insert((begin, end));
    (*first, *last) = ((*first).min(begin), (*last).max(end));
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_KEYS: (u32, u32) = (u32::MAX, u32::MAX);
    const REST: u8 = 2;

    fn on_host(spans: &[(i64, i64)], row: &[u32], duty: &[u8]) -> CoreOps {
        let (begin, duration): (Vec<i64>, Vec<i64>) = spans.iter().map(|&(b, e)| (b, e - b)).unzip();
        let start = vec![0; spans.len() + 1];
        let clock = ClockStats { start: &start, key: &[], kind: &[], value: &[], keys: NO_KEYS };
        let duty: Vec<u8> = row.iter().map(|&row| duty[row as usize]).collect();
        core_ops(&OpLine { begin: &begin, duration: &duration, row, rows: 3, duty: &duty }, &clock).unwrap()
    }

    #[test]
    fn own_time_goes_without_direct_children_and_rest_is_no_work() {
        let found =
            on_host(&[(0, 100), (10, 60), (20, 30), (70, 80), (120, 130)], &[0, 1, 0, 2, 2], &[WORK, WORK, REST]);
        assert_eq!((found.time, found.own), (vec![110, 50, 20], vec![50, 40, 20]));
        assert_eq!((found.occurrences, found.least), (vec![2, 1, 2], vec![10, 50, 10]));
        assert_eq!(found.work, vec![(0, 70), (80, 100)]);
        assert_eq!((found.device_span, found.host_span), (Some((0, 130)), Some((0, 130))));
    }

    #[test]
    fn work_of_unsorted_events_is_merged_all_the_same() {
        assert_eq!(on_host(&[(50, 60), (0, 10), (5, 20), (55, 70)], &[0; 4], &[WORK]).work, vec![(0, 20), (50, 70)]);
    }

    #[test]
    fn the_innermost_op_decides_what_is_work() {
        let spans = [(0, 100), (200, 500), (300, 400), (900, 1000)];
        let found = on_host(&spans, &[0, 0, 1, 2], &[WORK, REST, UNSURE]);
        assert_eq!(found.work, vec![(0, 100), (200, 300), (400, 500), (900, 1000)]);
        assert_eq!(found.sure, vec![(0, 100), (200, 300), (400, 500)]);
    }

    #[test]
    fn work_counts_once_where_ops_overlap() {
        let found = on_host(&[(0, 1000), (100, 600), (200, 800)], &[0, 1, 0], &[WORK, REST]);
        assert_eq!(found.work, vec![(0, 100), (200, 1000)]);
        let found = on_host(&[(0, 1000), (100, 400), (300, 1200)], &[0, 1, 0], &[WORK, REST]);
        assert_eq!(found.work, vec![(0, 100), (300, 1200)]);
    }

    #[test]
    fn an_op_that_the_file_has_before_the_one_around_it_is_nested_all_the_same() {
        let found = on_host(&[(300, 400), (0, 1000), (0, 100)], &[1, 0, 1], &[WORK, REST]);
        assert_eq!((found.own, found.work), (vec![800, 200, 0], vec![(100, 300), (400, 1000)]));
    }

    #[test]
    fn the_devices_clock_counts_where_both_values_are_there() {
        let clock =
            ClockStats { start: &[0, 2, 3], key: &[7, 8, 7], kind: &[3, 4, 3], value: &[1000, 50, 2000], keys: (7, 8) };
        let line = OpLine { begin: &[1, 100], duration: &[2, 5], row: &[0, 0], rows: 1, duty: &[WORK; 2] };
        let found = core_ops(&line, &clock).unwrap();
        assert_eq!((found.time, found.least), (vec![55], vec![2]));
        assert_eq!((found.device_span, found.host_span), (Some((100, 1050)), Some((1, 105))));
    }

    #[test]
    fn refuses_columns_that_do_not_fit() {
        let clock = ClockStats { start: &[0, 9], key: &[], kind: &[], value: &[], keys: NO_KEYS };
        let line = OpLine { begin: &[1], duration: &[2], row: &[0], rows: 1, duty: &[WORK] };
        assert!(core_ops(&line, &clock).is_err());
        let clock = ClockStats { start: &[0, 0], ..clock };
        assert!(core_ops(&OpLine { row: &[3], ..line }, &clock).is_err());
    }
}
