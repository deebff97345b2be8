//! Durations in five bytes each; the few that do not fit are kept in a map.

use crate::system::memory::zeros;
use crate::timeline::model::sparse::Sparse;

/// High byte of a duration that is in the map.
const APART: u8 = u8::MAX;

/// A column of durations.
#[derive(Default)]
pub struct Lengths {
    low: Vec<u32>,
    high: Vec<u8>,
    long: Sparse<i64>,
}

/// A duration below 1.09 seconds in five bytes.
#[inline(always)]
pub fn narrow(value: i64) -> (u32, u8) {
    match u8::try_from(value >> 32) {
        Ok(high) => (value as u32, high),
        Err(_) => (0, APART),
    }
}

/// The duration behind a result of `narrow`; from `apart` if it did not fit.
#[inline(always)]
pub fn widen(low: u32, high: u8, apart: impl FnOnce() -> i64) -> i64 {
    if high == APART { apart() } else { i64::from(high) << 32 | i64::from(low) }
}

impl Lengths {
    /// Room for `count` results of `narrow`.
    pub fn zeros(count: usize) -> Self {
        Lengths { low: zeros(count), high: zeros(count), long: Sparse::default() }
    }

    pub fn as_mut_slices(&mut self) -> (&mut [u32], &mut [u8]) {
        (&mut self.low, &mut self.high)
    }

    /// Adds the durations that do not fit, by index.
    pub fn complete(&mut self, value: impl Fn(usize) -> i64) {
        let apart = self.high.iter().enumerate().filter(|(_, high)| **high == APART);
        self.long = Sparse::new(self.high.len(), apart.map(|(i, _)| (i, value(i))));
    }

    #[inline(always)]
    pub fn get(&self, index: usize) -> i64 {
        widen(self.low[index], self.high[index], || self.long.get(index).unwrap_or_default())
    }

    pub fn bytes(&self) -> usize {
        5 * self.low.len() + self.long.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_duration_comes_back() {
        let second = 1_000_000_000_000;
        let values = [
            [0, 1, -1, 7, i64::MIN, i64::MAX],
            [1 << 32, (1 << 32) - 1, (255 << 32) - 1, 255 << 32, 256 << 32, second],
        ]
        .concat();
        let mut lengths = Lengths::zeros(values.len());
        let (low, high) = lengths.as_mut_slices();
        for ((low, high), &value) in low.iter_mut().zip(high).zip(&values) {
            (*low, *high) = narrow(value);
        }
        lengths.complete(|i| values[i]);
        assert_eq!((0..values.len()).map(|i| lengths.get(i)).collect::<Vec<_>>(), values);
        let widened = values.iter().map(|&value| widen(narrow(value).0, narrow(value).1, || value));
        assert_eq!(widened.collect::<Vec<_>>(), values);
        assert!(narrow(second).1 < APART && narrow(2 * second).1 == APART && narrow(-1).1 == APART);
    }
}
