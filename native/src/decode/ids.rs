//! Metadata ids to rows: a dense table for small ids, a hash map for the rest.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The row of an id that is not in the table.
pub const NO_ROW: u32 = u32::MAX;

pub struct IdTable {
    dense: Vec<u32>,
    sparse: HashMap<i64, u32, Seeded>,
}

impl IdTable {
    /// An empty table for about `count` ids up to `largest`.
    pub fn new(count: usize, largest: i64) -> Self {
        let limit = count.saturating_mul(4).saturating_add(1024);
        let size = usize::try_from(largest).map_or(0, |id| id.saturating_add(1)).min(limit);
        IdTable { dense: vec![NO_ROW; size], sparse: HashMap::with_hasher(Seeded::default()) }
    }

    /// The row of `id`, or NO_ROW.
    #[inline(always)]
    pub fn row(&self, id: i64) -> u32 {
        match self.dense.get(id as usize) {
            Some(&row) => row,
            None => self.sparse_row(id),
        }
    }

    fn sparse_row(&self, id: i64) -> u32 {
        self.sparse.get(&id).copied().unwrap_or(NO_ROW)
    }

    pub fn insert(&mut self, id: i64, row: u32) {
        match self.dense.get_mut(id as usize) {
            Some(slot) => *slot = row,
            None => drop(self.sparse.insert(id, row)),
        }
    }
}

/// One multiplication per id, with a random factor so that a crafted profile cannot make all ids collide.
struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Seeded(RandomState::new().hash_one(0) | 1)
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded { factor: self.0, hash: 0 }
    }
}

struct Folded {
    factor: u64,
    hash: u64,
}

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_i64(i64::from(byte));
        }
    }

    fn write_i64(&mut self, id: i64) {
        let product = u128::from(self.hash ^ id as u64 ^ self.factor.rotate_left(32)) * u128::from(self.factor);
        self.hash = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_large_and_negative_ids() {
        let ids = [0, 1, 900, 5000, -1, i64::MIN, i64::MAX, 1 << 40];
        let mut table = IdTable::new(ids.len(), i64::MAX);
        for (row, &id) in ids.iter().enumerate() {
            assert_eq!(table.row(id), NO_ROW);
            table.insert(id, row as u32);
        }
        for (row, &id) in ids.iter().enumerate() {
            assert_eq!(table.row(id), row as u32);
        }
        assert_eq!(table.row(2), NO_ROW);
        assert_eq!(table.row(-2), NO_ROW);
        table.insert(900, 77);
        table.insert(-1, 78);
        assert_eq!((table.row(900), table.row(-1)), (77, 78));
    }

    #[test]
    fn an_empty_table_answers() {
        assert_eq!(IdTable::new(0, i64::MIN).row(0), NO_ROW);
    }
}
