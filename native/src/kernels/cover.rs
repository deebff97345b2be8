//! Forward walks over two sorted lists of intervals: the parent line's event that each event belongs to.

use crate::kernels::nesting::NONE;

/// One line's events as slices of equal length.
#[derive(Clone, Copy)]
pub struct Spans<'a> {
    pub begin: &'a [i64],
    pub duration: &'a [i64],
}

impl Spans<'_> {
    fn at(&self, i: usize) -> (i64, i64) {
        (self.begin[i], self.begin[i].saturating_add(self.duration[i]))
    }

    fn len(&self) -> usize {
        self.begin.len()
    }
}

/// For each event the first parent that overlaps it (closed intervals), or [`NONE`].
///
/// The walk only moves forward: the current parent is kept while it overlaps; otherwise parents that end before
/// the event begins are passed, and the first that does not is the only candidate. `out` is as long as `events`.
pub fn overlapping(parents: Spans, events: Spans, out: &mut [u32]) {
    let mut at = 0;
    for (i, slot) in out.iter_mut().enumerate() {
        let (b, e) = events.at(i);
        *slot = NONE;
        while at < parents.len() {
            let (pb, pe) = parents.at(at);
            if pb <= e && b <= pe {
                *slot = at as u32;
                break;
            }
            if pe >= b {
                break;
            }
            at += 1;
        }
    }
}

/// For each event the parent that includes it (closed intervals), or [`NONE`].
///
/// Parents are passed while they end at or before the event's begin.
pub fn enclosing(parents: Spans, events: Spans, out: &mut [u32]) {
    let mut at = 0;
    for (i, slot) in out.iter_mut().enumerate() {
        let (b, e) = events.at(i);
        *slot = NONE;
        while at < parents.len() && parents.at(at).1 <= b {
            at += 1;
        }
        if at == parents.len() {
            out[i..].fill(NONE);
            return;
        }
        let (pb, pe) = parents.at(at);
        if pb <= b && e <= pe {
            *slot = at as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(walk: fn(Spans, Spans, &mut [u32]), parents: &[(i64, i64)], events: &[(i64, i64)]) -> Vec<u32> {
        let split = |list: &[(i64, i64)]| -> (Vec<i64>, Vec<i64>) { list.iter().map(|&(b, e)| (b, e - b)).unzip() };
        let ((pb, pd), (eb, ed)) = (split(parents), split(events));
        let mut out = vec![0; events.len()];
        walk(Spans { begin: &pb, duration: &pd }, Spans { begin: &eb, duration: &ed }, &mut out);
        out
    }

    #[test]
    fn overlap_keeps_the_current_parent_while_it_touches() {
        let out = run(
            overlapping,
            &[(0, 10), (10, 20), (30, 40)],
            &[(0, 1), (10, 12), (11, 12), (22, 25), (25, 30), (50, 51)],
        );
        assert_eq!(out, vec![0, 0, 1, NONE, 2, NONE]);
    }

    #[test]
    fn enclosing_passes_parents_that_end_at_the_begin() {
        let out = run(enclosing, &[(0, 10), (10, 20)], &[(0, 10), (5, 11), (10, 12), (20, 20), (5, 6)]);
        assert_eq!(out, vec![0, NONE, 1, NONE, NONE]);
    }
}
