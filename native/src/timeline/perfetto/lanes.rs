//! Lanes: a track whose events overlap without nesting becomes several, on each of which they nest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Lanes that hold nested events; further ones hold events that follow each other, so that no input takes long.
const NESTED: usize = 64;

/// Lane of every event, and the number of lanes; events are (begin, end), by (begin, longer first).
///
/// An event goes on the first lane that is free or whose innermost open event contains it; one without a duration always
/// on the first.
pub fn lanes(events: impl Iterator<Item = (i64, i64)>) -> (Vec<u32>, u32) {
    let mut open: Vec<Vec<i64>> = vec![Vec::new()];
    let mut rest: BinaryHeap<Reverse<(i64, u32)>> = BinaryHeap::new();
    let mut count = 1;
    let lane = |(begin, end): (i64, i64)| {
        if end <= begin {
            return 0;
        }
        for (lane, stack) in open.iter_mut().enumerate() {
            while stack.last().is_some_and(|&last| last <= begin) {
                stack.pop();
            }
            if stack.last().is_none_or(|&last| last >= end) {
                stack.push(end);
                return lane as u32;
            }
        }
        if open.len() < NESTED {
            open.push(vec![end]);
            count = open.len() as u32;
            return count - 1;
        }
        let lane = match rest.peek() {
            Some(&Reverse((free, lane))) if free <= begin => {
                rest.pop();
                lane
            }
            _ => {
                count += 1;
                count - 1
            }
        };
        rest.push(Reverse((end, lane)));
        lane
    };
    let found = events.map(lane).collect();
    (found, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_events_share_a_lane_and_overlapping_ones_do_not() {
        let events = [(0, 10), (2, 6), (2, 4), (5, 12), (6, 6), (10, 11), (12, 15), (12, 12)];
        assert_eq!(lanes(events.into_iter()), (vec![0, 0, 0, 1, 0, 0, 0, 0], 2));
        assert_eq!(lanes(std::iter::empty()), (vec![], 1));
    }

    #[test]
    fn any_number_of_overlapping_events_nests_on_every_lane() {
        let events: Vec<(i64, i64)> =
            (0..3000).map(|i| (i, i + 200)).chain((5000..5100).map(|i| (i, i + 1_000_000))).collect();
        let (lane, count) = lanes(events.iter().copied());
        assert_eq!(count, 200);
        let mut open = vec![Vec::<i64>::new(); count as usize];
        for (&(begin, end), &lane) in events.iter().zip(&lane) {
            let stack = &mut open[lane as usize];
            stack.retain(|&last| last > begin);
            assert!(stack.iter().all(|&last| last >= end));
            stack.push(end);
        }
    }
}
