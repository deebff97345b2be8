//! Nesting: puts the events of one track into rows of disjoint intervals, parents above their children.

/// Above this many rows a search tree replaces the walk over the rows.
const WALK: usize = 64;

/// Maximum rows of a track; events that would need more share the last row.
pub const MAX_ROWS: usize = u16::MAX as usize;

/// End of the last interval of every row, with the two queries of the placement.
#[derive(Clone, Default)]
pub struct Ends {
    ends: Vec<i64>,
    /// Smallest and largest end of the two children of every inner node; leaves begin at `width`.
    low: Vec<i64>,
    high: Vec<i64>,
    width: usize,
}

impl Ends {
    /// The row of the next event; events must come by (begin, longer first).
    ///
    /// An event goes below the deepest interval that contains it, into the first row that is free there, so nested
    /// events sit at their depth and overlapping ones next to each other.
    #[inline]
    pub fn place(&mut self, begin: i64, duration: i64) -> usize {
        let end = begin.saturating_add(duration.max(0));
        // An interval that merely touches `begin` contains nothing.
        let above = self.deepest_reaching(end.max(begin.saturating_add(1)));
        let from = above.map_or(0, |r| r + 1);
        let row = self.first_free(from, begin).unwrap_or(self.ends.len().max(from));
        if row >= MAX_ROWS {
            self.set(MAX_ROWS - 1, end.max(self.ends[MAX_ROWS - 1]));
            return MAX_ROWS - 1;
        }
        self.set(row, end);
        row
    }

    /// The deepest row whose last interval reaches at least to `end` (of those seen so far).
    fn deepest_reaching(&self, end: i64) -> Option<usize> {
        if self.width == 0 {
            return self.ends.iter().rposition(|&e| e >= end);
        }
        let mut node = 1;
        if self.high[node] < end {
            return None;
        }
        while node < self.width {
            node = 2 * node + usize::from(self.high[2 * node + 1] >= end);
        }
        Some(node - self.width)
    }

    /// The first row at or below `from` that is free at `begin`.
    fn first_free(&self, from: usize, begin: i64) -> Option<usize> {
        if self.width == 0 {
            return self.ends.get(from..)?.iter().position(|&e| e <= begin).map(|i| from + i);
        }
        if from >= self.ends.len() {
            return None;
        }
        // Climb from the leaf until a subtree to the right holds a free row, then descend into it.
        let mut node = from + self.width;
        if self.low[node] > begin {
            loop {
                while node & 1 == 1 {
                    node >>= 1;
                }
                if node == 0 {
                    return None;
                }
                node += 1;
                if self.low[node] <= begin {
                    break;
                }
            }
        }
        while node < self.width {
            node = 2 * node + usize::from(self.low[2 * node] > begin);
        }
        Some(node - self.width)
    }

    fn set(&mut self, row: usize, end: i64) {
        if row < self.ends.len() {
            self.ends[row] = end;
        } else {
            self.ends.push(end);
            if self.ends.len() > WALK && self.ends.len() > self.width {
                self.grow();
                return;
            }
        }
        if self.width > 0 {
            let mut node = row + self.width;
            self.low[node] = end;
            self.high[node] = end;
            while node > 1 {
                node >>= 1;
                self.low[node] = self.low[2 * node].min(self.low[2 * node + 1]);
                self.high[node] = self.high[2 * node].max(self.high[2 * node + 1]);
            }
        }
    }

    fn grow(&mut self) {
        self.width = (self.ends.len() * 2).next_power_of_two();
        self.low = vec![i64::MAX; 2 * self.width];
        self.high = vec![i64::MIN; 2 * self.width];
        for (row, &end) in self.ends.iter().enumerate() {
            self.low[self.width + row] = end;
            self.high[self.width + row] = end;
        }
        for node in (1..self.width).rev() {
            self.low[node] = self.low[2 * node].min(self.low[2 * node + 1]);
            self.high[node] = self.high[2 * node].max(self.high[2 * node + 1]);
        }
    }
}

/// Row of every event; events must be sorted by (begin, longer first). Returns the number of rows.
///
/// O(n) for shallow tracks, O(n log rows) always.
pub fn rows(begin: &[i64], duration: &[i64], out: &mut [u16]) -> usize {
    let mut ends = Ends::default();
    let mut used = 0;
    for ((&begin, &duration), row) in begin.iter().zip(duration).zip(out) {
        let place = ends.place(begin, duration);
        *row = place as u16;
        used = used.max(place + 1);
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(events: &[(i64, i64)]) -> Vec<u16> {
        let begin: Vec<i64> = events.iter().map(|e| e.0).collect();
        let duration: Vec<i64> = events.iter().map(|e| e.1).collect();
        let mut out = vec![0; events.len()];
        rows(&begin, &duration, &mut out);
        out
    }

    #[test]
    fn neighbours_share_a_row_and_children_go_below() {
        assert_eq!(place(&[(0, 10), (0, 4), (1, 2), (4, 6), (10, 5)]), [0, 1, 2, 1, 0]);
    }

    #[test]
    fn overlap_without_nesting_takes_the_next_free_row() {
        assert_eq!(place(&[(0, 10), (5, 15), (12, 3), (16, 14)]), [0, 1, 2, 0]);
    }

    #[test]
    fn instants_sit_inside_or_beside() {
        assert_eq!(place(&[(0, 10), (5, 0), (10, 0), (10, 0)]), [0, 1, 0, 0]);
    }

    #[test]
    fn many_rows_use_the_tree_and_stay_disjoint() {
        let mut seed = 7u64;
        let mut events: Vec<(i64, i64)> = (0..5000)
            .map(|_| {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                ((seed >> 33) as i64 % 10_000, (seed >> 40) as i64 % 3_000)
            })
            .collect();
        events.sort_by_key(|e| (e.0, -e.1));
        let placed = place(&events);
        let mut last = vec![i64::MIN; 5000];
        for (event, &row) in events.iter().zip(&placed) {
            assert!(last[row as usize] <= event.0, "rows hold disjoint intervals");
            last[row as usize] = event.0 + event.1;
        }
        assert!(placed.iter().max().copied().unwrap_or(0) > WALK as u16);
    }

    #[test]
    fn a_hundred_thousand_nested_events_do_not_hang() {
        let events: Vec<(i64, i64)> = (0..100_000).map(|i| (i, 1_000_000 - 2 * i)).collect();
        assert_eq!(place(&events).last().copied(), Some((MAX_ROWS - 1) as u16));
    }
}
