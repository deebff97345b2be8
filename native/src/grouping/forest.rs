//! The event forest of one host: nesting plus links across threads, and how groups spread over it.

use std::collections::HashMap;

use crate::grouping::contexts::Contexts;
use crate::grouping::nodes::{Lines, NONE, Nodes, Regions};
use crate::kernels::rows::SparseRows;
use crate::system::parallel;

/// What grouping found: a group per node (-1 none), the roots that opened groups, and which group reached which.
#[derive(Debug, Default)]
pub struct Grouping {
    pub group: Vec<i64>,
    pub root: Vec<u32>,
    pub relation: Vec<(i64, i64)>,
}

/// Nodes are numbered in the order their planes are added.
#[derive(Debug, Default)]
pub struct Forest {
    nodes: Nodes,
    link_child: SparseRows,
    link_parent: SparseRows,
    contexts: Contexts,
}

impl Forest {
    /// Adds the events of some lines and the regions among them, nested; returns the number of the first node.
    pub fn add_lines(&mut self, lines: Lines, regions: Regions) -> usize {
        self.nodes.add_lines(lines, regions)
    }

    /// Adds nodes without nesting; returns the number of the first.
    pub fn add_points(&mut self, count: usize) -> usize {
        self.nodes.add_points(count)
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.nodes.count()
    }

    /// Links pairs of nodes, the parent first. Replaces earlier links.
    pub fn link(&mut self, pairs: &[(u32, u32)]) {
        self.link_child = SparseRows::new(self.nodes(), pairs.iter().copied());
        self.link_parent = SparseRows::new(self.nodes(), pairs.iter().map(|&(parent, child)| (child, parent)));
    }

    /// Links producers to consumers, of as many nodes. Replaces earlier contexts.
    pub fn connect(&mut self, contexts: Contexts) {
        self.contexts = contexts;
    }

    fn for_each_parent(&self, node: u32, mut visit: impl FnMut(u32)) {
        let parent = self.nodes.parent(node);
        if parent != NONE {
            visit(parent);
        }
        self.link_parent.of(node).iter().for_each(|&parent| visit(parent));
        self.contexts.for_each_producer(node, visit);
    }

    fn for_each_child(&self, node: u32, mut visit: impl FnMut(u32)) {
        self.nodes.for_each_child(node, &mut visit);
        self.link_child.of(node).iter().for_each(|&child| visit(child));
        self.contexts.for_each_consumer(node, visit);
    }

    /// Opens a group for each root in turn and spreads it over all descendants that have none yet.
    ///
    /// With `levels` (root level of every root node, whether it may open a group or not) a root is passed over when it is
    /// grouped already or an ancestor has its level; without, every root opens a group. A root is its own ancestor only
    /// if it is its own parent, not around a longer circle. Numbers start at 0.
    pub fn group(&self, roots: &[u32], levels: Option<&HashMap<u32, i64>>) -> Grouping {
        let mut out = Grouping { group: vec![-1; self.nodes()], ..Grouping::default() };
        let mut search = levels.map(|levels| LevelSearch::new(self, levels));
        let mut queue = Vec::new();
        for &root in roots {
            let taken = out.group[root as usize] >= 0;
            if search.as_mut().is_some_and(|search| taken || search.has_equal_ancestor(root)) {
                continue;
            }
            let id = out.root.len() as i64;
            out.root.push(root);
            self.spread(root, id, &mut out, &mut queue);
        }
        out.relation.sort_unstable();
        out.relation.dedup();
        out
    }

    /// Continues with the groups in `group`: the nodes of each core (a range) open groups `first`, `first + 1`, ... of
    /// their own, counted anew for every core; nodes with a group are skipped. Of several roots with one number the
    /// last is returned.
    pub fn count_cores(&self, cores: &[(u32, u32)], first: i64, group: Vec<i64>) -> Grouping {
        let mut out = Grouping { group, ..Grouping::default() };
        let mut queue = Vec::new();
        for &(from, to) in cores {
            let mut counted = 0;
            for node in from..to {
                if out.group[node as usize] >= 0 {
                    continue;
                }
                match out.root.get_mut(counted) {
                    Some(root) => *root = node,
                    None => out.root.push(node),
                }
                self.spread(node, first + counted as i64, &mut out, &mut queue);
                counted += 1;
            }
        }
        out.relation.sort_unstable();
        out.relation.dedup();
        out
    }

    fn spread(&self, root: u32, id: i64, out: &mut Grouping, queue: &mut Vec<u32>) {
        let Grouping { group, relation, .. } = out;
        let mut reach = |node: u32, queue: &mut Vec<u32>| {
            let slot = &mut group[node as usize];
            if *slot < 0 {
                *slot = id;
                queue.push(node);
            } else if *slot != id && relation.last() != Some(&(id, *slot)) {
                relation.push((id, *slot));
            }
        };
        reach(root, queue);
        while let Some(node) = queue.pop() {
            self.for_each_child(node, |child| reach(child, queue));
        }
    }

