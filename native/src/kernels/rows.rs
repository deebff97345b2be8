//! Lists of lists in one piece, and the hashing of keys that come from files.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Rows of a list of lists: members of `i` are `item[start[i]..start[i + 1]]`, in the order they were given.
#[derive(Debug, Default)]
pub struct Rows {
    start: Vec<u32>,
    item: Vec<u32>,
}

impl Rows {
    /// Collects the (row, member) pairs; every row is below `rows`.
    pub fn new(rows: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        // Counted two places further on, so that filling moves each start to where it belongs.
        let mut start = vec![0u32; rows + 2];
        for (row, _) in pairs.clone() {
            start[row as usize + 2] += 1;
        }
        for i in 2..start.len() {
            start[i] += start[i - 1];
        }
        let mut item = vec![0; *start.last().unwrap_or(&0) as usize];
        for (row, value) in pairs {
            let at = &mut start[row as usize + 1];
            item[*at as usize] = value;
            *at += 1;
        }
        start.pop();
        Rows { start, item }
    }

    /// Members of one row; none of a row that does not exist.
    pub fn of(&self, row: u32) -> &[u32] {
        let row = row as usize;
        if row + 1 >= self.start.len() {
            return &[];
        }
        &self.item[self.start[row] as usize..self.start[row + 1] as usize]
    }

    /// Bytes held.
    pub fn size(&self) -> usize {
        4 * (self.start.len() + self.item.len())
    }
}

/// Rows of a list of lists of which few have members.
#[derive(Debug, Default)]
pub struct SparseRows {
    /// A bit per row: whether it has members.
    present: Vec<u64>,
    /// Per word of `present`, the rows with members before it.
    before: Vec<u32>,
    /// Per row with members, where they begin; and the end of the last.
    start: Vec<u32>,
    item: Vec<u32>,
}

impl SparseRows {
    /// Collects the (row, member) pairs; every row is below `rows`.
    pub fn new(rows: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        if pairs.clone().is_sorted_by_key(|(row, _)| row) {
            return SparseRows::of_sorted(rows, pairs);
        }
        let mut sorted: Vec<(u32, u32)> = pairs.collect();
        sorted.sort_by_key(|&(row, _)| row);
        SparseRows::of_sorted(rows, sorted.into_iter())
    }

    fn of_sorted(rows: usize, pairs: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut out = SparseRows { present: vec![0; rows.div_ceil(64)], ..SparseRows::default() };
        let mut last = None;
        for (row, member) in pairs {
            if last.replace(row) != Some(row) {
                out.present[row as usize / 64] |= 1 << (row % 64);
                out.start.push(out.item.len() as u32);
            }
            out.item.push(member);
        }
        out.start.push(out.item.len() as u32);
        let mut count = 0;
        let before = out.present.iter().map(|word| {
            count += word.count_ones();
            count - word.count_ones()
        });
        out.before = before.collect();
        out
    }

    /// Members of one row; none of a row that does not exist.
    pub fn of(&self, row: u32) -> &[u32] {
        let (word, bit) = (row as usize / 64, 1u64 << (row % 64));
        let Some(&present) = self.present.get(word).filter(|&&present| present & bit != 0) else {
            return &[];
        };
        let place = (self.before[word] + (present & (bit - 1)).count_ones()) as usize;
        &self.item[self.start[place] as usize..self.start[place + 1] as usize]
    }
}

/// Hashes one number with a random secret, in one multiplication: files must not be able to make keys collide.
#[derive(Clone)]
pub struct Seeded {
    seed: u64,
    hash: u64,
}

impl Seeded {
    pub fn new() -> Self {
        Seeded { seed: RandomState::new().hash_one(0u64) | 1, hash: 0 }
    }
}

impl Default for Seeded {
    fn default() -> Self {
        Seeded::new()
    }
}

impl BuildHasher for Seeded {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        self.clone()
    }
}

impl Hasher for Seeded {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, value: u64) {
        let wide = u128::from(self.hash ^ value ^ self.seed) * u128::from(self.seed);
        self.hash = (wide >> 64) as u64 ^ wide as u64;
    }

    fn finish(&self) -> u64 {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_the_order_they_were_given() {
        let rows = Rows::new(3, [(2, 7), (0, 1), (2, 5)].into_iter());
        assert_eq!((rows.of(0), rows.of(1), rows.of(2), rows.of(9)), (&[1][..], &[][..], &[7, 5][..], &[][..]));
        assert_eq!(Rows::default().of(0), &[] as &[u32]);
    }

    #[test]
    fn sparse_rows_are_rows_in_the_order_they_were_given() {
        let rows = SparseRows::new(200, [(130, 7), (0, 1), (63, 4), (130, 5), (64, 9), (199, 2)].into_iter());
        let found: Vec<&[u32]> = [0, 1, 63, 64, 130, 199, 9999].map(|row| rows.of(row)).to_vec();
        let expected: Vec<&[u32]> = vec![&[1], &[], &[4], &[9], &[7, 5], &[2], &[]];
        assert_eq!(found, expected);
        let sorted = SparseRows::new(70, [(2, 7), (2, 5), (69, 1)].into_iter());
        assert_eq!((sorted.of(2), sorted.of(69), sorted.of(3)), (&[7, 5][..], &[1][..], &[][..]));
        assert_eq!(SparseRows::default().of(0), &[] as &[u32]);
    }

    #[test]
    fn hashes_differ_from_seed_to_seed() {
        let (a, b) = (Seeded::new(), Seeded::new());
        assert_eq!(a.hash_one(5u64), a.hash_one(5u64));
        assert_ne!(a.hash_one(5u64), a.hash_one(6u64));
        assert_ne!(a.hash_one(5u64), b.hash_one(5u64));
    }
}
