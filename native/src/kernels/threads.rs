//! Events of one thread by depth, and events that open something with those that close it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NOTHING: i64 = -1;

/// The events by depth, then by begin, longest first; and where each depth starts, with one entry more than depths.
///
/// The depth of an event is the number of events before it, in that order, that have not ended when it begins. Events at
/// depth `most` or below are left out. The slices are of equal length.
pub fn levels(begin: &[i64], end: &[i64], most: usize) -> (Vec<i64>, Vec<i64>) {
    let key = |i: usize| (begin[i], Reverse(end[i]));
    let mut order: Vec<usize> = (0..begin.len()).collect();
    if !order.is_sorted_by_key(|&i| key(i)) {
        order.sort_by_key(|&i| key(i));
    }
    let mut depth = vec![0u32; order.len()];
    let mut start = vec![0usize];
    // Ends of open events: the innermost on top of a stack; those that outlive what they began in lie apart.
    let (mut stack, mut apart): (Vec<i64>, BinaryHeap<Reverse<i64>>) = (Vec::new(), BinaryHeap::new());
    for (slot, &i) in depth.iter_mut().zip(&order) {
        while stack.last().is_some_and(|&end| end <= begin[i]) {
            stack.pop();
        }
        while apart.peek().is_some_and(|&Reverse(end)| end <= begin[i]) {
            apart.pop();
        }
        let level = stack.len() + apart.len();
        *slot = level.min(most) as u32;
        if level < most {
            start.resize(start.len().max(level + 2), 0);
            start[level + 1] += 1;
        }
        if stack.last().is_none_or(|&top| end[i] <= top) {
            stack.push(end[i]);
        } else {
            apart.push(Reverse(end[i]));
        }
    }
    for level in 1..start.len() {
        start[level] += start[level - 1];
    }
    let mut next = start.clone();
    let mut sorted = vec![0i64; start.last().copied().unwrap_or(0)];
    for (&i, &level) in order.iter().zip(&depth).filter(|&(_, &level)| (level as usize) < most) {
        sorted[next[level as usize]] = i as i64;
        next[level as usize] += 1;
    }
    (sorted, start.into_iter().map(|at| at as i64).collect())
}

/// Pairs openings with closings of equal key, first in first out: indices of both, by closing. Events, given in order
/// of time, with a negative key take no part; `key` and `opens` are of equal length, keys are small.
pub fn pair_in_order(key: &[i64], opens: &[bool]) -> (Vec<i64>, Vec<i64>) {
    let kinds = key.iter().max().map_or(0, |&last| (last + 1).max(0) as usize);
    // The openings that wait, per key: the first, the last, and from each the next.
    let (mut first, mut last, mut next) = (vec![NOTHING; kinds], vec![NOTHING; kinds], vec![NOTHING; key.len()]);
    let (mut opened, mut closed) = (Vec::new(), Vec::new());
    for (at, (&key, &opens)) in key.iter().zip(opens).enumerate().filter(|(_, (key, _))| **key >= 0) {
        let (at, key) = (at as i64, key as usize);
        let waits = first[key];
        if opens {
            *(if waits == NOTHING { &mut first[key] } else { &mut next[last[key] as usize] }) = at;
            last[key] = at;
        } else if waits != NOTHING {
            first[key] = next[waits as usize];
            opened.push(waits);
            closed.push(at);
        }
    }
    (opened, closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_level(spans: &[(i64, i64)], most: usize) -> Vec<Vec<i64>> {
        let (begin, end): (Vec<i64>, Vec<i64>) = spans.iter().copied().unzip();
        let (order, start) = levels(&begin, &end, most);
        start.windows(2).map(|pair| order[pair[0] as usize..pair[1] as usize].to_vec()).collect()
    }

    #[test]
    fn depth_is_the_number_of_open_events() {
        let spans = [(0, 100), (0, 10), (2, 4), (10, 20), (12, 14), (100, 110)];
        assert_eq!(by_level(&spans, 200), vec![vec![0, 5], vec![1, 3], vec![2, 4]]);
        assert_eq!(by_level(&[], 200), Vec::<Vec<i64>>::new());
    }

    #[test]
    fn events_in_any_order_and_a_limit() {
        assert_eq!(by_level(&[(2, 4), (0, 10), (0, 100)], 2), vec![vec![2], vec![1]]);
    }

    #[test]
    fn events_that_outlive_what_they_began_in_stay_open() {
        assert_eq!(
            by_level(&[(0, 10), (5, 15), (6, 7), (12, 13), (20, 21)], 200),
            vec![vec![0, 4], vec![1, 3], vec![2]]
        );
    }

    #[test]
    fn pairs_by_key_first_in_first_out() {
        let key = [0, 1, 0, -1, 0, 0, 1, 1, 0];
        let opens = [true, true, true, true, false, false, false, false, false];
        assert_eq!(pair_in_order(&key, &opens), (vec![0, 2, 1], vec![4, 5, 6]));
        assert_eq!(pair_in_order(&[], &[]), (vec![], vec![]));
    }
}