    /// For each node the nearest marked node among itself and its ancestors, breadth first, or [`NONE`].
    pub fn nearest(&self, nodes: &[u32], marked: &[u32]) -> Vec<u32> {
        let mut is_marked = vec![false; self.nodes()];
        marked.iter().for_each(|&node| is_marked[node as usize] = true);
        let threads = parallel::threads_for(nodes.len());
        let parts = nodes.chunks(nodes.len().div_ceil(threads).max(1)).collect();
        let found = parallel::run(threads, parts, |part| Ok(self.nearest_of(part, &is_marked)));
        found.unwrap_or_default().concat()
    }

    fn nearest_of(&self, nodes: &[u32], is_marked: &[bool]) -> Vec<u32> {
        let mut seen = vec![0u32; self.nodes()];
        let mut barren = vec![false; self.nodes()];
        let mut queue: Vec<u32> = Vec::new();
        let mut stamp = 0;
        let mut find = |node: u32| {
            stamp += 1;
            queue.clear();
            queue.push(node);
            seen[node as usize] = stamp;
            let mut at = 0;
            while at < queue.len() {
                let node = queue[at];
                at += 1;
                if is_marked[node as usize] {
                    return node;
                }
                self.for_each_parent(node, |parent| {
                    if seen[parent as usize] != stamp && !barren[parent as usize] {
                        seen[parent as usize] = stamp;
                        queue.push(parent);
                    }
                });
            }
            queue.iter().for_each(|&node| barren[node as usize] = true);
            NONE
        };
        nodes.iter().map(|&node| find(node)).collect()
    }
}

/// Whether a root has an ancestor of its own level; keeps per level the nodes that are known to have none.
struct LevelSearch<'a> {
    forest: &'a Forest,
    levels: &'a HashMap<u32, i64>,
    level: Option<i64>,
    seen: Vec<bool>,
    visited: Vec<u32>,
}

impl<'a> LevelSearch<'a> {
    fn new(forest: &'a Forest, levels: &'a HashMap<u32, i64>) -> Self {
        LevelSearch { forest, levels, level: None, seen: vec![false; forest.nodes()], visited: Vec::new() }
    }

    fn has_equal_ancestor(&mut self, root: u32) -> bool {
        let level = self.levels.get(&root).copied();
        if level != self.level {
            self.visited.drain(..).for_each(|node| self.seen[node as usize] = false);
            self.level = level;
        }
        // Nodes seen by an earlier fruitless search of this level need no second look: none of them has an ancestor
        // of the level. After a fruitful search nothing is known, so its nodes are forgotten.
        let first = self.visited.len();
        let mut own_parent = false;
        self.forest.for_each_parent(root, |parent| own_parent |= parent == root);
        if own_parent {
            return true;
        }
        if !self.seen[root as usize] {
            self.seen[root as usize] = true;
            self.visited.push(root);
        }
        let mut at = self.visited.len();
        self.push_parents(root);
        while at < self.visited.len() {
            let node = self.visited[at];
            at += 1;
            if self.levels.get(&node).copied() == level {
                self.visited.drain(first..).for_each(|node| self.seen[node as usize] = false);
                return true;
            }
            self.push_parents(node);
        }
        false
    }

