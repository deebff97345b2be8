//! Sweeps over intervals: the time of each priority where intervals overlap, the time that is covered at all, and the figures
//! of every line of a plane.

use std::cmp::Reverse;

/// Time covered by at least one of the intervals [begin, begin + duration].
pub fn covered(begin: &[i64], duration: &[i64]) -> i64 {
    let mut spans: Vec<(i64, i64)> = begin.iter().zip(duration).map(|(&b, &d)| (b, b.saturating_add(d))).collect();
    // Nested spans share begins with the longer one first, so only begins need be in order.
    if !spans.is_sorted_by_key(|span| span.0) {
        spans.sort_unstable();
    }
    let (mut total, mut reach) = (0i64, i64::MIN);
    for (b, e) in spans {
        if e > reach {
            total = total.saturating_add(e.saturating_sub(b.max(reach)).max(0));
            reach = e;
        }
    }
    total
}

/// One group's events: spans and the priority of each, and the window that `inside` is cut to.
pub struct Group<'a> {
    pub begin: &'a [i64],
    pub end: &'a [i64],
    pub priority: &'a [u8],
    pub window: (i64, i64),
}

/// Sums of one group's events, one slot per priority.
pub struct ByPriority<'a> {
    /// Time over everything, and inside the window.
    pub all: &'a mut [i64],
    pub inside: &'a mut [i64],
    /// Set where the priority was the highest at some point, if only for an instant.
    pub present: &'a mut [bool],
}

/// Adds, per priority, the time during which it is the highest one active: over everything and inside the window.
///
/// Moments without any interval go to priority 0, between the first and the last interval for `all` and over the whole
/// window for `inside`. As in XProf, an instant with the highest priority owns the time that follows until an
/// interval of its priority ends: ends are taken before begins. So does an interval that ends before it begins, from its
/// begin on. A priority beyond the slots does not count.
pub fn own_by_priority(group: &Group, out: &mut ByPriority) {
    let slots = out.all.len();
    let mut points: Vec<(i64, bool, Reverse<u8>)> = Vec::with_capacity(2 * group.begin.len());
    for ((&b, &e), &p) in group.begin.iter().zip(group.end).zip(group.priority) {
        if (p as usize) < slots {
            points.push((b, true, Reverse(p)));
            points.push((e, false, Reverse(p)));
        }
    }
    points.sort_unstable();
    let (from, to) = group.window;
    let mut left = to.saturating_sub(from).max(0);
    let mut active = vec![0i64; slots];
    let mut highest = 0usize;
    for pair in points.windows(2) {
        let (since, is_begin, Reverse(priority)) = pair[0];
        let (p, until) = (priority as usize, pair[1].0);
        active[p] += if is_begin { 1 } else { -1 };
        if is_begin {
            highest = highest.max(p);
        } else if p == highest && active[p] == 0 {
            highest = (0..p).rev().find(|&lower| active[lower] > 0).unwrap_or(0);
        }
        out.present[highest] = true;
        out.all[highest] = out.all[highest].saturating_add(until.saturating_sub(since));
        if highest != 0 {
            let part = until.min(to).saturating_sub(since.max(from)).max(0);
            out.inside[highest] = out.inside[highest].saturating_add(part);
            left = left.saturating_sub(part);
        }
    }
    out.inside[0] = out.inside[0].saturating_add(left.max(0));
}

/// Spans of several groups in any order; all slices have one length.
#[derive(Clone, Copy)]
pub struct Spans<'a> {
    pub group: &'a [i64],
    pub begin: &'a [i64],
    pub end: &'a [i64],
    pub priority: &'a [u8],
}

/// Results of [`own_by_priority`] for every group, `slots` entries per group.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub all: Vec<i64>,
    pub inside: Vec<i64>,
    pub present: Vec<bool>,
}

/// Adds up the spans of each of the `groups`, which are strictly ascending, cut to its window; without `instants` only
/// spans that last. Spans of other groups do not count.
pub fn by_priority(spans: Spans, groups: &[i64], windows: &[(i64, i64)], slots: usize, instants: bool) -> Sums {
    let (start, order) = by_group(spans, groups, instants);
    let size = groups.len() * slots;
    let mut out = Sums { all: vec![0; size], inside: vec![0; size], present: vec![false; size] };
    let (mut begin, mut end, mut priority) = (Vec::new(), Vec::new(), Vec::new());
    for (row, &window) in windows.iter().enumerate().take(groups.len()) {
        let own = &order[start[row] as usize..start[row + 1] as usize];
        begin.clear();
        end.clear();
        priority.clear();
        begin.extend(own.iter().map(|&at| spans.begin[at as usize]));
        end.extend(own.iter().map(|&at| spans.end[at as usize]));
        priority.extend(own.iter().map(|&at| spans.priority[at as usize]));
        let slot = row * slots..(row + 1) * slots;
        let (all, inside) = (&mut out.all[slot.clone()], &mut out.inside[slot.clone()]);
        let group = Group { begin: &begin, end: &end, priority: &priority, window };
        own_by_priority(&group, &mut ByPriority { all, inside, present: &mut out.present[slot] });
    }
    out
}

