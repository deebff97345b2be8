//! Contexts: keys that link every event that produces them to every event that consumes them.

use std::collections::HashMap;

use crate::kernels::rows::{Rows, SeededRuns, SparseRows};

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
        let mut number: HashMap<u64, u32, SeededRuns> =
            HashMap::with_capacity_and_hasher(producers.key.len(), SeededRuns::default());
        let mut sizes: Vec<(u32, u32)> = Vec::with_capacity(producers.key.len());
        let mut produced = Vec::with_capacity(producers.key.len());
        for &key in producers.key {
            let context = *number.entry(key).or_insert(sizes.len() as u32);
            if context as usize == sizes.len() {
                sizes.push((0, 0));
            }
            sizes[context as usize].0 += 1;
            produced.push(context);
        }
        let mut consumed = Vec::with_capacity(consumers.key.len());
        for key in consumers.key {
            let context = number.get(key).copied().unwrap_or(NONE);
            if context != NONE {
                sizes[context as usize].1 += 1;
            }
            consumed.push(context);
        }
        drop(number);
        let useful = |context: u32| {
            context != NONE && {
                let (from, to) = sizes[context as usize];
                to > 0 && ((from as usize) < CONTEXT_LIMIT || (to as usize) < CONTEXT_LIMIT)
            }
        };
        Contexts {
            producers: Rows::new(sizes.len(), linked(producers.node, &produced, useful).map(flip)),
            consumers: Rows::new(sizes.len(), linked(consumers.node, &consumed, useful).map(flip)),
            produced: SparseRows::new(nodes, linked(producers.node, &produced, useful)),
            consumed: SparseRows::new(nodes, linked(consumers.node, &consumed, useful)),
        }
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

/// Nodes with their contexts, limited to contexts that link.
fn linked<'a>(
    node: &'a [u32],
    context: &'a [u32],
    useful: impl Fn(u32) -> bool + Copy + 'a,
) -> impl Iterator<Item = (u32, u32)> + Clone + 'a {
    node.iter().copied().zip(context.iter().copied()).filter(move |&(_, context)| useful(context))
}

fn flip((node, context): (u32, u32)) -> (u32, u32) {
    (context, node)
}
