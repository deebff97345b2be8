//! Sparse columns: stats of a few names collected from a plane in one pass, and lookups among ascending rows.

/// No slot: the stat's name is not collected.
pub const NO_SLOT: u8 = u8::MAX;

/// For one slot: the owners that carry it, ascending, and kind and value of each owner's first such stat.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub owner: Vec<i64>,
    pub kind: Vec<u8>,
    pub value: Vec<u64>,
}

/// The stat columns of a plane; `kind` and `value` are as long as `key`, `start` has one entry per owner and one more.
#[derive(Clone, Copy)]
pub struct Stats<'a> {
    pub start: &'a [u32],
    pub key: &'a [u32],
    pub kind: &'a [u8],
    pub value: &'a [u64],
}

/// Collects per slot the first stat of every owner; `slot_of_key` maps a stat's key to its slot or [`NO_SLOT`].
pub fn gather(stats: Stats, slot_of_key: &[u8], slots: usize) -> Vec<Found> {
    let Some(ends) = stats.start.get(1..) else {
        return (0..slots).map(|_| Found::default()).collect();
    };
    let first = stats.start[0] as usize;
    let last = ends.last().map_or(0, |&end| end as usize).min(stats.key.len());
    let keys = stats.key.get(first..last).unwrap_or(&[]);
    let mut counts = [0usize; 256];
    keys.iter().for_each(|&key| counts[slot_of_key.get(key as usize).copied().unwrap_or(NO_SLOT) as usize] += 1);
    let mut found: Vec<Found> = counts[..slots.min(NO_SLOT as usize)]
        .iter()
        .map(|&count| Found {
            owner: Vec::with_capacity(count),
            kind: Vec::with_capacity(count),
            value: Vec::with_capacity(count),
        })
        .collect();
    let mut owner = 0;
    for (at, &key) in (first..).zip(keys) {
        let slot = slot_of_key.get(key as usize).copied().unwrap_or(NO_SLOT);
        if slot == NO_SLOT {
            continue;
        }
        while owner < ends.len() && ends[owner] as usize <= at {
            owner += 1;
        }
        if owner == ends.len() {
            break;
        }
        if let Some(list) = found.get_mut(slot as usize)
            && list.owner.last() != Some(&(owner as i64))
        {
            list.owner.push(owner as i64);
            list.kind.push(stats.kind.get(at).copied().unwrap_or(0));
            list.value.push(stats.value.get(at).copied().unwrap_or(0));
        }
    }
    found
}

/// Merges two ascending lists of rows: positions in their concatenation, `first` before `second` where rows are equal.
///
/// With `replace`, of equal rows only the one in `second` stays; each list then is strictly ascending.
pub fn merge(first: &[i64], second: &[i64], replace: bool) -> Vec<i64> {
    let mut out = Vec::with_capacity(first.len() + second.len());
    let mut at = 0;
    for (place, &row) in (first.len() as i64..).zip(second) {
        while at < first.len() && (first[at] < row || (first[at] == row && !replace)) {
            out.push(at as i64);
            at += 1;
        }
        if replace && first.get(at) == Some(&row) {
            at += 1;
        }
        out.push(place);
    }
    out.extend(at as i64..first.len() as i64);
    out
}

/// A 64-bit number for each tuple of numbers; for the last column alone it is one to one. Columns have one length, and
/// columns of length 1 are repeated.
pub fn mix(columns: &[&[i64]]) -> Vec<u64> {
    let mut out = vec![0u64; columns.iter().map(|column| column.len()).max().unwrap_or(0)];
    let mut seed = 0u64;
    for column in columns {
        match column {
            [single] => out.iter_mut().for_each(|word| *word = scramble(word.wrapping_add(*single as u64 ^ seed))),
            _ => out.iter_mut().zip(*column).for_each(|(word, &value)| {
                *word = scramble(word.wrapping_add(value as u64 ^ seed));
            }),
        }
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    }
    out
}

fn scramble(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}

/// Marks the absence of a row.
pub const ABSENT: i64 = -1;

/// The position of each of `wanted` in `rows`, or [`ABSENT`]; both are strictly ascending.
pub fn lookup(rows: &[i64], wanted: &[i64]) -> Vec<i64> {
    let mut at = 0;
    wanted
        .iter()
        .map(|&row| {
            // Gallop: the rows are often dense, sometimes far apart.
            let mut step = 1;
            while at + step < rows.len() && rows[at + step] <= row {
                at += step;
                step *= 2;
            }
            let reach = (at + step).min(rows.len());
            at += rows[at..reach].partition_point(|&other| other < row);
            if rows.get(at) == Some(&row) { at as i64 } else { ABSENT }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_first_stat_of_each_owner_and_slot() {
        let stats =
            Stats { start: &[0, 3, 3, 5], key: &[7, 1, 7, 1, 2], kind: &[3, 4, 5, 6, 7], value: &[1, 2, 3, 4, 5] };
        let mut slots = [NO_SLOT; 8];
        slots[7] = 0;
        slots[1] = 1;
        let found = gather(stats, &slots, 2);
        assert_eq!(found[0], Found { owner: vec![0], kind: vec![3], value: vec![1] });
        assert_eq!(found[1], Found { owner: vec![0, 2], kind: vec![4, 6], value: vec![2, 4] });
    }

    #[test]
    fn survives_ranges_and_keys_outside_the_tables() {
        let stats = Stats { start: &[0, 1, 90], key: &[0, 5, 0], kind: &[], value: &[] };
        assert_eq!(gather(stats, &[0], 1)[0].owner, vec![0, 1]);
        let none = Stats { start: &[], key: &[1], kind: &[], value: &[] };
        assert!(gather(none, &[0], 1)[0].owner.is_empty());
    }

    #[test]
    fn merges_with_or_without_replacing() {
        assert_eq!(merge(&[1, 3, 3, 9], &[3, 4, 9], false), vec![0, 1, 2, 4, 5, 3, 6]);
        assert_eq!(merge(&[1, 3, 9], &[3, 4, 9], true), vec![0, 3, 4, 5]);
        assert_eq!((merge(&[], &[7], true), merge(&[7], &[], true)), (vec![0], vec![0]));
    }

    #[test]
    fn mixes_tuples_apart() {
        let found = mix(&[&[1, 1, 2, 1], &[5], &[7, 8, 7, 7]]);
        assert_eq!(found[0], found[3]);
        assert_ne!(found[0], found[1]);
        assert_ne!(found[0], found[2]);
        assert_ne!(mix(&[&[1], &[2]]), mix(&[&[2], &[1]]));
        assert_eq!(mix(&[]), Vec::<u64>::new());
    }

    #[test]
    fn looks_up_ascending_rows() {
        let rows: Vec<i64> = (0..1000).map(|i| i * 3).collect();
        assert_eq!(lookup(&rows, &[0, 1, 3, 300, 2997, 2998]), vec![0, ABSENT, 1, 100, 999, ABSENT]);
        assert_eq!(lookup(&rows, &rows), (0..1000).collect::<Vec<i64>>());
        assert_eq!(lookup(&[], &[4]), vec![ABSENT]);
        assert_eq!(lookup(&[5], &[4, 5, 6]), vec![ABSENT, 0, ABSENT]);
    }
}
