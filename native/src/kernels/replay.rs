//! Replay of a graph of dependencies: when each node ends if it begins as soon as what it depends on has ended.

use crate::error::{Error, Result};

/// Stands for the edge that binds a node without edges.
pub const NO_EDGE: i64 = -1;

/// Nodes in an order in which sources come before what depends on them; times in picoseconds.
pub struct Graph<'a> {
    /// Edges of node `i` are `start[i]..start[i + 1]`; one more than nodes.
    pub start: &'a [i64],
    /// Per edge the node that it comes from.
    pub source: &'a [u32],
    /// Per edge the least time from the end of its source to the begin of the node.
    pub lag: &'a [i64],
}

/// Per node its end, and the edge that determines its begin: the first of the latest ones.
#[derive(Debug, PartialEq, Eq)]
pub struct Replayed {
    pub end: Vec<i64>,
    pub binding: Vec<i64>,
}

impl Graph<'_> {
    /// Ends of nodes that begin `delay` after the latest of their edges, 0 without any, and last for `duration`.
    ///
    /// Edges that `cut` marks do not count. A node whose edges are all cut begins `delay` after 0.
    pub fn replay(&self, delay: &[i64], duration: &[i64], cut: Option<&[bool]>) -> Result<Replayed> {
        let (n, m) = (duration.len(), self.source.len());
        let fits = self.start.len() == n + 1 && delay.len() == n && self.lag.len() == m;
        let ordered =
            self.start.first() == Some(&0) && self.start.last() == Some(&(m as i64)) && self.start.is_sorted();
        if !fits || !ordered || cut.is_some_and(|cut| cut.len() != m) {
            return Err(Error::argument("columns of different length"));
        }
        let mut end: Vec<i64> = Vec::with_capacity(n);
        let mut binding = Vec::with_capacity(n);
        for node in 0..n {
            let (mut begin, mut bound) = (0, NO_EDGE);
            for edge in self.start[node] as usize..self.start[node + 1] as usize {
                if cut.is_some_and(|cut| cut[edge]) {
                    continue;
                }
                let Some(&ended) = end.get(self.source[edge] as usize) else {
                    return Err(Error::argument("a source behind its node"));
                };
                let ready = ended.saturating_add(self.lag[edge]);
                if bound == NO_EDGE || ready > begin {
                    (begin, bound) = (ready, edge as i64);
                }
            }
            end.push(begin.saturating_add(delay[node]).saturating_add(duration[node]));
            binding.push(bound);
        }
        Ok(Replayed { end, binding })
    }
}

/// The nodes of the chain that determines when `node` ends, last first; `source` and `binding` are those of a replay.
pub fn binding_path(source: &[u32], binding: &[i64], node: usize) -> Result<Vec<i64>> {
    let mut path = Vec::new();
    let mut at = node;
    while let Some(&edge) = binding.get(at) {
        path.push(at as i64);
        match usize::try_from(edge).ok().and_then(|edge| source.get(edge)) {
            None => return Ok(path),
            Some(&next) if (next as usize) < at => at = next as usize,
            Some(_) => return Err(Error::argument("a source behind its node")),
        }
    }
    Err(Error::argument("no such node"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two queues: 0 then 2 then 4, and 1 then 3; 3 waits for 0, and 4 for 3.
    const START: &[i64] = &[0, 0, 0, 1, 3, 5];
    const SOURCE: &[u32] = &[0, 1, 0, 2, 3];
    const LAG: &[i64] = &[5, 0, 2, 0, 1];

    fn graph() -> Graph<'static> {
        Graph { start: START, source: SOURCE, lag: LAG }
    }

    #[test]
    fn nodes_begin_after_the_latest_of_what_they_depend_on() {
        let found = graph().replay(&[100, 100, 0, 0, 3], &[10, 40, 10, 20, 1], None).unwrap();
        assert_eq!(found.end, [110, 140, 125, 160, 165]);
        assert_eq!(found.binding, [NO_EDGE, NO_EDGE, 0, 1, 4]);
        assert_eq!(binding_path(SOURCE, &found.binding, 4).unwrap(), [4, 3, 1]);
    }

    #[test]
    fn shorter_nodes_let_others_bind() {
        let found = graph().replay(&[100, 100, 0, 0, 3], &[10, 0, 10, 0, 1], None).unwrap();
        assert_eq!(found.end, [110, 100, 125, 112, 129]);
        assert_eq!(binding_path(SOURCE, &found.binding, 4).unwrap(), [4, 2, 0]);
    }

    #[test]
    fn edges_that_are_cut_bind_nothing() {
        let cut = [false, true, false, false, true];
        let found = graph().replay(&[100, 100, 0, 0, 3], &[10, 40, 10, 20, 1], Some(&cut)).unwrap();
        assert_eq!(found.end, [110, 140, 125, 132, 129]);
        assert_eq!(found.binding, [NO_EDGE, NO_EDGE, 0, 2, 3]);
    }

    #[test]
    fn equal_edges_bind_in_their_order_and_negative_times_count() {
        let graph = Graph { start: &[0, 0, 0, 2], source: &[1, 0], lag: &[0, 0] };
        let found = graph.replay(&[-50, -50, 0], &[10, 10, 1], None).unwrap();
        assert_eq!((found.end, found.binding), (vec![-40, -40, -39], vec![NO_EDGE, NO_EDGE, 0]));
    }

    #[test]
    fn damaged_graphs_are_errors() {
        let behind = Graph { start: &[0, 1, 1], source: &[1], lag: &[0] };
        assert!(behind.replay(&[0, 0], &[1, 1], None).is_err());
        assert!(graph().replay(&[0], &[1], None).is_err());
        assert!(graph().replay(&[0; 5], &[1; 5], Some(&[])).is_err());
        assert!(binding_path(SOURCE, &[0, 1], 0).is_err());
        assert!(binding_path(SOURCE, &[], 0).is_err());
    }

    #[test]
    fn extreme_times_saturate() {
        let graph = Graph { start: &[0, 0, 1], source: &[0], lag: &[i64::MAX] };
        let found = graph.replay(&[i64::MAX, i64::MIN], &[i64::MAX, 0], None).unwrap();
        assert_eq!(found.end, [i64::MAX, -1]);
    }
}
