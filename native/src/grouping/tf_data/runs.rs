//! From a call of the program down: what every iterator did in it, and whether the program waited for that.

use super::calls::IteratorCalls;
use crate::kernels::nesting::NONE;

/// Calls deeper below a root do not count.
pub const MAX_DEPTH: u32 = 100;
/// Minimum visits per run, beyond the shared budget.
const LEAST_VISITS: usize = 1000;
/// Minimum number of iterators before runs are left out.
const LEAST_LIMIT: usize = 10_000;

/// The iterators of some runs: those of run r are `start[r]..start[r + 1]`, ascending by id.
#[derive(Debug, Default)]
pub struct Runs {
    pub start: Vec<i64>,
    pub iterator: Vec<u32>,
    pub begin: Vec<i64>,
    pub duration: Vec<i64>,
    pub own: Vec<i64>,
    pub calls: Vec<i64>,
    pub blocking: Vec<bool>,
    /// Per run, the number of iterators left out.
    pub left_out: Vec<i64>,
    /// Runs that were not followed to their end.
    pub cut: Vec<u32>,
}

impl Runs {
    /// Appends an iterator that is seen first at `begin`, and gives its place.
    fn open(&mut self, iterator: u32, begin: i64) -> usize {
        self.iterator.push(iterator);
        self.begin.push(begin);
        self.duration.push(0);
        self.own.push(0);
        self.calls.push(0);
        self.blocking.push(false);
        self.iterator.len() - 1
    }

    /// Closes the run whose iterators begin at `from`: sorts them by `rank`, and of very many keeps the `most` with the
    /// longest durations, among them the first one and the one that held the program up longest.
    fn close(&mut self, from: usize, most: usize, rank: &[u32]) {
        let mut order: Vec<usize> = (from..self.iterator.len()).collect();
        self.left_out.push(order.len().saturating_sub(most) as i64);
        if order.len() > most {
            let by_rank = |&at: &usize| std::cmp::Reverse(rank[self.iterator[at] as usize]);
            let blocking = order.iter().copied().filter(|&at| self.blocking[at]);
            let worst = blocking.max_by_key(|at| (self.own[*at], by_rank(at)));
            order.sort_unstable_by_key(|&at| {
                let kept = at == from || Some(at) == worst;
                (!kept, std::cmp::Reverse(self.duration[at]), rank[self.iterator[at] as usize])
            });
            order.truncate(most);
        }
        order.sort_unstable_by_key(|&at| rank[self.iterator[at] as usize]);
        fn apply<T: Copy>(column: &mut Vec<T>, from: usize, order: &[usize]) {
            let moved: Vec<T> = order.iter().map(|&at| column[at]).collect();
            column.truncate(from);
            column.extend(moved);
        }
        apply(&mut self.iterator, from, &order);
        apply(&mut self.begin, from, &order);
        apply(&mut self.duration, from, &order);
        apply(&mut self.own, from, &order);
        apply(&mut self.calls, from, &order);
        apply(&mut self.blocking, from, &order);
    }
}

/// The calls of one run, each once, in the order in which they are reached.
#[derive(Debug, Default)]
pub struct Calls {
    pub call: Vec<u32>,
    pub blocking: Vec<bool>,
    pub cut: bool,
}

impl IteratorCalls {
    fn overlap(&self, a: u32, b: u32) -> i64 {
        let begin = self.begin[a as usize].max(self.begin[b as usize]);
        self.end(a).min(self.end(b)).saturating_sub(begin).max(0)
    }

    /// Visits the calls below `root` and itself, callers first, with the time of their own and whether the caller waited
    /// for them. Gives up after `limit` calls (damaged profiles may link a few calls in very many ways); true: complete.
    fn walk(&self, root: u32, limit: &mut usize, mut visit: impl FnMut(u32, i64, bool)) -> bool {
        let mut stack: Vec<(u32, u32, bool)> = vec![(root, 0, true)];
        while let Some((call, depth, blocking)) = stack.pop() {
            if *limit == 0 {
                return false;
            }
            *limit -= 1;
            let mut own = self.duration[call as usize];
            let from = stack.len();
            for &child in self.children.of(call) {
                let overlap = self.overlap(call, child);
                own = own.saturating_sub(overlap);
                if depth < MAX_DEPTH && self.iterator[child as usize] != NONE {
                    stack.push((child, depth + 1, blocking && overlap > 0));
                }
            }
            // Each child costs something as well, so that the work is bounded and not only the visits.
            *limit = limit.saturating_sub(self.children.of(call).len());
            stack[from..].reverse();
            visit(call, own, blocking);
        }
        true
    }

    /// Adds up the calls of each run per iterator, until `least` runs are done and there are `rows` iterators in all, or
    /// many times more. A run has at most `most` iterators (2 at least).
    ///
    /// All `runs` are calls with an iterator.
    pub fn sum(&self, runs: &[u32], least: usize, rows: usize, most: usize) -> Runs {
        let mut out = Runs { start: vec![0], ..Runs::default() };
        let mut slot = vec![NONE; self.id.len()];
        let mut shared = 4 * self.event.len() + 1_000_000;
        for (number, &run) in runs.iter().enumerate() {
            let done = out.iterator.len();
            if done >= rows && (number >= least || done >= rows.saturating_mul(10).max(LEAST_LIMIT)) && number > 0 {
                break;
            }
            let from = out.iterator.len();
            let allowed = shared.max(LEAST_VISITS);
            let mut left = allowed;
            let complete = self.walk(run, &mut left, |call, own, blocking| {
                let iterator = self.iterator[call as usize];
                let place = &mut slot[iterator as usize];
                if *place == NONE {
                    *place = out.open(iterator, self.begin[call as usize]) as u32;
                }
                let at = *place as usize;
                out.duration[at] = out.duration[at].saturating_add(self.duration[call as usize]);
                out.own[at] = out.own[at].saturating_add(own);
                out.calls[at] += 1;
                out.blocking[at] |= blocking;
            });
            shared = shared.saturating_sub(allowed - left);
            if !complete {
                out.cut.push(number as u32);
            }
            out.iterator[from..].iter().for_each(|&iterator| slot[iterator as usize] = NONE);
            out.close(from, most.max(2), &self.rank);
            out.start.push(out.iterator.len() as i64);
        }
        out
    }

    /// The calls of one run; `root` is a call with an iterator.
    pub fn calls(&self, root: u32) -> Calls {
        let mut out = Calls::default();
        let mut place = vec![NONE; self.event.len()];
        let mut limit = 4 * self.event.len() + 1_000_000;
        let complete = self.walk(root, &mut limit, |call, _, blocking| {
            let place = &mut place[call as usize];
            if *place == NONE {
                *place = out.call.len() as u32;
                out.call.push(call);
                out.blocking.push(false);
            }
            out.blocking[*place as usize] |= blocking;
        });
        out.cut = !complete;
        out
    }
}
