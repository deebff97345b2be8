//! Sets of time as disjoint ascending spans: union, intersection, difference, and how much of windows they cover.

/// Begins and ends: a new set, and a borrowed set.
pub type Spans = (Vec<i64>, Vec<i64>);
pub type Set<'a> = (&'a [i64], &'a [i64]);

/// Some spans: begins, ends, and which of them count (None: all); slices of equal length.
pub type Part<'a> = (&'a [i64], &'a [i64], Option<&'a [bool]>);

/// The union of the spans of all parts. Spans without length cover nothing; with `instants` they stay, as spans of their
/// own where nothing else is.
pub fn union(parts: &[Part], instants: bool) -> Spans {
    let mut out = Union::default();
    in_order(parts, instants, |begin, end| out.add(begin, end));
    (out.begin, out.end)
}

/// Time covered by the spans of all parts, and the part of that time after a moment.
pub fn covered_after(parts: &[Part], point: i64) -> (i64, i64) {
    let (mut total, mut late, mut reach) = (0i64, 0i64, i64::MIN);
    in_order(parts, false, |begin, end| {
        if end > reach {
            let from = begin.max(reach);
            total = total.wrapping_add(end.wrapping_sub(from));
            late = late.wrapping_add(end.max(point).wrapping_sub(from.max(point)));
            reach = end;
        }
    });
    (total, late)
}

/// Passes on the spans of all parts by begin.
fn in_order(parts: &[Part], instants: bool, mut add: impl FnMut(i64, i64)) {
    match parts {
        [one] if one.0.is_sorted() => lasting(*one, instants).for_each(|(b, e)| add(b, e)),
        [one, other] if one.0.is_sorted() && other.0.is_sorted() => {
            let (mut one, mut other) = (lasting(*one, instants).peekable(), lasting(*other, instants).peekable());
            while let (Some(&(first, _)), Some(&(second, _))) = (one.peek(), other.peek()) {
                if let Some((b, e)) = if first <= second { one.next() } else { other.next() } {
                    add(b, e);
                }
            }
            one.chain(other).for_each(|(b, e)| add(b, e));
        }
        _ => {
            let mut sorted: Vec<(i64, i64)> = parts.iter().flat_map(|part| lasting(*part, instants)).collect();
            sorted.sort_by_key(|span| span.0); // stable: quick for a few ascending runs
            sorted.into_iter().for_each(|(b, e)| add(b, e));
        }
    }
}

/// The spans of a part that count.
fn lasting((begin, end, keep): Part, instants: bool) -> impl Iterator<Item = (i64, i64)> {
    let counts = move |&i: &usize| keep.is_none_or(|keep| keep[i]) && (instants || end[i] > begin[i]);
    (0..begin.len()).filter(counts).map(move |i| (begin[i], end[i]))
}

#[derive(Default)]
struct Union {
    begin: Vec<i64>,
    end: Vec<i64>,
}

impl Union {
    /// Adds a span that begins no earlier than those before.
    fn add(&mut self, begin: i64, end: i64) {
        match self.end.last_mut() {
            Some(reach) if begin <= *reach => *reach = end.max(*reach),
            // A span that ends before it begins ends where the last one does.
            last => {
                let end = last.map_or(end, |reach| end.max(*reach));
                self.begin.push(begin);
                self.end.push(end);
            }
        }
    }
}

/// Time in both sets.
pub fn intersect(one: Set, other: Set) -> Spans {
    let (mut i, mut j) = (0, 0);
    let mut out = Union::default();
    while i < one.0.len() && j < other.0.len() {
        let (begin, end) = (one.0[i].max(other.0[j]), one.1[i].min(other.1[j]));
        if begin < end {
            out.add(begin, end);
        }
        if one.1[i] < other.1[j] { i += 1 } else { j += 1 }
    }
    (out.begin, out.end)
}

/// Time in the first set and not in the second.
pub fn subtract(one: Set, other: Set) -> Spans {
    let mut j = 0;
    let mut out = Union::default();
    for (&begin, &end) in one.0.iter().zip(one.1) {
        let mut from = begin;
        while j < other.0.len() && other.0[j] < end {
            let until = other.0[j];
            if from < until {
                out.add(from, until);
            }
            from = from.max(other.1[j]);
            if other.1[j] > end {
                break;
            }
            j += 1;
        }
        if from < end {
            out.add(from, end);
        }
    }
    (out.begin, out.end)
}

/// Per window from `since` to `until`, the time that the set covers.
pub fn covered_within(set: Set, since: &[i64], until: &[i64]) -> Vec<i64> {
    let (begin, end) = set;
    if since.is_empty() {
        return Vec::new();
    }
    let mut before = Vec::with_capacity(begin.len());
    let mut sum = 0i64;
    for (&b, &e) in begin.iter().zip(end) {
        before.push(sum);
        sum = sum.wrapping_add(e.wrapping_sub(b));
    }
    let (mut low, mut high) = (0, 0);
    let covered = |time: i64, at: &mut usize| {
        *at = after(begin, time, *at);
        let Some(last) = at.checked_sub(1) else { return 0 };
        before[last].wrapping_add(time.min(end[last]).wrapping_sub(begin[last]))
    };
    let windows = since.iter().zip(until);
    windows.map(|(&from, &to)| covered(to, &mut high).wrapping_sub(covered(from, &mut low))).collect()
}

