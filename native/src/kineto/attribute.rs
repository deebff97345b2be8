//! Which op, module and lines of Python a launch belongs to, and which step.
//!
//! An event belongs to the innermost op that encloses it on its thread. Modules and Python functions are events of the
//! same thread; ops of the backward pass have those of the forward op with the same sequence number.

use ahash::AHashMap;

use super::event::{Keys, Kind, Value};
use super::frames;
use super::graphs::{self, Call, Calls, Node};
use super::names::Texts;
use super::owners::{Owner, Owners};
use super::steps::Steps;
use super::trace::{NONE, Record, Trace, Track};

const OPTIMIZER: &str = "Optimizer.";
const MODULE: &str = "nn.Module: ";
const BACKWARD: &str = "autograd::engine::evaluate_function: ";

/// How a thread is read: whether work is also found by external ids, and whether the thread is not the run's.
#[derive(Clone, Copy)]
struct How {
    by_external: bool,
    captured: bool,
}

/// An enclosing event on the way down a thread.
struct Open {
    end: i64,
    module: u32,
    stack: u32,
    backward: u32,
    op: u32,
}

/// Sorts the records of all threads and streams and finds what each belongs to.
pub fn attribute(trace: &mut Trace) -> Owners {
    frames::place(trace);
    trace.run.threads.values_mut().chain(&mut trace.captured).for_each(Track::sort);
    trace.streams.values_mut().for_each(Track::sort);
    let mut sweep = Sweep::default();
    sweep.owners.steps = Steps::of(trace);
    sweep.all(trace);
    let Sweep { mut owners, captures, mut calls, .. } = sweep;
    graphs::attribute(trace, &mut owners, &mut calls, &captures);
    owners
}

/// The way down all threads, and what those of the forward pass leave for the others.
#[derive(Default)]
struct Sweep {
    owners: Owners,
    /// Module and stack of the ops of the forward pass.
    by_sequence: AHashMap<i64, (u32, u32)>,
    /// The launches of each graph that a thread captured, in order.
    captures: Vec<Vec<Node>>,
    calls: Calls,
}

impl Sweep {
    /// Threads of the backward pass come last: they need what those of the forward pass left.
    fn all(&mut self, trace: &mut Trace) {
        let by_external = needs_externals(trace);
        let mut order: Vec<(usize, usize)> = Vec::new();
        for (number, track) in trace.all_threads().enumerate() {
            order.push((track.records.iter().filter(|one| is_backward(&trace.keys, track, one)).count(), number));
        }
        order.sort_unstable();
        self.owners.of_records = vec![Vec::new(); order.len()];
        let own = trace.threads.len();
        let (texts, keys, tracks) = trace.parts();
        for (_, number) in order {
            let captured = number >= own;
            let how = How { by_external: by_external && !captured, captured };
            self.thread(texts, keys, tracks[number], number as u32, how);
        }
    }

    fn thread(&mut self, texts: &mut Texts, keys: &Keys, track: &Track, thread: u32, how: How) {
        let mut open: Vec<Open> = Vec::new();
        let mut paths = vec![NONE; track.records.len()];
        let mut capture: Option<Vec<Node>> = None;
        for (number, record) in track.records.iter().enumerate() {
            while open.last().is_some_and(|enclosing| enclosing.end <= record.begin) {
                open.pop();
            }
            let (module, stack, backward, op) = match open.last() {
                Some(one) => (one.module, one.stack, one.backward, one.op),
                None => (NONE, NONE, 0, NONE),
            };
            let mut inner = Open { end: record.end(), module, stack, backward, op };
            match record.kind {
                Kind::Frame | Kind::Annotation => self.enter(texts, record, &mut inner),
                Kind::Op => {
                    self.enter_op(texts, keys, track, record, &mut inner);
                    inner.op = number as u32;
                    let name = plain_name(texts, record.name);
                    let middle = if inner.backward == name { 0 } else { inner.backward };
                    paths[number] = self.owners.path((inner.module, middle, name));
                    if how.by_external
                        && let Some(external) = track.integer(record, keys.external)
                    {
                        let step = self.owners.steps.at(track.rank, record.begin);
                        let owner = Owner {
                            path: paths[number],
                            stack: inner.stack,
                            step,
                            op: Some((thread, number as u32)),
                            replay: 0,
                        };
                        self.owners.externals.insert(external, owner);
                    }
                }
                Kind::Call if record.link >= 0 => {
                    let path =
                        if op == NONE { self.owners.path((module, backward, record.name)) } else { paths[op as usize] };
                    let owner = Owner {
                        path,
                        stack,
                        step: self.owners.steps.at(track.rank, record.begin),
                        op: (op != NONE).then_some((thread, op)),
                        replay: 0,
                    };
                    if !how.captured {
                        self.owners.launches.insert(record.link, owner);
                    }
                    match (self.calls.of(texts, record.name), &mut capture) {
                        (Call::Begin, _) => capture = Some(Vec::new()),
                        (Call::End, _) => self.captures.extend(capture.take()),
                        (Call::Launch(kind), Some(nodes)) => nodes.push(Node::of(keys, track, record, kind, owner)),
                        _ => {}
                    }
                }
                Kind::Memory if op != NONE => paths[number] = paths[op as usize],
                _ => {}
            }
            if record.duration > 0 {
                open.push(inner);
            }
        }
        self.owners.of_records[thread as usize] = paths;
    }

    /// A Python function, module or marked range.
    fn enter(&mut self, texts: &mut Texts, record: &Record, inner: &mut Open) {
        let name = texts.get(record.name);
        if record.kind == Kind::Annotation {
            if name.starts_with(OPTIMIZER) {
                inner.module = self.owners.modules.child(inner.module, record.name);
            }
        } else if let Some(module) = name.strip_prefix(MODULE) {
            let module = module.to_string();
            inner.module = self.owners.modules.child(inner.module, texts.number(&module));
        } else {
            inner.stack = self.owners.stacks.child(inner.stack, record.name);
        }
    }

    /// An op: of the forward pass it leaves its place for the backward pass, which takes it.
    fn enter_op(&mut self, texts: &mut Texts, keys: &Keys, track: &Track, record: &Record, inner: &mut Open) {
        if record.link < 0 {
            return;
        }
        if !matches!(track.arg(record, keys.forward_thread), Some(Value::Int(1..))) {
            self.by_sequence.entry(record.link).or_insert((inner.module, inner.stack));
            return;
        }
        inner.backward = plain_name(texts, record.name);
        if let Some(&(module, stack)) = self.by_sequence.get(&record.link) {
            (inner.module, inner.stack) = (module, stack);
        }
    }
}

/// The name of an op without what the engine of the backward pass puts before it.
fn plain_name(texts: &mut Texts, name: u32) -> u32 {
    match texts.get(name).strip_prefix(BACKWARD).map(str::to_string) {
        Some(plain) => texts.number(&plain),
        None => name,
    }
}

fn is_backward(keys: &Keys, track: &Track, record: &Record) -> bool {
    record.kind == Kind::Op && matches!(track.arg(record, keys.forward_thread), Some(Value::Int(1..)))
}

/// Whether some work on a stream has no call with its correlation id.
fn needs_externals(trace: &Trace) -> bool {
    let calls = trace.threads.values().flat_map(|track| &track.records).filter(|record| record.kind == Kind::Call);
    let mut called: Vec<i64> = calls.map(|record| record.link).collect();
    called.sort_unstable();
    let mut work = trace.streams.values().flat_map(|track| &track.records);
    work.any(|record| called.binary_search(&record.link).is_err())
}