/// The spans of each group: where they begin in the list that follows (one more than groups), and that list.
fn by_group(spans: Spans, groups: &[i64], instants: bool) -> (Vec<u32>, Vec<u32>) {
    let mut row_of = Vec::with_capacity(spans.group.len());
    let mut start = vec![0u32; groups.len() + 2];
    let mut last = 0;
    for (at, group) in spans.group.iter().enumerate() {
        // Neighbours are usually of one group.
        if groups.get(last) != Some(group) {
            last = groups.binary_search(group).unwrap_or(groups.len());
        }
        let counts = last < groups.len() && (instants || spans.end[at] > spans.begin[at]);
        let row = if counts { last } else { groups.len() };
        row_of.push(row as u32);
        if counts {
            start[row + 2] += 1;
        }
    }
    for i in 2..start.len() {
        start[i] += start[i - 1];
    }
    let mut order = vec![0; *start.last().unwrap_or(&0) as usize];
    for (at, &row) in row_of.iter().enumerate().filter(|(_, row)| (**row as usize) < groups.len()) {
        let place = &mut start[row as usize + 1];
        order[*place as usize] = at as u32;
        *place += 1;
    }
    start.pop();
    (start, order)
}

/// Per line; zeros for a line without events. Ends beyond 64 bits become the largest time.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Contents {
    pub begin: Vec<i64>,
    pub end: Vec<i64>,
    /// Time covered by at least one event.
    pub busy: Vec<i64>,
    /// Different values of `row`.
    pub names: Vec<i64>,
}

