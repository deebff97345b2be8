//! Sorts the events of a slice of time, small enough for the cache.

use crate::timeline::model::trace::Trace;

/// The events of one slice.
#[derive(Default)]
pub struct Work {
    /// (position, track) as gathered.
    events: Vec<(u32, u32)>,
    /// Begin since `low`, then the place in `events`: in one word when both fit, else with the begin in `wide`.
    keys: Vec<u64>,
    wide: Vec<i64>,
    scratch: Vec<u64>,
    low: i64,
    bits: u32,
}

impl Work {
    /// Takes the events of each row from `starts` to `ends`.
    pub fn gather(&mut self, trace: &Trace, starts: &[u32], ends: &[u32]) {
        self.events.clear();
        self.keys.clear();
        self.wide.clear();
        let (mut low, mut high, mut count) = (i64::MAX, i64::MIN, 0);
        for (&first, &last) in starts.iter().zip(ends).filter(|(first, last)| first < last) {
            low = low.min(trace.begin[first as usize]);
            high = high.max(trace.begin[last as usize - 1]);
            count += (last - first) as usize;
        }
        self.low = low;
        self.bits = usize::BITS - count.leading_zeros();
        let packs = count == 0 || (high.wrapping_sub(low) as u64).leading_zeros() >= self.bits;
        for ((row, &first), &last) in trace.rows.iter().zip(starts).zip(ends) {
            for event in first..last {
                let place = self.events.len() as u64;
                let begin = trace.begin[event as usize];
                self.events.push((event, row.track));
                if packs {
                    self.keys.push((begin.wrapping_sub(low) as u64) << self.bits | place);
                } else {
                    self.keys.push(place);
                    self.wide.push(begin);
                }
            }
        }
    }

    /// Sorts by begin; events that begin together stay in the order of the rows.
    pub fn sort(&mut self) {
        if self.wide.is_empty() {
            sort_words(&mut self.keys, &mut self.scratch);
        } else {
            let wide = &self.wide;
            self.keys.sort_by_key(|&place| wide[place as usize]);
        }
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Begin of the i-th event in order.
    #[inline]
    pub fn begin(&self, i: usize) -> i64 {
        if self.wide.is_empty() {
            self.low.wrapping_add((self.keys[i] >> self.bits) as i64)
        } else {
            self.wide[self.keys[i] as usize]
        }
    }

    /// Position and track of the i-th event in order.
    #[inline]
    pub fn event(&self, i: usize) -> (u32, u32) {
        let mask = if self.wide.is_empty() { (1 << self.bits) - 1 } else { u64::MAX };
        self.events[(self.keys[i] & mask) as usize]
    }
}

/// Sorts by the upper 22 bits in two passes, then what is equal there.
fn sort_words(keys: &mut [u64], scratch: &mut Vec<u64>) {
    const BITS: u32 = 11;
    const FEW: usize = 256;
    if keys.len() < FEW {
        return keys.sort_unstable();
    }
    let width = u64::BITS - keys.iter().fold(0, |all, key| all | key).leading_zeros();
    let shift = width.saturating_sub(2 * BITS);
    let digit = |key: u64, pass: u32| (key >> (shift + pass * BITS)) as usize & ((1 << BITS) - 1);
    let mut next = [[0u32; 1 << BITS]; 2];
    for &key in keys.iter() {
        next[0][digit(key, 0)] += 1;
        next[1][digit(key, 1)] += 1;
    }
    for counts in &mut next {
        let mut sum = 0;
        for count in counts {
            sum += std::mem::replace(count, sum);
        }
    }
    scratch.clear();
    scratch.resize(keys.len(), 0);
    let (mut from, mut to): (&mut [u64], &mut [u64]) = (keys, scratch);
    for pass in 0..2 {
        for &key in from.iter() {
            let at = &mut next[pass as usize][digit(key, pass)];
            to[*at as usize] = key;
            *at += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    for run in from.chunk_by_mut(|a, b| a >> shift == b >> shift) {
        if !run.is_sorted() {
            run.sort_unstable();
        }
    }
}
