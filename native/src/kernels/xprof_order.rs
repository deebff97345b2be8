//! The order in which XProf walks a plane's events.
//!
//! XProf sorts by (begin, duration) with an unstable sort. The order of equal events decides the row that shows a copy
//! to host memory. The steps are the introsort of XProf's C++ standard library: partition around the median of three
//! down to runs of 16, then one insertion sort over everything.

/// Runs up to this length are left to the insertion sort.
const RUN: usize = 16;

#[derive(Clone, Copy)]
struct Item {
    begin: i64,
    duration: i64,
    index: u32,
}

impl Item {
    #[inline(always)]
    fn before(&self, other: &Item) -> bool {
        (self.begin, self.duration) < (other.begin, other.duration)
    }
}

/// Larger planes cannot be compared with XProf row by row; their equal events stay in file order.
pub const EXACT: usize = 1 << 17;

/// The ascending `wanted` rows in the order of the walk over all events; all rows must exist.
///
/// The whole walk is only done when two of these events are equal.
pub fn walk_order_of(begin: &[i64], duration: &[i64], wanted: &[i64]) -> Vec<i64> {
    let mut keyed: Vec<(i64, i64, i64)> =
        wanted.iter().map(|&row| (begin[row as usize], duration[row as usize], row)).collect();
    keyed.sort();
    let ties = keyed.windows(2).any(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1));
    if ties && begin.len() <= EXACT {
        let mut is_wanted = vec![false; begin.len()];
        wanted.iter().for_each(|&row| is_wanted[row as usize] = true);
        let walk = walk_order(begin, duration);
        return walk.into_iter().filter(|&row| is_wanted[row as usize]).map(i64::from).collect();
    }
    keyed.into_iter().map(|(_, _, row)| row).collect()
}

/// Indices of the events by begin, shortest first, equal events in XProf's order. The columns have one length.
fn walk_order(begin: &[i64], duration: &[i64]) -> Vec<u32> {
    let mut items: Vec<Item> = (begin.iter().zip(duration).zip(0u32..))
        .map(|((&begin, &duration), index)| Item { begin, duration, index })
        .collect();
    if items.len() > 1 {
        let depth = 2 * items.len().ilog2();
        partition_runs(&mut items, depth);
        insert_all(&mut items);
    }
    items.iter().map(|item| item.index).collect()
}

fn partition_runs(mut items: &mut [Item], mut depth: u32) {
    while items.len() > RUN {
        if depth == 0 {
            // Only reached by input made for it; what matters then is that the time stays bounded.
            items.sort_by_key(|item| (item.begin, item.duration));
            return;
        }
        depth -= 1;
        let last = items.len() - 1;
        median_to_front(items, 1, items.len() / 2, last);
        let cut = partition(items);
        let (left, right) = items.split_at_mut(cut);
        partition_runs(right, depth);
        items = left;
    }
}

fn median_to_front(items: &mut [Item], a: usize, b: usize, c: usize) {
    let less = |x: usize, y: usize| items[x].before(&items[y]);
    let median = if less(a, b) {
        if less(b, c) {
            b
        } else if less(a, c) {
            c
        } else {
            a
        }
    } else if less(a, c) {
        a
    } else if less(b, c) {
        c
    } else {
        b
    };
    items.swap(0, median);
}

/// Splits around the first item; returns where the right part starts. The median of three bounds both walks.
fn partition(items: &mut [Item]) -> usize {
    let pivot = items[0];
    let (mut first, mut last) = (1, items.len());
    loop {
        while items[first].before(&pivot) {
            first += 1;
        }
        last -= 1;
        while pivot.before(&items[last]) {
            last -= 1;
        }
        if first >= last {
            return first;
        }
        items.swap(first, last);
        first += 1;
    }
}

fn insert_all(items: &mut [Item]) {
    for at in 1..items.len() {
        let item = items[at];
        let mut place = at;
        while place > 0 && item.before(&items[place - 1]) {
            items[place] = items[place - 1];
            place -= 1;
        }
        items[place] = item;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_by_begin_then_shortest() {
        assert_eq!(walk_order(&[5, 1, 5, 5], &[2, 9, 1, 3]), vec![1, 2, 0, 3]);
        assert!(walk_order(&[], &[]).is_empty());
    }

    #[test]
    fn sorts_long_input_of_every_shape() {
        for shape in 0..4i64 {
            let begin: Vec<i64> = (0..3000)
                .map(|i| match shape {
                    0 => i,
                    1 => 3000 - i,
                    2 => i * 7919 % 613,
                    _ => (i % 1000) * 3 + i / 1000,
                })
                .collect();
            let duration: Vec<i64> = (0..3000).map(|i| i * 31 % 5).collect();
            let order = walk_order(&begin, &duration);
            let keys: Vec<(i64, i64)> = order.iter().map(|&i| (begin[i as usize], duration[i as usize])).collect();
            assert!(keys.windows(2).all(|pair| pair[0] <= pair[1]));
            let mut seen = order.clone();
            seen.sort_unstable();
            assert_eq!(seen, (0..3000).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn some_of_the_events_are_in_the_order_of_all() {
        assert_eq!(walk_order_of(&[5, 1, 5, 5], &[2, 9, 1, 3], &[0, 2, 3]), vec![2, 0, 3]);
        assert_eq!(walk_order_of(&[0; 20], &[0; 20], &[0, 1, 10, 19]), vec![10, 19, 0, 1]);
        assert_eq!(walk_order_of(&[0; EXACT + 1], &[0; EXACT + 1], &[0, 1, 10]), vec![0, 1, 10]);
    }

    #[test]
    fn equal_items_leave_in_the_order_of_xprof() {
        // 20 equal items: one partition swaps outer pairs towards the middle, the rest stays.
        let order = walk_order(&[0; 20], &[0; 20]);
        let expected = [10, 19, 18, 17, 16, 15, 14, 13, 12, 11, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1];
        assert_eq!(order, expected);
    }
}
