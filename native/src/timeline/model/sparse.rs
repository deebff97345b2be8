//! Values for a few of many keys: a bit per key and a running count, so that a lookup takes constant time.

/// A map from some of the keys 0..n to values.
#[derive(Default)]
pub struct Sparse<T> {
    words: Vec<u64>,
    ranks: Vec<u32>,
    values: Vec<T>,
}

impl<T: Copy + Default> Sparse<T> {
    /// From (key, value) pairs whose keys ascend; of equal keys the last wins, keys beyond `n` are left out.
    pub fn new(n: usize, pairs: impl Iterator<Item = (usize, T)>) -> Self {
        let mut values: Vec<T> = Vec::new();
        let mut words = Vec::new();
        let mut last = None;
        for (key, value) in pairs {
            if key >= n || last.is_some_and(|l| key < l) {
                continue;
            }
            if words.is_empty() {
                words = vec![0u64; n.div_ceil(64)];
            }
            if last == Some(key) {
                if let Some(kept) = values.last_mut() {
                    *kept = value;
                }
            } else {
                words[key / 64] |= 1 << (key % 64);
                values.push(value);
                last = Some(key);
            }
        }
        let mut count = 0;
        let ranks = words
            .iter()
            .map(|word| {
                let before = count;
                count += word.count_ones();
                before
            })
            .collect();
        Sparse { words, ranks, values }
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Index in `values` of the value of `key`.
    #[inline(always)]
    pub fn index(&self, key: usize) -> Option<usize> {
        let word = *self.words.get(key / 64)?;
        let bit = 1u64 << (key % 64);
        if word & bit == 0 {
            return None;
        }
        Some(self.ranks[key / 64] as usize + (word & (bit - 1)).count_ones() as usize)
    }

    #[inline(always)]
    pub fn get(&self, key: usize) -> Option<T> {
        self.index(key).map(|i| self.values[i])
    }

    pub fn bytes(&self) -> usize {
        self.words.len() * 8 + self.ranks.len() * 4 + size_of_val(self.values.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_put_in_and_the_last_of_equal_keys() {
        let map = Sparse::new(200, [(3, 1u32), (64, 2), (64, 5), (199, 7), (300, 9)].into_iter());
        assert_eq!(
            [map.get(3), map.get(64), map.get(199), map.get(4), map.get(300)],
            [Some(1), Some(5), Some(7), None, None]
        );
        assert_eq!(map.values(), [1, 5, 7]);
    }
}