    fn push_parents(&mut self, node: u32) {
        let (seen, visited) = (&mut self.seen, &mut self.visited);
        self.forest.for_each_parent(node, |parent| {
            if !seen[parent as usize] {
                seen[parent as usize] = true;
                visited.push(parent);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grouping::contexts::Side;

    /// 0 [0,100] > 1 [10,20], 2 [30,60] > 3 [40,50]; another line: 4 [0,10], 5 [20,30] > 6 [21,22]
    fn two_lines() -> Forest {
        let mut forest = Forest::default();
        let begin = [0, 10, 30, 40, 0, 20, 21];
        let duration = [100, 10, 30, 10, 10, 10, 1];
        let lines = Lines { line_start: &[0, 4, 7], begin: &begin, duration: &duration, skip: None };
        forest.add_lines(lines, Regions::default());
        forest
    }

    fn connect(forest: &mut Forest, producers: &[(u32, u64)], consumers: &[(u32, u64)]) {
        let (produce, produced): (Vec<u32>, Vec<u64>) = producers.iter().copied().unzip();
        let (consume, consumed): (Vec<u32>, Vec<u64>) = consumers.iter().copied().unzip();
        let sides = (Side { node: &produce, key: &produced }, Side { node: &consume, key: &consumed });
        forest.connect(Contexts::new(forest.nodes(), sides.0, sides.1));
    }

    #[test]
    fn a_group_covers_all_descendants() {
        let grouping = two_lines().group(&[2, 5], None);
        assert_eq!(grouping.group, vec![-1, -1, 0, 0, -1, 1, 1]);
        assert_eq!(grouping.root, vec![2, 5]);
    }

    #[test]
    fn a_group_that_reaches_another_records_it_and_stops() {
        let grouping = two_lines().group(&[2, 0], None);
        assert_eq!(grouping.group, vec![1, 1, 0, 0, -1, -1, -1]);
        assert_eq!(grouping.relation, vec![(1, 0)]);
    }

    #[test]
    fn contexts_link_producers_to_consumers_across_lines() {
        let mut forest = two_lines();
        connect(&mut forest, &[(1, 77), (3, 5)], &[(5, 77), (4, 6)]);
        assert_eq!(forest.group(&[0], None).group, vec![0, 0, 0, 0, -1, 0, 0]);
        assert_eq!(forest.nearest(&[6, 4], &[1]), vec![1, NONE]);
    }

    #[test]
    fn the_nearest_of_many_nodes_are_found_in_parts() {
        let count = 2 * parallel::MANY as u32;
        let mut forest = Forest::default();
        forest.add_points(count as usize);
        forest.link(&(1..count).step_by(2).map(|node| (node - 1, node)).collect::<Vec<_>>());
        let nodes: Vec<u32> = (0..count).collect();
        let marked: Vec<u32> = nodes.iter().copied().filter(|node| node % 4 == 0).collect();
        let expected = nodes.iter().map(|&node| if node % 4 < 2 { node / 4 * 4 } else { NONE });
        assert!(forest.nearest(&nodes, &marked).into_iter().eq(expected));
        assert!(forest.nearest(&[], &marked).is_empty());
    }

    #[test]
    fn crowded_contexts_link_nothing_only_when_both_sides_are_crowded() {
        let wide = |producers: u32, consumers: u32| {
            let mut forest = Forest::default();
            forest.add_points(200);
            let produce: Vec<(u32, u64)> = (0..producers).map(|node| (node, 1)).collect();
            let consume: Vec<(u32, u64)> = (100..100 + consumers).map(|node| (node, 1)).collect();
            connect(&mut forest, &produce, &consume);
            forest.group(&[0], None).group[100]
        };
        assert_eq!((wide(64, 64), wide(63, 64), wide(64, 63)), (-1, 0, 0));
    }

    #[test]
    fn roots_below_a_root_of_their_level_are_passed_over() {
        let levels = HashMap::from([(0, 1), (2, 1), (3, 2), (6, 1)]);
        let grouping = two_lines().group(&[3, 0, 6, 2], Some(&levels));
        assert_eq!(grouping.root, vec![3, 0, 6]);
        assert_eq!(grouping.group, vec![1, 1, 1, 0, -1, -1, 2]);
        assert_eq!(grouping.relation, vec![(1, 0)]);
    }

    #[test]
    fn an_ungrouped_root_with_an_equal_ancestor_opens_no_group() {
        let levels = HashMap::from([(0, 1), (2, 1)]);
        let grouping = two_lines().group(&[2], Some(&levels));
        assert!(grouping.root.is_empty());
    }

    #[test]
    fn cores_count_from_the_same_number() {
        let mut forest = Forest::default();
        forest.add_points(6);
        forest.link(&[(1, 4), (0, 2)]);
        let grouping = forest.count_cores(&[(0, 2), (3, 6)], 7, vec![-1, -1, 5, -1, -1, -1]);
        assert_eq!(grouping.group, vec![7, 8, 5, 7, 8, 8]);
        assert_eq!((grouping.root, grouping.relation), (vec![3, 5], vec![(7, 5)]));
    }

    #[test]
    fn links_and_cycles_end() {
        let mut forest = two_lines();
        forest.link(&[(3, 5), (6, 0)]);
        assert_eq!(forest.group(&[5], None).group, vec![0, 0, 0, 0, -1, 0, 0]);
        let lone = |forest: &Forest, root| forest.group(&[root], Some(&HashMap::from([(root, 1)]))).root;
        assert_eq!(lone(&forest, 3), vec![3]);
        forest.link(&[(3, 3)]);
        assert!(lone(&forest, 3).is_empty());
        forest.link(&[(3, 5), (6, 0)]);
        let levels = HashMap::from([(5, 1), (3, 1)]);
        assert!(forest.group(&[5, 3], Some(&levels)).root.is_empty());
        assert_eq!(forest.nearest(&[6], &[0, 2]), vec![2]);
    }
}
