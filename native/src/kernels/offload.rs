//! Pairs the start and done events of copies to host memory and packs the pairs into rows.

use std::collections::VecDeque;

/// One paired operation: indices of the two events and the row it is shown in.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct Pair {
    pub start: u32,
    pub done: u32,
    pub row: u32,
}

/// Pairs events first in, first out per `key` (small numbers); the events are ordered by begin.
///
/// A pair spans from the begin of its start to the end of its done. It goes to the row whose last pair ended earliest,
/// among those that ended at or before its begin, the last of equals; without such a row a new one is opened, up to `max_rows`.
/// The last row takes pairs that fit nowhere.
pub fn pair(begin: &[i64], duration: &[i64], key: &[u32], is_start: &[bool], max_rows: usize) -> Vec<Pair> {
    let kinds = key.iter().max().map_or(0, |&last| last as usize + 1);
    let mut waiting: Vec<VecDeque<u32>> = vec![VecDeque::new(); kinds];
    let mut frontier: Vec<i64> = Vec::new();
    let mut pairs = Vec::new();
    for at in 0..begin.len() {
        let queue = &mut waiting[key[at] as usize];
        if is_start[at] {
            queue.push_back(at as u32);
            continue;
        }
        let Some(start) = queue.pop_front() else {
            continue;
        };
        let (from, to) = (begin[start as usize], begin[at].saturating_add(duration[at]));
        let free = (0..frontier.len()).rev().filter(|&row| frontier[row] <= from).min_by_key(|&row| frontier[row]);
        let row = match free {
            Some(row) => row,
            None if frontier.len() < max_rows => {
                frontier.push(i64::MIN);
                frontier.len() - 1
            }
            None if max_rows > 0 => max_rows - 1,
            None => continue,
        };
        frontier[row] = to;
        pairs.push(Pair { start, done: at as u32, row: row as u32 });
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_first_in_first_out_into_the_row_that_ended_earliest() {
        //           s0  s0  d0  d0  s1  d1  d1
        let begin = [0, 10, 20, 30, 40, 50, 60];
        let keys = [0, 0, 0, 0, 1, 1, 1];
        let start = [true, true, false, false, true, false, false];
        let pairs = pair(&begin, &[1; 7], &keys, &start, 9);
        let expected = [(0, 2, 0), (1, 3, 1), (4, 5, 0)].map(|(start, done, row)| Pair { start, done, row });
        assert_eq!(pairs, expected);
    }

    #[test]
    fn rows_are_limited_and_the_last_takes_the_rest() {
        let rows = |max_rows| {
            let starts = [true, true, true, false, false, false];
            let pairs = pair(&[0, 1, 2, 3, 4, 5], &[1; 6], &[0, 1, 2, 0, 1, 2], &starts, max_rows);
            pairs.iter().map(|pair| pair.row).collect::<Vec<_>>()
        };
        assert_eq!((rows(3), rows(2), rows(1), rows(0)), (vec![0, 1, 2], vec![0, 1, 1], vec![0; 3], vec![]));
    }
}
