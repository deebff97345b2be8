//! Contexts: keys that link every event that produces them to every event that consumes them.

use std::hash::BuildHasher;

use crate::kernels::rows::{Rows, Seeded, SparseRows};
use crate::system::parallel;

/// A context shared by this many producers and as many consumers links nothing: the product would be useless and huge.
pub const CONTEXT_LIMIT: usize = 64;
const NONE: u32 = u32::MAX;

/// One side of the contexts: nodes, and the key of each.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub node: &'a [u32],
    pub key: &'a [u64],
}

/// The links, in both directions; of each node and context in the order in which they were given.
#[derive(Debug, Default)]
pub struct Contexts {
    producers: Rows,
    consumers: Rows,
    produced: SparseRows,
    consumed: SparseRows,
}

impl Contexts {
    /// Contexts with producers and consumers; every node is below `nodes`.
    pub fn new(nodes: usize, producers: Side, consumers: Side) -> Self {
        let mut numbers = Numbers::new(producers.key.len());
        let mut produced: Vec<u32> = producers.key.iter().map(|&key| numbers.number(key)).collect();
        let mut consumed: Vec<u32> = consumers.key.iter().map(|&key| numbers.find(key)).collect();
        let mut sizes = vec![(0u32, 0u32); numbers.key.len()];
        drop(numbers);
        produced.iter().for_each(|&context| sizes[context as usize].0 += 1);
        consumed.iter().filter(|&&context| context != NONE).for_each(|&context| sizes[context as usize].1 += 1);
        let links = |(from, to): (u32, u32)| to > 0 && (from.min(to) as usize) < CONTEXT_LIMIT;
        for context in produced.iter_mut().chain(&mut consumed) {
            if *context != NONE && !links(sizes[*context as usize]) {
                *context = NONE;
            }
        }
        let threads = parallel::threads_for(produced.len() + consumed.len());
        let side = |(node, context): (&[u32], &[u32])| {
            let by_context = Rows::new(sizes.len(), linked(node, context).map(|(node, context)| (context, node)));
            Ok((by_context, SparseRows::new(nodes, linked(node, context))))
        };
        let sides = parallel::run(threads, vec![(producers.node, &produced[..]), (consumers.node, &consumed)], side);
        let mut sides = sides.unwrap_or_default().into_iter();
        let ((producers, produced), (consumers, consumed)) =
            (sides.next().unwrap_or_default(), sides.next().unwrap_or_default());
        Contexts { producers, consumers, produced, consumed }
    }

    /// Calls `visit` for each producer of what the node consumes.
    pub fn for_each_producer(&self, node: u32, mut visit: impl FnMut(u32)) {
        for &context in self.consumed.of(node) {
            self.producers.of(context).iter().for_each(|&producer| visit(producer));
        }
    }

    /// Calls `visit` for each consumer of what the node produces.
    pub fn for_each_consumer(&self, node: u32, mut visit: impl FnMut(u32)) {
        for &context in self.produced.of(node) {
            self.consumers.of(context).iter().for_each(|&consumer| visit(consumer));
        }
    }
}

/// Nodes with their contexts, without those that link nothing.
fn linked<'a>(node: &'a [u32], context: &'a [u32]) -> impl Iterator<Item = (u32, u32)> + Clone + 'a {
    node.iter().copied().zip(context.iter().copied()).filter(|&(_, context)| context != NONE)
}

/// Numbers keys in the order in which they first appear: a table of numbers alone, half as large and twice as fast as
/// one of keys.
struct Numbers {
    seed: Seeded,
    slot: Vec<u32>,
    key: Vec<u64>,
}

impl Numbers {
    /// Room for this many keys.
    fn new(keys: usize) -> Self {
        let slot = vec![NONE; (2 * keys).next_power_of_two().max(2)];
        Numbers { seed: Seeded::new(), slot, key: Vec::with_capacity(keys) }
    }

    /// The slot that has the key, or the empty one where it belongs. Keys that are counted up stay side by side.
    fn place(&self, key: u64) -> usize {
        let mask = self.slot.len() - 1;
        let mut at = (self.seed.hash_one(key >> 4) << 4 | key & 15) as usize & mask;
        while self.slot[at] != NONE && self.key[self.slot[at] as usize] != key {
            at = (at + 1) & mask;
        }
        at
    }

    fn number(&mut self, key: u64) -> u32 {
        let at = self.place(key);
        if self.slot[at] == NONE {
            self.slot[at] = self.key.len() as u32;
            self.key.push(key);
        }
        self.slot[at]
    }

    /// The number of a key, NONE if it has none.
    fn find(&self, key: u64) -> u32 {
        self.slot[self.place(key)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbered_as_they_appear() {
        let mut numbers = Numbers::new(40);
        let keys: Vec<u64> = (0..20).map(|at| at * 16).chain([3, 2, 1, u64::MAX]).collect();
        for (number, &key) in keys.iter().enumerate() {
            assert_eq!(numbers.find(key), NONE);
            assert_eq!(numbers.number(key), number as u32);
        }
        keys.iter().enumerate().for_each(|(number, &key)| assert_eq!(numbers.number(key), number as u32));
        assert_eq!((numbers.find(3), numbers.find(4)), (20, NONE));
        assert_eq!(Numbers::new(0).find(0), NONE);
    }

    #[test]
    fn many_links_on_two_threads_are_the_same() {
        let count = parallel::MANY as u32;
        let node: Vec<u32> = (0..count).collect();
        let key: Vec<u64> = node.iter().map(|&node| u64::from(node / 2) << 33).collect();
        let side = Side { node: &node, key: &key };
        let contexts = Contexts::new(count as usize, side, side);
        let mut found = Vec::new();
        contexts.for_each_consumer(7, |node| found.push(node));
        contexts.for_each_producer(count - 2, |node| found.push(node));
        assert_eq!(found, [6, 7, count - 2, count - 1]);
    }
}
