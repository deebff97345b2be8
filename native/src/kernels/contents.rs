//! Figures of every line of a plane in one pass: span, busy time, how many different names.

use crate::kernels::sweep;

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
        out.busy.push(sweep::covered(b, d));
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
