//! The calls of tf.data iterators and their callers: on one thread by nesting, across threads by element.

mod build;
mod calls;
mod runs;

pub use build::{Events, Sparse};
pub use calls::{ITERATOR, IteratorCalls, PRODUCE, ROOT};
pub use runs::{Calls, Runs};

#[cfg(test)]
mod tests {
    use super::runs::MAX_DEPTH;
    use super::*;

    const CONSUME: u8 = PRODUCE + 1;

    type Row = (i64, i64, i64, u8, i64, i64, i64);

    /// Rows of (line, begin, end, role, id, parent, element), -1 for none; metadata rows are the events themselves.
    fn forest(rows: &[Row]) -> IteratorCalls {
        let lines = rows.iter().map(|row| row.0).max().map_or(0, |line| line + 1);
        let line_start: Vec<i64> =
            (0..=lines).map(|line| rows.iter().filter(|row| row.0 < line).count() as i64).collect();
        let begin: Vec<i64> = rows.iter().map(|row| row.1).collect();
        let duration: Vec<i64> = rows.iter().map(|row| row.2 - row.1).collect();
        let metadata: Vec<u32> = (0..rows.len() as u32).collect();
        let role: Vec<u8> = rows.iter().map(|row| row.3).collect();
        let column = |of: fn(&Row) -> i64| -> (Vec<i64>, Vec<i64>) {
            (0i64..).zip(rows).map(|(event, row)| (event, of(row))).filter(|pair| pair.1 != -1).unzip()
        };
        let (id, parent, element) = (column(|row| row.4), column(|row| row.5), column(|row| row.6));
        IteratorCalls::new(
            Events { line_start: &line_start, begin: &begin, duration: &duration, metadata: &metadata, role: &role },
            Sparse { event: &id.0, value: &id.1 },
            Sparse { event: &parent.0, value: &parent.1 },
            Sparse { event: &element.0, value: &element.1 },
            None,
        )
    }

    /// A prefetch that waits for its producer first, and finds the next element ready.
    fn prefetch() -> IteratorCalls {
        forest(&[
            (0, 0, 100, ROOT, 123, -1, -1),
            (0, 80, 100, CONSUME, -1, -1, 100),
            (0, 200, 220, ROOT, 123, -1, -1),
            (0, 210, 220, CONSUME, -1, -1, 200),
            (1, 0, 80, PRODUCE, -1, -1, 100),
            (1, 0, 80, ITERATOR, 456, 123, -1),
            (1, 100, 180, PRODUCE, -1, -1, 200),
            (1, 100, 180, ITERATOR, 456, 123, -1),
        ])
    }

    #[test]
    fn producers_on_other_threads_are_calls_of_their_consumer() {
        let found = prefetch().sum(&[0, 1], 2, 0, 9999);
        assert_eq!(found.start, vec![0, 2, 4]);
        assert_eq!(found.own, vec![20, 80, 20, 80]);
        assert_eq!(found.blocking, vec![true, true, true, false]);
        assert_eq!((found.begin, found.calls), (vec![0, 0, 200, 100], vec![1, 1, 1, 1]));
        assert!(found.cut.is_empty());
    }

    #[test]
    fn runs_stop_at_the_wanted_number_of_rows() {
        assert_eq!(prefetch().sum(&[0, 1], 1, 0, 9999).start, vec![0, 2]);
        assert_eq!(prefetch().sum(&[0, 1], 2, 1, 9999).start, vec![0, 2, 4]);
        assert_eq!(prefetch().sum(&[0, 1], 0, 3, 9999).start, vec![0, 2, 4]);
    }

    #[test]
    fn of_very_many_iterators_the_longest_stay_and_the_bottleneck() {
        let wide = forest(&[
            (0, 0, 100, ROOT, 1, -1, -1),
            (0, 0, 60, ITERATOR, 2, 1, -1),
            (0, 0, 58, ITERATOR, 3, 2, -1),
            (0, 60, 62, ITERATOR, 4, 1, -1),
            (0, 62, 100, ITERATOR, 5, 1, -1),
            (0, 0, 20, ITERATOR, 6, 3, -1),
        ]);
        let ids = |most| {
            let found = wide.sum(&[0], 1, 0, most);
            (found.iterator.iter().map(|&at| wide.id[at as usize]).collect::<Vec<_>>(), found.left_out)
        };
        assert_eq!(ids(4), (vec![1, 2, 3, 5], vec![2]));
        // 3 and 5 have 38 of their own: of equals the smaller id.
        assert_eq!(ids(2), (vec![1, 3], vec![4]));
    }

