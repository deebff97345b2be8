//! Any intervals through the kernels of the analyses: no panic, and what is a share of a time is not more than it.

use _native::decode::stats;
use _native::grouping::contexts::{Contexts, Side};
use _native::grouping::forest::Forest;
use _native::grouping::links;
use _native::grouping::nodes::{Lines, Regions};
use _native::grouping::tf_data::{self, IteratorCalls, Sparse};
use _native::json::text::integers;
use _native::kernels::core_ops::{ClockStats, OpLine, core_ops};
use _native::kernels::cover::{Spans, enclosing, overlapping};
use _native::kernels::expand::{Events, Source, expand};
use _native::kernels::replay::{self, binding_path};
use _native::kernels::step_work::{Runs, Sums};
use _native::kernels::sweep::contents;
use _native::kernels::{gather, offload, self_time, sets, shift, sweep, threads, xprof_order};

/// Mostly small numbers, sometimes extremes.
fn number(pair: &[u8]) -> i64 {
    match pair[1] >> 4 {
        15 => i64::MAX - i64::from(pair[0]),
        14 => i64::MIN + i64::from(pair[0]),
        13 => -i64::from(pair[0]),
        12 => i64::from(pair[0]) << 54,
        _ => i64::from(pair[0]) * 10,
    }
}

/// Small numbers, some of them negative.
fn rows_of(small: &[u32]) -> Vec<i64> {
    small.iter().map(|&row| i64::from(row) - 1).collect()
}

/// What lines contain, and the work of steps by op.
fn lines_and_steps(begin: &[i64], duration: &[i64], (since, until): (&[i64], &[i64]), small: &[u32], kinds: &[u8]) {
    let n = begin.len();
    let found = contents(&[0, (n / 3) as i64, n as i64], begin, duration, small);
    assert!(found.names.iter().all(|&names| names >= 0 && names <= n as i64));
    assert!(found.busy.iter().all(|&busy| busy >= 0));

    let end: Vec<i64> = begin.iter().zip(duration).map(|(b, d)| b.saturating_add(*d)).collect();
    let op: Vec<i32> = small.iter().map(|&op| op as i32).collect();
    let mut sums = Sums::new(3, n / 2);
    for steps in [(since, until), (&[0, 50][..], &[50, i64::MAX][..])] {
        let key_of_op = &[0, 1, 2, 1, 0];
        sums.add(&Runs { begin, end: &end, op: &op, work: kinds, kind: 1, key_of_op, steps });
    }
    assert!(sums.runs.iter().sum::<i64>() <= 2 * n as i64);
}

/// Contexts in stats, regions between events, and the calls of tf.data iterators.
fn links_and_calls(begin: &[i64], duration: &[i64], small: &[u32], kinds: &[u8], bits: &[u64]) {
    let n = begin.len();
    let mut start: Vec<u32> = small.iter().map(|&count| count * n as u32 / 4).collect();
    start.push(n as u32);
    start.sort_unstable();
    let stats = gather::Stats { start: &start, key: small, kind: kinds, value: bits };
    for side in links::contexts(stats, &[0, 1, 2, 3, 9]) {
        assert!(side.event.iter().all(|&event| (event as usize) < n) && side.event.is_sorted_by(|a, b| a < b));
        assert_eq!((side.kind.len(), side.id.len()), (side.event.len(), side.event.len()));
    }
    let line_start = [0, (n / 2) as i64, n as i64];
    let found =
        links::regions(&line_start, small, begin, &[0, links::START, links::STOP, links::START], stats, &[3, 3, 9, 3]);
    assert!(found.line.is_sorted() && found.begin.len() == found.line.len());

    let role: Vec<u8> = kinds.iter().take(5).copied().collect();
    let event: Vec<i64> = (0..n as i64).filter(|&event| small[event as usize] > 1).collect();
    let value: Vec<i64> = event.iter().map(|&event| i64::from(small[event as usize] % 3)).collect();
    let (id, odd) =
        (Sparse { event: &event, value: &value }, Sparse { event: &event[event.len() / 2..], value: begin });
    let skip: Vec<bool> = kinds.iter().map(|&kind| kind == 7).collect();
    let events = tf_data::Events { line_start: &line_start, begin, duration, metadata: small, role: &role };
    let calls = IteratorCalls::new(events, id, odd, id, Some(&skip));
    let roots: Vec<u32> = calls.roots.iter().copied().filter(|&root| calls.id_of_call(root).is_some()).collect();
    let runs = calls.sum(&roots, 2, 100, 5);
    assert!(runs.start.is_sorted() && runs.start.last() == Some(&(runs.iterator.len() as i64)));
    for &root in roots.iter().take(3) {
        let found = calls.calls(root);
        assert!(found.call.iter().all(|&call| (call as usize) < calls.event.len()));
    }
}