/// How many of the ascending begins are at or before `time`; quick if that is close to `near`, as in ascending windows.
fn after(begin: &[i64], time: i64, near: usize) -> usize {
    if near > 0 && begin[near - 1] > time {
        return begin[..near].partition_point(|&b| b <= time);
    }
    let (mut at, mut step) = (near, 1);
    while at + step <= begin.len() && begin[at + step - 1] <= time {
        at += step;
        step *= 2;
    }
    let reach = (at + step).min(begin.len());
    at + begin[at..reach].partition_point(|&b| b <= time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(spans: &[(i64, i64)]) -> Spans {
        spans.iter().copied().unzip()
    }

    fn joined(spans: &[(i64, i64)], instants: bool) -> Vec<(i64, i64)> {
        let (begin, end) = split(spans);
        let (b, e) = union(&[(&begin, &end, None)], instants);
        b.into_iter().zip(e).collect()
    }

    fn selected(one: &[(i64, i64)], other: &[(i64, i64)], inside: bool) -> Vec<(i64, i64)> {
        let (one, other) = (split(one), split(other));
        let select = if inside { intersect } else { subtract };
        let (b, e) = select((&one.0, &one.1), (&other.0, &other.1));
        b.into_iter().zip(e).collect()
    }

    #[test]
    fn a_union_merges_what_touches_in_any_order() {
        assert_eq!(joined(&[(20, 30), (0, 10), (10, 12), (5, 7)], false), vec![(0, 12), (20, 30)]);
        assert_eq!(joined(&[(0, 10), (15, 15), (10, 10)], false), vec![(0, 10)]);
        assert_eq!(joined(&[(0, 10), (15, 15), (10, 10)], true), vec![(0, 10), (15, 15)]);
        assert_eq!(joined(&[], true), vec![]);
    }

    #[test]
    fn only_marked_spans_count() {
        let part: Part = (&[0, 5, 9], &[3, 8, 10], Some(&[true, false, true]));
        assert_eq!(union(&[part], false), (vec![0, 9], vec![3, 10]));
    }

    #[test]
    fn several_parts_are_one_set() {
        let part: Part = (&[0, 5, 9], &[3, 8, 10], Some(&[true, false, true]));
        let (ascending, any): (Part, Part) = ((&[2, 10], &[4, 12], None), (&[20, 1], &[21, 3], None));
        assert_eq!(union(&[part, ascending], false), (vec![0, 9], vec![4, 12]));
        assert_eq!(union(&[part, any], false), (vec![0, 9, 20], vec![3, 10, 21]));
        assert_eq!(union(&[part, ascending, any], false), (vec![0, 9, 20], vec![4, 12, 21]));
        assert_eq!(union(&[], false), (vec![], vec![]));
    }

    #[test]
    fn a_span_that_ends_before_it_begins_covers_nothing() {
        let spans = [(0, 10), (5, 2), (20, 15), (30, 40)];
        assert_eq!(joined(&spans, false), vec![(0, 10), (30, 40)]);
        assert_eq!(joined(&spans, true), vec![(0, 10), (20, 15), (30, 40)]);
    }

    #[test]
    fn time_after_a_point() {
        let (nested, late): (Part, Part) = ((&[0, 2, 10], &[8, 5, 20], None), (&[15, 30], &[25, 31], None));
        assert_eq!(covered_after(&[nested], 12), (18, 8));
        assert_eq!(covered_after(&[nested, late], 12), (24, 14));
        assert_eq!(covered_after(&[nested, late], 40), (24, 0));
        assert_eq!(covered_after(&[], 0), (0, 0));
    }

    #[test]
    fn intersection_and_difference() {
        let one = [(0, 10), (20, 30), (40, 50)];
        let other = [(5, 25), (30, 35), (42, 44)];
        assert_eq!(selected(&one, &other, true), vec![(5, 10), (20, 25), (42, 44)]);
        assert_eq!(selected(&one, &other, false), vec![(0, 5), (25, 30), (40, 42), (44, 50)]);
        assert_eq!(selected(&one, &one, false), vec![]);
        assert_eq!(selected(&one, &[], true), vec![]);
    }

    #[test]
    fn pieces_that_touch_become_one() {
        assert_eq!(selected(&[(0, 5), (5, 8)], &[(20, 30)], false), vec![(0, 8)]);
        assert_eq!(selected(&[(0, 8)], &[(2, 2), (3, 5), (5, 6)], true), vec![(3, 6)]);
    }

    #[test]
    fn coverage_of_windows_in_any_order() {
        let (begin, end) = split(&[(0, 10), (20, 30), (40, 50), (60, 61)]);
        let found = covered_within((&begin, &end), &[-5, 5, 25, 100, 0, 41, 9], &[5, 25, 45, 200, i64::MAX, 42, 9]);
        assert_eq!(found, vec![5, 10, 10, 0, 31, 1, 0]);
        assert_eq!(covered_within((&[], &[]), &[1], &[5]), vec![0]);
    }
}
