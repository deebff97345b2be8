//! The nodes of an event forest: events and the regions among them, each with its parent and a list of its children.

use std::ops::Range;

/// Marks the absence of a node.
pub const NONE: u32 = u32::MAX;

/// The events of some lines: those of line l are `line_start[l]..line_start[l + 1]`; events marked in `skip` take no
/// part. Slices have one entry per event, and lines lie within them (checked by the caller).
#[derive(Clone, Copy)]
pub struct Lines<'a> {
    pub line_start: &'a [i64],
    pub begin: &'a [i64],
    pub duration: &'a [i64],
    pub skip: Option<&'a [bool]>,
}

/// Further spans on these lines that are in no line's events: the line of each, ascending, and its span.
#[derive(Clone, Copy, Default)]
pub struct Regions<'a> {
    pub line: &'a [i64],
    pub begin: &'a [i64],
    pub duration: &'a [i64],
}

/// Parents and children by node number; children are linked lists, so that numbers need not follow the nesting.
#[derive(Debug, Default)]
pub struct Nodes {
    parent: Vec<u32>,
    first_child: Vec<u32>,
    next_sibling: Vec<u32>,
}

impl Nodes {
    /// How many nodes there are.
    pub fn count(&self) -> usize {
        self.parent.len()
    }

    /// The node that encloses this one, or [`NONE`].
    pub fn parent(&self, node: u32) -> u32 {
        self.parent[node as usize]
    }

    /// Calls `visit` for each child, the last one first.
    pub fn for_each_child(&self, node: u32, mut visit: impl FnMut(u32)) {
        let mut child = self.first_child[node as usize];
        while child != NONE {
            visit(child);
            child = self.next_sibling[child as usize];
        }
    }

    /// Adds nodes that nothing encloses; returns the number of the first.
    pub fn add_points(&mut self, count: usize) -> usize {
        let base = self.count();
        for column in [&mut self.parent, &mut self.first_child, &mut self.next_sibling] {
            column.resize(base + count, NONE);
        }
        base
    }

    /// Adds the events, then the regions; returns the number of the first event's node.
    ///
    /// An event becomes the child of the nearest earlier event of its line that includes it (closed interval) and has
    /// not been left by a later event; an event that outlives its container therefore ends the container. Earlier means
    /// file order, on lines with regions the order of begin, longest first, events before regions.
    pub fn add_lines(&mut self, lines: Lines, regions: Regions) -> usize {
        let events = lines.begin.len();
        let base = self.add_points(events + regions.begin.len());
        let mut open: Vec<(u32, i64, i64)> = Vec::new();
        let mut first_region = 0;
        for (line, bounds) in lines.line_start.windows(2).enumerate() {
            let own = bounds[0] as usize..bounds[1] as usize;
            open.clear();
            let later = regions.line[first_region..].iter().take_while(|&&at| at <= line as i64).count();
            let inside = first_region..first_region + later;
            first_region = inside.end;
            if inside.is_empty() {
                for event in own.filter(|&event| !skipped(&lines, event)) {
                    self.place(base, event, span(lines.begin[event], lines.duration[event]), &mut open);
                }
                continue;
            }
            for place in walk_order(&lines, own, regions, inside) {
                let (begin, duration) = times(&lines, regions, place);
                if place >= events || !skipped(&lines, place) {
                    self.place(base, place, span(begin, duration), &mut open);
                }
            }
        }
        base
    }

    fn place(&mut self, base: usize, place: usize, (begin, end): (i64, i64), open: &mut Vec<(u32, i64, i64)>) {
        let node = (base + place) as u32;
        while let Some(&(top, top_begin, top_end)) = open.last() {
            if top_begin <= begin && end <= top_end {
                self.parent[node as usize] = top;
                self.next_sibling[node as usize] = self.first_child[top as usize];
                self.first_child[top as usize] = node;
                break;
            }
            open.pop();
        }
        open.push((node, begin, end));
    }
}

fn skipped(lines: &Lines, event: usize) -> bool {
    lines.skip.is_some_and(|marks| marks[event])
}

fn span(begin: i64, duration: i64) -> (i64, i64) {
    (begin, begin.saturating_add(duration))
}