/// A replay in which each node but the first two follows an earlier one, and the chain that determines its last node.
fn replayed(delay: &[i64], duration: &[i64], lag: &[i64], small: &[u32], flags: &[bool]) {
    let n = duration.len();
    let edges = n.saturating_sub(2);
    let start: Vec<i64> = (0..=n as i64).map(|node| (node - 2).clamp(0, edges as i64)).collect();
    let source: Vec<u32> = (0..edges as u32).map(|edge| edge.saturating_sub(small[edge as usize])).collect();
    let graph = replay::Graph { start: &start, source: &source, lag: &lag[..edges] };
    let found = graph.replay(delay, duration, Some(&flags[..edges])).expect("sources come first");
    assert!(found.binding.iter().all(|&edge| edge < edges as i64));
    if n > 0 {
        let path = binding_path(&source, &found.binding, n - 1).expect("sources come first");
        assert!(path.is_sorted_by(|a, b| a > b));
    }
    // Sources in any order, of any nodes.
    let graph = replay::Graph { start: &start, source: &small[..edges], lag: &lag[..edges] };
    drop(graph.replay(delay, duration, None));
    drop(binding_path(small, lag, n / 2));
}

pub fn check(data: &[u8]) {
    let data = &data[..data.len().min(400)];
    let numbers: Vec<i64> = data.chunks_exact(2).map(number).collect();
    let n = numbers.len() / 4;
    let (begin, duration) = (&numbers[..n], &numbers[n..2 * n]);
    let (other, length) = (&numbers[2 * n..3 * n], &numbers[3 * n..4 * n]);
    let end: Vec<i64> = begin.iter().zip(duration).map(|(b, d)| b.saturating_add(*d)).collect();
    let small: Vec<u32> = data.iter().take(n).map(|&byte| u32::from(byte) % 5).collect();
    let flags: Vec<bool> = data.iter().take(n).map(|byte| byte & 8 != 0).collect();
    let kinds: Vec<u8> = data.iter().take(n).map(|byte| byte >> 5).collect();
    let bits: Vec<u64> = numbers[..n].iter().map(|&value| value as u64).collect();
    let half = (n / 2) as i64;

    let mut own = vec![0; n];
    self_time::self_times(begin, duration, &mut own);
    self_time::activity_self_times(begin, &end, &mut own);
    self_time::totals(&small, duration, &own, begin, 4);
    assert!(sweep::covered(begin, duration) >= 0);
    let (mut all, mut inside) = (vec![0; 256], vec![0; 256]);
    let window = (numbers.first().copied().unwrap_or(0), numbers.last().copied().unwrap_or(0));
    let mut out = sweep::ByPriority { all: &mut all, inside: &mut inside, present: &mut [false; 256] };
    sweep::own_by_priority(&sweep::Group { begin, end: &end, priority: &kinds, window }, &mut out);
    let spans = sweep::Spans { group: &rows_of(&small), begin, end: &end, priority: &kinds };
    sweep::by_priority(spans, &[0, 2], &[window, (0, 9)], 3, flags.first() == Some(&true));

    let (reference, events) = (Spans { begin, duration }, Spans { begin: other, duration: length });
    let mut found = vec![0; n];
    overlapping(reference, events, &mut found);
    assert!(found.iter().all(|&row| row == u32::MAX || (row as usize) < n));
    enclosing(reference, events, &mut found);
    assert!(found.iter().all(|&row| row == u32::MAX || (row as usize) < n));

    let marked = (begin, &end[..], Some(&flags[..]));
    let set = sets::union(&[marked], false);
    sets::union(&[marked, (other, length, None)], true);
    let (one, two) = ((&set.0[..], &set.1[..]), (other, length));
    for found in [sets::intersect(one, two), sets::subtract(one, two), sets::subtract(two, one)] {
        assert!(found.0.iter().zip(&found.1).all(|(from, to)| from < to) && found.0.is_sorted());
    }
    assert_eq!(sets::covered_within(one, other, length).len(), n);
    let steps = (begin, &end[..]);
    assert!(shift::step_shift(steps, two).unsigned_abs() <= n as u64);
    assert_eq!(shift::step_shift(one, one), 0);
    let (order, start) = threads::levels(begin, &end, 3);
    assert!(order.len() <= n && start.len() <= 4 && start.last() == Some(&(order.len() as i64)));
    let (opened, closed) = threads::pair_in_order(&rows_of(&small), &flags);
    assert!(opened.iter().zip(&closed).all(|(from, to)| from < to));
    let mut text = Vec::new();
    integers(&numbers[..n / 2 * 2], &[n / 2, 2], &mut text);
    lines_and_steps(begin, duration, (other, length), &small, &kinds);
    replayed(begin, duration, other, &small, &flags);
    links_and_calls(begin, duration, &small, &kinds, &bits);

    let pairs = offload::pair(begin, duration, &small, &flags, 7);
    assert!(pairs.iter().all(|pair| pair.row < 7 && (pair.done as usize) < n));
    let wanted: Vec<i64> = (0..n as i64).step_by(2).collect();
    assert_eq!(xprof_order::walk_order_of(begin, duration, &wanted).len(), wanted.len());
    gather::lookup(begin, duration);
    gather::merge(begin, duration, flags.first() == Some(&true));
    gather::mix(&[begin, duration, &[3]]);

    let mut start = vec![0, half as u32, n as u32];
    drop((stats::first(&start, &small, 1), stats::owners(&start, &small, 1)));
    drop(stats::values(&start, &small, &kinds, &bits, 1, 0x1c));
    gather::gather(gather::Stats { start: &start, key: &small, kind: &kinds, value: &bits }, &[0, 255, 1, 9], 2);
    start.resize(n + 1, n as u32);
    start.sort_unstable();
    let clock = ClockStats { start: &start, key: &small, kind: &kinds, value: &bits, keys: (1, 2) };
    drop(core_ops(&OpLine { begin, duration, row: &small, rows: 5, duty: &kinds }, &clock));

    let rows: Vec<i32> = small.iter().map(|&row| row as i32 - 1).collect();
    let source = || Source { row: &rows, level_start: &[0, 1, 3, 3, 5], code: &[0, 1, 2, 1, 1], dependents: &[1] };
    for stream in [false, true] {
        let events = Events { begin, duration, group: other, scope: if stream { &[] } else { length }, stream };
        for line in expand(&events, &[source(), source()]) {
            assert!(line.source.iter().all(|&row| (row as usize) < n));
        }
    }

    let mut forest = Forest::default();
    let lines = Lines { line_start: &[0, half, n as i64], begin, duration, skip: Some(&flags) };
    let region_line: Vec<i64> = (0..n).map(|i| i64::from(i > n / 2)).collect();
    forest.add_lines(lines, Regions { line: &region_line, begin: other, duration });
    forest.add_points(3);
    let nodes = forest.nodes() as u32;
    let node = |value: u32| (value * 7) % nodes;
    let links: Vec<(u32, u32)> = small.windows(2).map(|pair| (node(pair[0]), node(pair[1] + 3))).collect();
    forest.link(&links);
    let (at, keys): (Vec<u32>, Vec<u64>) = small.iter().zip(&bits).map(|(&at, &key)| (node(at), key % 3)).unzip();
    let (producers, consumers) =
        (Side { node: &at[..n / 2], key: &keys[..n / 2] }, Side { node: &at[n / 2..], key: &keys[n / 2..] });
    forest.connect(Contexts::new(forest.nodes(), producers, consumers));
    let roots: Vec<u32> = small.iter().map(|&at| node(at)).collect();
    let grouping = forest.group(&roots, None);
    assert_eq!(grouping.group.len(), nodes as usize);
    forest.count_cores(&[(0, nodes / 2), (nodes / 2, nodes)], 0, grouping.group);
    forest.nearest(&roots, &roots[..n / 3]);
}
