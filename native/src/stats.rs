//! Stats in compressed-row form, and ids that no metadata entry explains.

use crate::error::{Error, Result};
use crate::ids::{IdTable, NO_ROW};
use crate::memory::zeros;
use crate::wire::{BYTES, FIXED64, Reader, VARINT, tag};

const METADATA: u32 = tag(1, VARINT);
const DOUBLE: u32 = tag(2, FIXED64);
const UINT64: u32 = tag(3, VARINT);
const INT64: u32 = tag(4, VARINT);
const STR: u32 = tag(5, BYTES);
const BYTES_VALUE: u32 = tag(6, BYTES);
const REF: u32 = tag(7, VARINT);
const COMPRESSED_STR: u32 = tag(8, BYTES);
const REF_KIND: u8 = 7;

/// Stats of many owners: those of owner `i` are `start[i]..start[i + 1]`.
#[derive(Debug, Default, PartialEq)]
pub struct StatColumns {
    pub start: Vec<u32>,
    /// Row of the stat metadata.
    pub key: Vec<u32>,
    /// Field number of the value on the wire; 0 if none is set.
    pub kind: Vec<u8>,
    /// Bits of the number, text value, or (ref) row of the stat metadata.
    pub value: Vec<u64>,
}

/// Places of a column whose id was not in the table, with that id.
#[derive(Default)]
pub struct Missing {
    pub keys: Vec<(usize, i64)>,
    pub refs: Vec<(usize, i64)>,
}

/// One stat with its ids turned into rows.
pub struct Stat {
    pub key: u32,
    pub kind: u8,
    pub value: u64,
}

/// Reads one XStat; `slot` is where it will stand in its columns.
#[inline(always)]
pub fn read(mut stat: Reader, ids: &IdTable, slot: usize, missing: &mut Missing) -> Result<Stat> {
    let (mut id, mut kind, mut value) = (0, 0, 0);
    while let Some(tag) = stat.tag()? {
        match tag {
            METADATA => {
                id = stat.int64()?;
                continue;
            }
            INT64 | UINT64 | REF => value = stat.varint()?,
            DOUBLE => value = stat.fixed64()?,
            STR | BYTES_VALUE | COMPRESSED_STR => value = stat.text()?,
            _ => {
                stat.skip(tag)?;
                continue;
            }
        }
        // The last member of the oneof wins.
        kind = (tag >> 3) as u8;
    }
    let key = ids.row(id);
    if key == NO_ROW {
        missing.keys.push((slot, id));
    }
    if kind == REF_KIND {
        let row = ids.row(value as i64);
        if row == NO_ROW {
            missing.refs.push((slot, value as i64));
        }
        value = u64::from(row);
    }
    Ok(Stat { key, kind, value })
}

impl StatColumns {
    /// Columns for exactly so many owners and stats, all zero.
    pub fn sized(owners: usize, stats: usize) -> Self {
        StatColumns { start: zeros(owners + 1), key: zeros(stats), kind: vec![0; stats], value: vec![0; stats] }
    }

    /// Reads one more stat of the owner that is being built.
    pub fn push(&mut self, stat: Reader, ids: &IdTable, missing: &mut Missing) -> Result<()> {
        let stat = read(stat, ids, self.key.len(), missing)?;
        self.key.push(stat.key);
        self.kind.push(stat.kind);
        self.value.push(stat.value);
        Ok(())
    }

    /// Writes the rows that `row` gives to the places of `missing`.
    pub fn patch(&mut self, missing: &Missing, row: impl Fn(i64) -> u32) {
        for &(slot, id) in &missing.keys {
            self.key[slot] = row(id);
        }
        for &(slot, id) in &missing.refs {
            self.value[slot] = u64::from(row(id));
        }
    }
}

/// The ids of `missing`, ascending and each once.
pub fn distinct<'a>(missing: impl Iterator<Item = &'a (usize, i64)>) -> Vec<i64> {
    let mut ids: Vec<i64> = missing.map(|&(_, id)| id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// For every owner the index of its first stat with key `row`, or -1.
pub fn first(start: &[u32], key: &[u32], row: u32) -> Result<Vec<i64>> {
    let mut found = Vec::with_capacity(start.len().saturating_sub(1));
    for bounds in start.windows(2) {
        let (begin, end) = (bounds[0] as usize, bounds[1] as usize);
        let keys = key.get(begin..end).ok_or_else(|| Error::argument("stat offsets do not fit the keys"))?;
        found.push(keys.iter().position(|&key| key == row).map_or(-1, |place| (begin + place) as i64));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_stat_of_every_owner() {
        assert_eq!(first(&[0, 2, 2, 5], &[7, 8, 9, 8, 8], 8).unwrap(), [1, -1, 3]);
        assert!(first(&[], &[], 0).unwrap().is_empty());
        assert!(first(&[0, 9], &[1], 0).is_err());
        assert!(first(&[1, 0], &[1], 0).is_err());
    }

    #[test]
    fn the_last_member_of_the_oneof_wins_and_unknown_ids_are_noted() {
        let bytes = [0x08, 5, 0x20, 3, 0x18, 9, 0x50, 1];
        let mut missing = Missing::default();
        let ids = IdTable::new(0, 0);
        let stat = read(Reader::new(&bytes, 0, "XStat"), &ids, 4, &mut missing).unwrap();
        assert_eq!((stat.kind, stat.value), (3, 9));
        assert_eq!(missing.keys, [(4, 5)]);
    }
}