/// The figures of the lines `start[i]..start[i + 1]`, ascending ranges inside the columns; `row` names each event's kind.
pub fn contents(start: &[i64], begin: &[i64], duration: &[i64], row: &[u32]) -> Contents {
    let mut out = Contents::default();
    // The line that last had a row, from 1; one table serves all lines.
    let mut seen = vec![0u32; row.iter().max().map_or(0, |&last| last as usize + 1)];
    for (line, pair) in (1..).zip(start.windows(2)) {
        let range = pair[0] as usize..pair[1] as usize;
        let (b, d) = (&begin[range.clone()], &duration[range.clone()]);
        out.begin.push(b.iter().min().copied().unwrap_or(0));
        out.end.push(b.iter().zip(d).map(|(b, d)| b.saturating_add(*d)).max().unwrap_or(0));
        out.busy.push(covered(b, d));
        let mut names = 0;
        for &row in &row[range] {
            names += i64::from(seen[row as usize] != line);
            seen[row as usize] = line;
        }
        out.names.push(names);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_overlapping_nested_and_unsorted_spans_once() {
        assert_eq!(covered(&[20, 0, 5, 6], &[5, 10, 10, 1]), 20);
        assert_eq!(covered(&[], &[]), 0);
        assert_eq!(covered(&[10, 3], &[-5, -9]), 0);
        assert_eq!(covered(&[i64::MIN, 0], &[i64::MAX, i64::MAX]), i64::MAX);
    }

    fn sweep(spans: &[(i64, i64, u8)], window: (i64, i64)) -> (Vec<i64>, Vec<i64>) {
        let begin: Vec<i64> = spans.iter().map(|s| s.0).collect();
        let end: Vec<i64> = spans.iter().map(|s| s.1).collect();
        let priority: Vec<u8> = spans.iter().map(|s| s.2).collect();
        let (mut all, mut inside) = (vec![0; 4], vec![0; 4]);
        let mut present = [false; 4];
        let mut out = ByPriority { all: &mut all, inside: &mut inside, present: &mut present };
        own_by_priority(&Group { begin: &begin, end: &end, priority: &priority, window }, &mut out);
        (all, inside)
    }

    #[test]
    fn the_highest_active_priority_owns_the_moment() {
        let (all, inside) = sweep(&[(0, 100, 1), (20, 40, 3), (30, 60, 2), (120, 130, 1)], (10, 125));
        assert_eq!(all, vec![20, 70, 20, 20]);
        assert_eq!(inside, vec![20, 10 + 40 + 5, 20, 20]);
    }

    #[test]
    fn an_empty_group_is_unknown_time() {
        assert_eq!(sweep(&[], (5, 25)), (vec![0; 4], vec![20, 0, 0, 0]));
    }

    #[test]
    fn spans_longer_than_time_do_not_wrap() {
        let (all, inside) = sweep(&[(i64::MIN, i64::MAX, 1), (0, 5, 2)], (i64::MIN, i64::MAX));
        assert_eq!((all[1], all[2]), (i64::MAX, 5));
        assert!(inside.iter().all(|&time| time >= 0));
    }

    #[test]
    fn an_instant_lasts_until_an_interval_of_its_priority_ends() {
        assert_eq!(sweep(&[(1, 1, 1), (3, 5, 1)], (0, 10)).1, vec![6, 4, 0, 0]);
        assert_eq!(sweep(&[(1, 1, 2), (3, 5, 1), (6, 7, 2), (8, 9, 1)], (0, 10)).1, vec![3, 1, 6, 0]);
        assert_eq!(sweep(&[(1, 3, 2), (3, 3, 1), (5, 6, 2)], (0, 10)).1, vec![5, 2, 3, 0]);
        assert_eq!(sweep(&[(1, 9, 2), (3, 3, 1)], (0, 10)).1, vec![2, 0, 8, 0]);
        assert_eq!(sweep(&[(4, 1, 2), (3, 8, 1)], (0, 10)).1, vec![5, 1, 4, 0]);
    }

    #[test]
    fn a_priority_is_present_when_it_is_the_highest_if_only_for_an_instant() {
        let present = |spans: &[(i64, i64)]| {
            let (begin, end): (Vec<i64>, Vec<i64>) = spans.iter().copied().unzip();
            let (mut all, mut inside, mut present) = (vec![0; 2], vec![0; 2], vec![false; 2]);
            let mut out = ByPriority { all: &mut all, inside: &mut inside, present: &mut present };
            let group = Group { begin: &begin, end: &end, priority: &vec![1; spans.len()], window: (0, 10) };
            own_by_priority(&group, &mut out);
            present[1]
        };
        assert!(!present(&[(1, 1)]) && present(&[(1, 1), (1, 1)]) && present(&[(20, 30)]));
    }

    #[test]
    fn same_priority_may_overlap_itself_and_touch() {
        let (all, inside) = sweep(&[(0, 10, 2), (5, 15, 2), (15, 20, 2), (20, 20, 3)], (0, 30));
        assert_eq!(all, vec![0, 0, 20, 0]);
        assert_eq!(inside, vec![10, 0, 20, 0]);
    }

    #[test]
    fn groups_are_added_up_apart_and_others_left_out() {
        let spans = Spans {
            group: &[7, 3, 7, 5, 7, 3],
            begin: &[0, 0, 5, 0, 6, 9],
            end: &[10, 4, 8, 99, 6, 9],
            priority: &[1, 2, 2, 1, 2, 1],
        };
        // Group 7: 1 from 0 to 10, and 2 from 5 to 8; the instant at 6 ends in it. Group 3: 2 from 0 to 4, an instant at 9.
        let found = by_priority(spans, &[3, 7], &[(0, 4), (6, 20)], 3, true);
        assert_eq!(found.all, vec![5, 0, 4, 0, 7, 3]);
        assert_eq!(found.inside, vec![0, 0, 4, 10, 2, 2]);
        assert_eq!(found.present, vec![true, false, true, false, true, true]);
        let found = by_priority(spans, &[3, 7], &[(0, 4), (6, 20)], 3, false);
        assert_eq!((found.all, found.present[0]), (vec![0, 0, 4, 0, 7, 3], false));
        assert_eq!(by_priority(spans, &[], &[], 3, true), Sums::default());
    }
}

#[cfg(test)]
mod contents_tests {
    use super::*;

    #[test]
    fn counts_each_line_for_itself() {
        let out = contents(&[0, 3, 3, 5], &[5, 0, 2, 7, 7], &[5, 4, 3, 1, i64::MAX], &[1, 0, 1, 1, 1]);
        assert_eq!((out.begin, out.end), (vec![0, 0, 7], vec![10, 0, i64::MAX]));
        assert_eq!((out.busy, out.names), (vec![10, 0, i64::MAX - 7], vec![2, 0, 1]));
    }

    #[test]
    fn events_that_end_before_they_begin_cover_nothing() {
        let out = contents(&[0, 2], &[10, 20], &[-5, -30], &[0, 0]);
        assert_eq!((out.begin, out.end, out.busy), (vec![10], vec![5], vec![0]));
        assert_eq!(contents(&[], &[], &[], &[]), Contents::default());
    }
}
