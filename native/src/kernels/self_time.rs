//! How much of an event's duration is its own: the rest belongs to the events nested in it.

/// Time of each event without its direct children; an event's stored order decides what it can be nested in.
///
/// An event is a child of the nearest earlier event that includes it (closed interval) and has not been left by a later
/// event. Overlap without inclusion is no nesting: it ends the earlier event. Sums wrap on absurd input.
pub fn self_times(begin: &[i64], duration: &[i64], out: &mut [i64]) {
    let mut stack: Vec<(usize, i64, i64)> = Vec::new();
    for (i, (&b, &d)) in begin.iter().zip(duration).enumerate() {
        let e = b.saturating_add(d);
        while let Some(&(top, top_begin, top_end)) = stack.last() {
            if top_begin <= b && e <= top_end {
                out[top] = out[top].wrapping_sub(d);
                break;
            }
            stack.pop();
        }
        out[i] = d;
        stack.push((i, b, e));
    }
}

/// Self time, not below 0, and depth of the events of each line, in whatever order the file has them.
///
/// Events nest as in [`self_times`], by begin, longest first; equal ones in file order. The depth is the number of events
/// that include an event. `line_start` has one entry per line and one more, all within the other slices (checked by the
/// caller).
pub fn nested(line_start: &[i64], begin: &[i64], duration: &[i64]) -> (Vec<i64>, Vec<i32>) {
    let (mut own, mut depth) = (duration.to_vec(), vec![0i32; begin.len()]);
    let mut stack: Vec<(usize, i64, i64)> = Vec::new();
    let mut order: Vec<usize> = Vec::new();
    for line in line_start.windows(2) {
        let (from, to) = (line[0] as usize, line[1] as usize);
        let key = |i: usize| (begin[i], std::cmp::Reverse(duration[i]));
        let sorted = (from..to).is_sorted_by_key(key);
        if !sorted {
            order.clear();
            order.extend(from..to);
            order.sort_by_key(|&i| key(i));
        }
        stack.clear();
        for place in from..to {
            let i = if sorted { place } else { order[place - from] };
            let (b, e) = (begin[i], begin[i].saturating_add(duration[i]));
            while let Some(&(top, top_begin, top_end)) = stack.last() {
                if top_begin <= b && e <= top_end {
                    own[top] = own[top].wrapping_sub(duration[i]);
                    break;
                }
                stack.pop();
            }
            depth[i] = stack.len() as i32;
            stack.push((i, b, e));
        }
    }
    own.iter_mut().for_each(|time| *time = (*time).max(0));
    (own, depth)
}

/// Marks an activity whose end has no begin.
pub const LOST: i64 = i64::MIN;

/// Self times of the activities of one thread, where spans may overlap in any way.
///
/// Begins and ends are taken in time order (ties: in the given order, begin before end). An end closes the activities
/// above its own begin: they are lost ([`LOST`]). The duration of an activity is charged to the one below it.
/// `span` gets the times of the first and last point in that order.
pub fn activity_self_times(begin: &[i64], end: &[i64], out: &mut [i64]) -> Option<(i64, i64)> {
    let mut points: Vec<(i64, u32)> = Vec::with_capacity(2 * begin.len());
    for (i, (&b, &e)) in begin.iter().zip(end).enumerate() {
        points.push((b, 2 * i as u32));
        points.push((e, 2 * i as u32 + 1));
    }
    if !points.is_sorted_by_key(|&(time, _)| time) {
        points.sort_by_key(|&(time, _)| time);
    }
    out.fill(LOST);
    let mut stack: Vec<(usize, i64)> = Vec::new();
    for &(_, code) in &points {
        let (activity, is_end) = ((code / 2) as usize, code % 2 == 1);
        if !is_end {
            stack.push((activity, 0));
            continue;
        }
        while let Some((top, children)) = stack.pop() {
            if top == activity {
                let duration = end[activity].wrapping_sub(begin[activity]);
                out[activity] = duration.wrapping_sub(children);
                if let Some(below) = stack.last_mut() {
                    below.1 = below.1.wrapping_add(duration);
                }
                break;
            }
        }
    }
    Some((points.first()?.0, points.last()?.0))
}

/// Sums per key: occurrences, total, own time, and the smallest of a second duration. All of length `keys`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub occurrences: Vec<i64>,
    pub time: Vec<i64>,
    pub own: Vec<i64>,
    pub least: Vec<i64>,
}

/// Adds events up by key; keys at or above `keys` are left out. `least` of a key without events is 0.
pub fn totals(key: &[u32], time: &[i64], own: &[i64], clock: &[i64], keys: usize) -> Totals {
    let mut sums: Vec<(i64, i64, i64, i64)> = vec![(0, 0, 0, i64::MAX); keys];
    for (((&k, &t), &o), &c) in key.iter().zip(time).zip(own).zip(clock) {
        if let Some(sum) = sums.get_mut(k as usize) {
            *sum = (sum.0 + 1, sum.1.wrapping_add(t), sum.2.wrapping_add(o), sum.3.min(c));
        }
    }
    Totals {
        occurrences: sums.iter().map(|s| s.0).collect(),
        time: sums.iter().map(|s| s.1).collect(),
        own: sums.iter().map(|s| s.2).collect(),
        least: sums.iter().map(|s| if s.0 == 0 { 0 } else { s.3 }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(spans: &[(i64, i64)]) -> Vec<i64> {
        let (begin, duration): (Vec<i64>, Vec<i64>) = spans.iter().map(|&(b, e)| (b, e - b)).unzip();
        let mut out = vec![0; spans.len()];
        self_times(&begin, &duration, &mut out);
        out
    }

    #[test]
    fn children_are_taken_off_their_direct_parent_only() {
        assert_eq!(own(&[(0, 100), (10, 60), (20, 30), (60, 70), (100, 100)]), vec![40, 40, 10, 10, 0]);
    }

    #[test]
    fn partial_overlap_is_not_nesting() {
        assert_eq!(own(&[(0, 10), (5, 15), (6, 8)]), vec![10, 8, 2]);
    }

    #[test]
    fn lines_in_any_order_have_self_times_and_depths() {
        let (begin, duration) = ([20, 0, 10, 0, 0, 5, 6], [10, 100, 50, 10, 10, 10, 2]);
        let (own, depth) = nested(&[0, 3, 3, 5, 7], &begin, &duration);
        assert_eq!(own, vec![10, 50, 40, 0, 10, 8, 2]);
        assert_eq!(depth, vec![2, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn an_end_loses_what_lies_above_its_begin() {
        let mut out = [0; 4];
        let span = activity_self_times(&[0, 5, 20, 22], &[10, 15, 30, 25], &mut out);
        assert_eq!(out, [10, LOST, 7, 3]);
        assert_eq!(span, Some((0, 30)));
        assert_eq!(activity_self_times(&[], &[], &mut []), None);
    }

    #[test]
    fn an_instant_belongs_to_what_surrounds_it() {
        let mut out = [0; 3];
        activity_self_times(&[0, 5, 5], &[10, 5, 7], &mut out);
        assert_eq!(out, [8, 0, 2]);
    }

    #[test]
    fn sums_by_key_and_skips_foreign_keys() {
        let sums = totals(&[1, 0, 1, 9], &[5, 6, 7, 8], &[1, 2, 3, 4], &[50, 60, 40, 80], 3);
        assert_eq!(sums.occurrences, vec![1, 2, 0]);
        assert_eq!((sums.time, sums.own, sums.least), (vec![6, 12, 0], vec![2, 4, 0], vec![60, 40, 0]));
    }
}
