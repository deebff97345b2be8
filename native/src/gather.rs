//! Picks the stats of a few names out of a plane's stat column in one pass.

/// No slot: the stat's name is not wanted.
pub const NO_SLOT: u8 = u8::MAX;

/// For one wanted slot: the owners that carry it, ascending, and the index of each owner's first such stat.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub owner: Vec<u32>,
    pub stat: Vec<u32>,
}

/// Collects per slot the first stat of every owner.
///
/// `start` has one entry per owner and one more; `slot_of_key` maps a stat's key to its slot or [`NO_SLOT`].
/// Ranges that do not lie inside `key` are cut, so no input can make this read out of bounds.
pub fn gather(start: &[u32], key: &[u32], slot_of_key: &[u8], slots: usize) -> Vec<Found> {
    let mut found: Vec<Found> = (0..slots).map(|_| Found::default()).collect();
    let Some((&first, _)) = start.split_first() else {
        return found;
    };
    let clip = |at: u32| (at as usize).min(key.len());
    let mut at = clip(first);
    for (owner, &end) in start[1..].iter().enumerate() {
        let end = clip(end);
        while at < end {
            if let Some(&slot) = slot_of_key.get(key[at] as usize)
                && let Some(list) = found.get_mut(slot as usize)
                && list.owner.last() != Some(&(owner as u32))
            {
                list.owner.push(owner as u32);
                list.stat.push(at as u32);
            }
            at += 1;
        }
        at = end.max(at);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_first_stat_of_each_owner_and_slot() {
        let start = [0, 3, 3, 5];
        let key = [7, 1, 7, 1, 2];
        let mut slots = [NO_SLOT; 8];
        slots[7] = 0;
        slots[1] = 1;
        let found = gather(&start, &key, &slots, 2);
        assert_eq!(found[0], Found { owner: vec![0], stat: vec![0] });
        assert_eq!(found[1], Found { owner: vec![0, 2], stat: vec![1, 3] });
    }

    #[test]
    fn survives_ranges_and_keys_outside_the_tables() {
        let found = gather(&[0, 90, 1, 2], &[0, 5], &[0], 1);
        assert_eq!(found[0].owner, vec![0]);
        assert!(gather(&[], &[], &[], 1)[0].owner.is_empty());
    }
}
