//! Stats in compressed-row form, and ids without a metadata entry.

use crate::decode::ids::{IdTable, NO_ROW};
use crate::error::{Error, Result};
use crate::system::memory::zeros;
use crate::wire::tags::xplane::XStat;
use crate::wire::{Reader, number};

const REF_KIND: u8 = number(XStat::REF_VALUE) as u8;

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

/// Rows of a column whose id is unknown to the table, with that id.
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
            XStat::METADATA_ID => {
                id = stat.int64()?;
                continue;
            }
            XStat::INT64_VALUE | XStat::UINT64_VALUE | XStat::REF_VALUE => value = stat.varint()?,
            XStat::DOUBLE_VALUE => value = stat.fixed64()?,
            XStat::STR_VALUE | XStat::BYTES_VALUE | XStat::COMPRESSED_STR_VALUE => value = stat.text()?,
            _ => {
                stat.skip(tag)?;
                continue;
            }
        }
        // The last member of the oneof wins.
        kind = number(tag) as u8;
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
    /// Zeroed columns of exactly this many owners and stats.
    pub fn sized(owners: usize, stats: usize) -> Self {
        StatColumns { start: zeros(owners + 1), key: zeros(stats), kind: zeros(stats), value: zeros(stats) }
    }

    /// Reads one more stat of the owner that is being built.
    pub fn push(&mut self, stat: Reader, ids: &IdTable, missing: &mut Missing) -> Result<()> {
        let stat = read(stat, ids, self.key.len(), missing)?;
        self.key.push(stat.key);
        self.kind.push(stat.kind);
        self.value.push(stat.value);
        Ok(())
    }

    /// Drops the stats of the owners that are not kept.
    pub fn retain_owners(&mut self, keep: &[bool]) {
        let of_owners = keep.iter().zip(self.start.windows(2));
        let kept: Vec<bool> =
            of_owners.flat_map(|(&keep, bounds)| std::iter::repeat_n(keep, (bounds[1] - bounds[0]) as usize)).collect();
        let counts: Vec<u32> = keep
            .iter()
            .zip(self.start.windows(2))
            .filter(|(keep, _)| **keep)
            .map(|(_, bounds)| bounds[1] - bounds[0])
            .collect();
        self.start = std::iter::once(0)
            .chain(counts.iter().scan(0, |sum, count| {
                *sum += count;
                Some(*sum)
            }))
            .collect();
        retain(&mut self.key, &kept);
        retain(&mut self.kind, &kept);
        retain(&mut self.value, &kept);
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

/// Drops the values that are not kept.
pub fn retain<T>(column: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    column.retain(|_| keep.next().is_none_or(|keep| *keep));
}

/// The ids of `missing`, ascending and each once.
pub fn distinct<'a>(missing: impl Iterator<Item = &'a (usize, i64)>) -> Vec<i64> {
    let mut ids: Vec<i64> = missing.map(|&(_, id)| id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Calls `found(owner, index)` with the first stat of key `row` of every owner that has one, in ascending order.
fn for_each_first(start: &[u32], key: &[u32], row: u32, mut found: impl FnMut(usize, usize)) -> Result<()> {
    for (owner, bounds) in start.windows(2).enumerate() {
        let (begin, end) = (bounds[0] as usize, bounds[1] as usize);
        let keys = key.get(begin..end).ok_or_else(|| Error::argument("stat offsets do not fit the keys"))?;
        if let Some(place) = keys.iter().position(|&key| key == row) {
            found(owner, begin + place);
        }
    }
    Ok(())
}

/// For every owner the index of its first stat with key `row`, or -1.
pub fn first(start: &[u32], key: &[u32], row: u32) -> Result<Vec<i64>> {
    let mut found = vec![-1; start.len().saturating_sub(1)];
    for_each_first(start, key, row, |owner, index| found[owner] = index as i64)?;
    Ok(found)
}

/// The owners that have a stat with key `row`, ascending, and the index of the first such stat of each.
pub fn owners(start: &[u32], key: &[u32], row: u32) -> Result<(Vec<i64>, Vec<i64>)> {
    let (mut owners, mut indices) = (Vec::new(), Vec::new());
    for_each_first(start, key, row, |owner, index| {
        owners.push(owner as i64);
        indices.push(index as i64);
    })?;
    Ok((owners, indices))
}

/// For every owner the value of its first stat with key `row`: 0 if there is none or its kind is not one of `kinds`
/// (a set of bits by kind). Second: whether the owner has the stat, of any kind.
pub fn values(
    start: &[u32],
    key: &[u32],
    kind: &[u8],
    value: &[u64],
    row: u32,
    kinds: u32,
) -> Result<(Vec<u64>, Vec<bool>)> {
    if kind.len() != key.len() || value.len() != key.len() {
        return Err(Error::argument("stat columns differ in length"));
    }
    let mut values: Vec<u64> = zeros(start.len().saturating_sub(1));
    let mut present = vec![false; values.len()];
    for_each_first(start, key, row, |owner, index| {
        present[owner] = true;
        if kinds.checked_shr(kind[index].into()).unwrap_or(0) & 1 == 1 {
            values[owner] = value[index];
        }
    })?;
    Ok((values, present))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_stat_of_every_owner() {
        assert_eq!(first(&[0, 2, 2, 5], &[7, 8, 9, 8, 8], 8).unwrap(), [1, -1, 3]);
        assert_eq!(owners(&[0, 2, 2, 5], &[7, 8, 9, 8, 8], 8).unwrap(), (vec![0, 2], vec![1, 3]));
        assert!(first(&[], &[], 0).unwrap().is_empty());
        assert!(first(&[0, 9], &[1], 0).is_err());
        assert!(first(&[1, 0], &[1], 0).is_err());
    }

    #[test]
    fn values_of_the_kinds_asked_for() {
        let (start, key, kind, value) = ([0, 1, 2, 3, 4], [5, 5, 6, 5], [3, 4, 3, 200], [1, 2, 3, 4]);
        let found = values(&start, &key, &kind, &value, 5, 1 << 3).unwrap();
        assert_eq!(found, (vec![1, 0, 0, 0], vec![true, true, false, true]));
        assert!(values(&start, &key, &kind[..3], &value, 5, 0).is_err());
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