    #[test]
    fn all_elements_of_a_batch_belong_to_its_consumer() {
        let batch = forest(&[
            (0, 0, 100, ROOT, 1, -1, -1),
            (0, 50, 100, CONSUME, -1, -1, 7),
            (1, 0, 40, PRODUCE, -1, -1, 7),
            (1, 0, 30, ITERATOR, 2, 1, -1),
            (1, 30, 40, ITERATOR, 3, 1, -1),
            (1, 50, 90, PRODUCE, -1, -1, 7),
            (1, 50, 80, ITERATOR, 2, 1, -1),
        ]);
        let found = batch.sum(&[0], 1, 0, 9999);
        // The second call inside a producer is not what it makes.
        assert_eq!((found.own, found.calls), (vec![40, 60], vec![1, 2]));
    }

    #[test]
    fn an_element_that_comes_again_belongs_to_the_consumer_after_it() {
        let again = forest(&[
            (0, 0, 10, ROOT, 1, -1, -1),
            (0, 5, 10, CONSUME, -1, -1, 7),
            (0, 20, 30, ROOT, 1, -1, -1),
            (0, 25, 30, CONSUME, -1, -1, 7),
            (1, 0, 4, PRODUCE, -1, -1, 7),
            (1, 0, 4, ITERATOR, 2, 1, -1),
            (1, 21, 24, PRODUCE, -1, -1, 7),
            (1, 21, 24, ITERATOR, 2, 1, -1),
        ]);
        let found = again.sum(&[0, 1], 2, 0, 9999);
        assert_eq!((found.own, found.calls), (vec![6, 4, 7, 3], vec![1, 1, 1, 1]));
    }

    #[test]
    fn ids_are_compared_as_64_bits_without_sign() {
        let wide =
            forest(&[(0, 0, 10, ROOT, 5, -1, -1), (0, 0, 4, ITERATOR, i64::MIN, 5, -1), (0, 4, 6, ITERATOR, 3, 5, -1)]);
        let found = wide.sum(&[0], 1, 0, 9999);
        let ids: Vec<u64> = found.iterator.iter().map(|&at| wide.id[at as usize]).collect();
        assert_eq!(ids, vec![3, 5, 1 << 63]);
        assert_eq!(found.own, vec![2, 4, 4]);
    }

    #[test]
    fn calls_that_deep_do_not_count() {
        let deep: Vec<_> =
            (0..300).map(|i| (0, i, 1000 - i, if i == 0 { ROOT } else { ITERATOR }, i + 1, i, -1)).collect();
        let found = forest(&deep).sum(&[0], 1, 0, 9999);
        assert_eq!(found.iterator.len(), MAX_DEPTH as usize + 1);
        assert_eq!(found.own.last(), Some(&2));
    }

    #[test]
    fn circles_and_very_many_ways_end() {
        // A call that consumes what was made inside itself.
        let circle = forest(&[
            (0, 0, 90, ROOT, 1, 1, -1),
            (0, 10, 90, CONSUME, -1, -1, 7),
            (0, 20, 80, PRODUCE, -1, -1, 7),
            (0, 20, 80, ROOT, 1, 1, -1),
            (0, 30, 70, CONSUME, -1, -1, 7),
        ]);
        assert_eq!(circle.roots.len(), 2);
        let found = circle.sum(&[0, 1], 2, 0, 9999);
        assert_eq!((found.calls, found.cut.len()), (vec![101, 101], 0));
        // Two calls on each of 60 levels consume the same element, which the next level makes: 2^60 ways.
        let mut rows = Vec::new();
        for level in 0..60 {
            let (root, own) = (if level == 0 { ROOT } else { ITERATOR }, 2 * level + 1);
            rows.push((level, 0, 100, PRODUCE, -1, -1, level));
            rows.push((level, 0, 100, root, own, own - 1, -1));
            for begin in [10, 50] {
                rows.push((level, begin, begin + 40, ITERATOR, own + 1, own, -1));
                rows.push((level, begin + 10, begin + 40, CONSUME, -1, -1, level + 1));
            }
        }
        let found = forest(&rows);
        assert_eq!(found.sum(&[0, 0], 2, 0, 9999).cut, vec![0, 1]);
        let calls = found.calls(0);
        assert!(calls.cut && calls.call.len() > 100);
    }

    #[test]
    fn calls_of_a_run_come_once_each() {
        let found = prefetch().calls(0);
        assert_eq!((found.call, found.blocking, found.cut), (vec![0, 2], vec![true, true], false));
        let later = prefetch().calls(1);
        assert_eq!((later.call, later.blocking), (vec![1, 3], vec![true, false]));
    }
}