/// Begin and duration of an event, or of a region counted on from the events.
fn times(lines: &Lines, regions: Regions, place: usize) -> (i64, i64) {
    match place.checked_sub(lines.begin.len()) {
        None => (lines.begin[place], lines.duration[place]),
        Some(region) => (regions.begin[region], regions.duration[region]),
    }
}

/// The events and regions of one line by begin, longest first; regions count on from the events.
fn walk_order(lines: &Lines, own: Range<usize>, regions: Regions, inside: Range<usize>) -> impl Iterator<Item = usize> {
    let events = lines.begin.len();
    let mut order: Vec<u32> = (own.start as u32..own.end as u32).collect();
    order.extend((events + inside.start..events + inside.end).map(|place| place as u32));
    // Usually two ascending runs, which a stable sort merges in one pass.
    order.sort_by_key(|&place| {
        let (begin, duration) = times(lines, regions, place as usize);
        (begin, duration.wrapping_neg())
    });
    order.into_iter().map(|place| place as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parents(
        line_start: &[i64],
        spans: &[(i64, i64)],
        skip: Option<&[bool]>,
        regions: &[(i64, i64, i64)],
    ) -> Vec<u32> {
        let (begin, duration): (Vec<i64>, Vec<i64>) = spans.iter().map(|&(b, e)| (b, e - b)).unzip();
        let line: Vec<i64> = regions.iter().map(|region| region.0).collect();
        let (from, long): (Vec<i64>, Vec<i64>) = regions.iter().map(|&(_, b, e)| (b, e - b)).unzip();
        let mut nodes = Nodes::default();
        nodes.add_points(1);
        let lines = Lines { line_start, begin: &begin, duration: &duration, skip };
        assert_eq!(nodes.add_lines(lines, Regions { line: &line, begin: &from, duration: &long }), 1);
        let mut of_parents = vec![NONE; nodes.count()];
        (0..nodes.count() as u32)
            .for_each(|node| nodes.for_each_child(node, |child| of_parents[child as usize] = node));
        let found: Vec<u32> = (0..nodes.count() as u32).map(|node| nodes.parent(node)).collect();
        assert_eq!(of_parents, found);
        found[1..].to_vec()
    }

    #[test]
    fn nests_closed_intervals_line_by_line_in_file_order() {
        let spans = [(0, 10), (0, 5), (5, 5), (10, 10), (1, 2)];
        assert_eq!(parents(&[0, 4, 5], &spans, None, &[]), vec![NONE, 1, 2, 1, NONE]);
        // The second event outlives the first, which therefore is left; the last one begins earlier than its container.
        assert_eq!(parents(&[0, 3], &[(0, 10), (5, 12), (6, 7)], None, &[]), vec![NONE, NONE, 2]);
        assert_eq!(parents(&[0, 2], &[(3, 4), (0, 10)], None, &[]), vec![NONE, NONE]);
        assert_eq!(parents(&[0, 3], &[(0, 9), (1, 8), (2, 3)], Some(&[false, true, false]), &[]), vec![NONE, NONE, 1]);
    }

    #[test]
    fn regions_sort_their_line_and_no_other() {
        // A region around an event of the same begin encloses it; one as long as the event lies in the event.
        assert_eq!(parents(&[0, 1], &[(5, 6)], None, &[(0, 5, 9)]), vec![2, NONE]);
        assert_eq!(parents(&[0, 1], &[(5, 9)], None, &[(0, 5, 9)]), vec![NONE, 1]);
        // Line 0 is unsorted and stays so; line 1 is sorted because it has a region.
        let spans = [(3, 4), (0, 10), (3, 4), (0, 10)];
        assert_eq!(parents(&[0, 2, 4], &spans, None, &[(1, 20, 21)]), vec![NONE, NONE, 4, NONE, NONE]);
        let skip = [false, true];
        assert_eq!(parents(&[0, 2], &[(0, 9), (1, 8)], Some(&skip), &[(0, 2, 3)]), vec![NONE, NONE, 1]);
    }

    #[test]
    fn an_end_beyond_the_numbers_is_the_last_one() {
        let mut nodes = Nodes::default();
        let lines = Lines { line_start: &[0, 2], begin: &[0, i64::MAX - 1], duration: &[i64::MAX, 9], skip: None };
        nodes.add_lines(lines, Regions { line: &[0], begin: &[1], duration: &[i64::MIN] });
        assert_eq!((nodes.parent(1), nodes.parent(2)), (0, 0));
    }
}
