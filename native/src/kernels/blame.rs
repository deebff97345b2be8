//! Wall time by what ran: shared among spans that run at once, and by the stack of a thread.

use std::cmp::Reverse;

use ahash::AHashMap;

use super::sets::Set;

const NOTHING: i64 = -1;

/// Time of a set that each span covers; spans that run at once share it evenly, to the picosecond.
///
/// `set` is disjoint and ascending; what no span covers counts for none. At most `most` of the spans that run at once, those
/// that began first, take part. `begin` and `end` are of equal length.
pub fn shares(set: Set, begin: &[i64], end: &[i64], most: usize) -> Vec<i64> {
    let mut share = vec![0i64; begin.len()];
    let mut opens: Vec<usize> = (0..begin.len()).filter(|&i| end[i] > begin[i]).collect();
    opens.sort_by_key(|&i| begin[i]);
    let (mut active, mut next, mut first): (Vec<usize>, usize, usize) = (Vec::new(), 0, 0);
    let mut now = i64::MIN;
    while next < opens.len() || !active.is_empty() {
        let mut until = opens.get(next).map_or(i64::MAX, |&i| begin[i]);
        for &i in &active {
            until = until.min(end[i]);
        }
        if !active.is_empty() {
            let count = active.len() as i64;
            let ps = covered(set, &mut first, now, until);
            for (at, &i) in active.iter().enumerate() {
                share[i] += ps / count + i64::from((at as i64) < ps % count);
            }
        }
        now = until;
        active.retain(|&i| end[i] > now);
        while next < opens.len() && begin[opens[next]] <= now {
            if active.len() < most {
                active.push(opens[next]);
            }
            next += 1;
        }
    }
    share
}

/// Time of a set between two moments; `first` is the set's first span that ends after `since`, and moves on.
fn covered((begin, end): Set, first: &mut usize, since: i64, until: i64) -> i64 {
    while *first < begin.len() && end[*first] <= since {
        *first += 1;
    }
    let mut ps = 0;
    for at in *first..begin.len() {
        if begin[at] >= until {
            break;
        }
        ps += end[at].min(until) - begin[at].max(since);
    }
    ps
}

/// What a thread did: a tree of calls by name, and when which call was the innermost.
#[derive(Debug, Default, PartialEq)]
pub struct Stacks {
    /// Disjoint ascending spans with an open call, and the node of the innermost.
    pub begin: Vec<i64>,
    pub end: Vec<i64>,
    pub node: Vec<i64>,
    /// Per node the calling node, -1 for outermost calls, and the name.
    pub parent: Vec<i64>,
    pub name: Vec<i64>,
}

impl Stacks {
    fn during(&mut self, since: i64, until: i64, node: i64) {
        if until <= since || node == NOTHING {
            return;
        }
        if self.node.last() == Some(&node) && self.end.last() == Some(&since) {
            self.end.pop();
        } else {
            self.begin.push(since);
            self.node.push(node);
        }
        self.end.push(until);
    }
}

/// The stacks of a thread's events, in any order; what outlives its caller ends with it. Calls of one name with the same
/// stack are one node. Events deeper than `most` count as their callers. The slices are of equal length.
pub fn stacks(begin: &[i64], end: &[i64], name: &[i64], most: usize) -> Stacks {
    let key = |i: usize| (begin[i], Reverse(end[i]));
    let mut order: Vec<usize> = (0..begin.len()).filter(|&i| end[i] > begin[i]).collect();
    if !order.is_sorted_by_key(|&i| key(i)) {
        order.sort_by_key(|&i| key(i));
    }
    let mut found = Stacks::default();
    let mut nodes: AHashMap<(i64, i64), i64> = AHashMap::new();
    let mut open: Vec<(i64, i64)> = Vec::new();
    let mut now = i64::MIN;
    let close = |found: &mut Stacks, open: &mut Vec<(i64, i64)>, now: &mut i64, until: i64| {
        while let Some(&(end, node)) = open.last().filter(|(end, _)| *end <= until) {
            found.during(*now, end, node);
            *now = (*now).max(end);
            open.pop();
        }
    };
    for i in order {
        close(&mut found, &mut open, &mut now, begin[i]);
        let (outer, caller) = open.last().copied().unwrap_or((i64::MAX, NOTHING));
        found.during(now, begin[i], caller);
        now = begin[i];
        if open.len() >= most {
            continue;
        }
        let node = *nodes.entry((caller, name[i])).or_insert_with(|| {
            found.parent.push(caller);
            found.name.push(name[i]);
            found.parent.len() as i64 - 1
        });
        open.push((end[i].min(outer), node));
    }
    close(&mut found, &mut open, &mut now, i64::MAX);
    found
}

/// Where spans of two disjoint ascending sets overlap: the indices of both, and for how long.
pub fn overlaps(one: Set, other: Set) -> (Vec<i64>, Vec<i64>, Vec<i64>) {
    let (mut left, mut right, mut time) = (Vec::new(), Vec::new(), Vec::new());
    let (mut i, mut k) = (0, 0);
    while i < one.0.len() && k < other.0.len() {
        let ps = one.1[i].min(other.1[k]) - one.0[i].max(other.0[k]);
        if ps > 0 {
            left.push(i as i64);
            right.push(k as i64);
            time.push(ps);
        }
        if one.1[i] <= other.1[k] { i += 1 } else { k += 1 }
    }
    (left, right, time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_at_once_share_the_time_to_the_picosecond() {
        // 0..10 alone, 10..15 two of them (3 + 2), 15..20 the second alone; 30..40 is outside of the set.
        let set: Set = (&[0, 18], &[15, 20]);
        assert_eq!(shares(set, &[0, 10, 30], &[15, 20, 40], 64), [13, 4, 0]);
        assert_eq!(shares((&[], &[]), &[0], &[5], 64), [0]);
    }

    #[test]
    fn no_more_spans_share_than_asked_for() {
        assert_eq!(shares((&[0], &[10]), &[0, 1, 2], &[10, 10, 10], 2), [6, 4, 0]);
    }

    #[test]
    fn stacks_are_a_tree_by_name() {
        // main [0, 100] calls load twice, which calls read.
        let found = stacks(&[0, 10, 12, 40], &[100, 30, 20, 60], &[7, 8, 9, 8], 200);
        assert_eq!((found.parent, found.name), (vec![-1, 0, 1], vec![7, 8, 9]));
        assert_eq!(found.begin, [0, 10, 12, 20, 30, 40, 60]);
        assert_eq!(found.end, [10, 12, 20, 30, 40, 60, 100]);
        assert_eq!(found.node, [0, 1, 2, 1, 0, 1, 0]);
    }

    #[test]
    fn gaps_have_no_stack_and_calls_end_with_their_callers() {
        let found = stacks(&[0, 5, 30], &[10, 20, 40], &[1, 2, 1], 200);
        assert_eq!((found.begin, found.end, found.node), (vec![0, 5, 30], vec![5, 10, 40], vec![0, 1, 0]));
    }

    #[test]
    fn too_deep_calls_count_as_their_callers() {
        let found = stacks(&[0, 1], &[10, 5], &[1, 2], 1);
        assert_eq!((found.begin, found.end, found.node), (vec![0], vec![10], vec![0]));
    }

    #[test]
    fn overlaps_of_two_sets() {
        let found = overlaps((&[0, 20], &[10, 30]), (&[5, 9, 25], &[8, 22, 40]));
        assert_eq!(found, (vec![0, 0, 1, 1], vec![0, 1, 1, 2], vec![3, 1, 2, 5]));
    }
}
