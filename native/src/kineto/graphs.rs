//! Graphs of CUDA and HIP: the ops behind the work of a replay, from the launches that were captured into the graph.
//!
//! While a thread captures, its launches run nothing; they are the nodes of a graph, in order. A replay is the work with
//! the correlation id of one call that launches a graph. It is that of a capture if kinds and kernels agree, as far as the
//! launches tell their kernels. Where several captures fit, they are taken in turn, as layers with a graph each are
//! replayed; and unless their grids agree as well, the arguments of their ops are not taken for those of the replay.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use ahash::AHashMap;

use super::event::{Keys, Kind, Value};
use super::names::Texts;
use super::owners::{Owner, Owners};
use super::trace::{Place, Record, Trace, Track};

/// A launch that was captured; `kernel` and `grid` are 0 if the call does not tell them.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    kind: Kind,
    kernel: u32,
    grid: u32,
    owner: Owner,
}

/// What a call means for graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Begin,
    End,
    /// Launches a graph.
    Replay,
    Launch(Kind),
    Other,
}

impl Call {
    pub fn of(name: &str) -> Call {
        match name {
            _ if name.contains("StreamBeginCapture") => Call::Begin,
            _ if name.contains("StreamEndCapture") => Call::End,
            _ if name.contains("GraphLaunch") => Call::Replay,
            _ if name.contains("HostFunc") => Call::Other,
            _ if name.contains("Launch") => Call::Launch(Kind::Kernel),
            _ if name.contains("Memcpy") => Call::Launch(Kind::Memcpy),
            _ if name.contains("Memset") => Call::Launch(Kind::Memset),
            _ => Call::Other,
        }
    }
}

impl Node {
    /// The launch `record` of the thread `track`.
    pub fn of(keys: &Keys, track: &Track, record: &Record, kind: Kind, owner: Owner) -> Node {
        let text = |key| match track.arg(record, key) {
            Some(Value::Text(text)) => text,
            _ => 0,
        };
        Node { kind, kernel: text(keys.kernel), grid: text(keys.grid), owner }
    }
}

/// What calls mean for graphs, by the number of their name: programs make few different calls, very often.
#[derive(Debug, Default)]
pub struct Calls(AHashMap<u32, Call>);

impl Calls {
    pub fn of(&mut self, texts: &Texts, name: u32) -> Call {
        *self.0.entry(name).or_insert_with(|| Call::of(texts.get(name)))
    }
}

/// Work of a replay: when it begins, its stream, and its number there.
type Work = (i64, Place, u32);

/// At most so many nodes are compared where no capture has the same nodes as a replay.
const MOST_COMPARED: usize = 20_000_000;

/// How much a replay and a capture have in common, most first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Level {
    Grids,
    Kernels,
    /// The same kernels in another order, as work on several streams has.
    Unordered,
    /// Captures that do not tell their kernels.
    Kinds,
}

const LEVELS: [Level; 4] = [Level::Grids, Level::Kernels, Level::Unordered, Level::Kinds];

/// What is compared of a node, or of work: its kind, kernel and grid.
type Shape = (Kind, u32, u32);

fn signature(shapes: &[Shape], level: Level) -> u64 {
    let one = |shape: &Shape| {
        let mut hasher = DefaultHasher::new();
        match level {
            Level::Grids => shape.hash(&mut hasher),
            Level::Kernels | Level::Unordered => (shape.0, shape.1).hash(&mut hasher),
            Level::Kinds => shape.0.hash(&mut hasher),
        }
        hasher.finish()
    };
    if level == Level::Unordered {
        return shapes.iter().map(one).fold(shapes.len() as u64, u64::wrapping_add);
    }
    let mut hasher = DefaultHasher::new();
    shapes.iter().map(one).for_each(|hash| hasher.write_u64(hash));
    hasher.finish()
}

/// Finds what the work of replays belongs to. Work of replays that no capture fits belongs to its graph.
pub fn attribute(trace: &mut Trace, owners: &mut Owners, calls: &mut Calls, captures: &[Vec<Node>]) {
    let called = trace.threads.values().flat_map(|track| &track.records).filter(|record| record.kind == Kind::Call);
    let mut replays: Vec<(i64, i64, u32)> = called
        .filter(|record| record.link >= 0 && calls.of(&trace.texts, record.name) == Call::Replay)
        .map(|record| (record.begin, record.link, record.name))
        .collect();
    if replays.is_empty() {
        return;
    }
    replays.sort_unstable();
    let mut work: HashMap<i64, Vec<Work>> = replays.iter().map(|replay| (replay.1, Vec::new())).collect();
    for (&place, track) in &trace.streams {
        for (number, record) in track.records.iter().enumerate() {
            if let Some(list) = work.get_mut(&record.link) {
                list.push((record.begin, place, number as u32));
            }
        }
    }
    let mut matcher = Matcher::of(captures);
    for (_, link, call) in replays {
        let Some(mut list) = work.remove(&link).filter(|list| !list.is_empty()) else { continue };
        list.sort_unstable();
        let Some(launch) = owners.of_launch(link) else { continue };
        let shapes: Vec<Shape> = list.iter().map(|one| shape(trace, one)).collect();
        match matcher.find(captures, &shapes) {
            Some((capture, order, same)) => {
                for (one, node) in list.iter().zip(order) {
                    let captured = captures[capture][node].owner;
                    let op = captured.op.filter(|_| same);
                    owners.replayed.insert((one.1, one.2), Owner { step: launch.step, replay: link, op, ..captured });
                }
            }
            None => {
                let name = name(trace, call, &list);
                let path = owners.within(launch.path, call, trace.texts.number(&name));
                for one in list {
                    owners.replayed.insert((one.1, one.2), Owner { path, replay: link, ..launch });
                }
            }
        }
    }
}

/// Copies and fills may be kernels of the runtime.
fn shape(trace: &Trace, work: &Work) -> Shape {
    let track = &trace.streams[&work.1];
    let record = &track.records[work.2 as usize];
    let name = trace.texts.get(record.name);
    match record.kind {
        Kind::Kernel if name.contains("fillBuffer") => (Kind::Memset, 0, 0),
        Kind::Kernel if name.contains("copyBuffer") => (Kind::Memcpy, 0, 0),
        Kind::Kernel => match track.arg(record, trace.keys.grid) {
            Some(Value::Text(grid)) => (Kind::Kernel, record.name, grid),
            _ => (Kind::Kernel, record.name, 0),
        },
        kind => (kind, 0, 0),
    }
}

/// `CUDA graph 5`, or by its size if the work does not tell the graph.
fn name(trace: &Trace, call: u32, list: &[Work]) -> String {
    let vendor = if trace.texts.get(call).starts_with("hip") { "HIP" } else { "CUDA" };
    let (_, place, number) = list[0];
    let track = &trace.streams[&place];
    match track.integer(&track.records[number as usize], trace.keys.graph) {
        Some(graph) => format!("{vendor} graph {graph}"),
        None => format!("{vendor} graph of {} nodes", list.len()),
    }
}

/// The capture of a replay, its node for each work, and whether the ops' arguments are those of the replay.
type Found = (usize, Vec<usize>, bool);

struct Matcher {
    shapes: Vec<Vec<Shape>>,
    /// Captures by level and signature, in order.
    known: HashMap<(Level, u64), Vec<usize>>,
    last: usize,
    compared: usize,
}

impl Matcher {
    fn of(captures: &[Vec<Node>]) -> Matcher {
        let shape = |node: &Node| match node.kind {
            Kind::Kernel => (Kind::Kernel, node.kernel, node.grid),
            kind => (kind, 0, 0),
        };
        let shapes: Vec<Vec<Shape>> = captures.iter().map(|nodes| nodes.iter().map(shape).collect()).collect();
        let mut known: HashMap<(Level, u64), Vec<usize>> = HashMap::new();
        for (number, shapes) in shapes.iter().enumerate() {
            let named = shapes.iter().any(|shape| shape.1 != 0);
            for level in LEVELS.into_iter().filter(|level| named != (*level == Level::Kinds)) {
                known.entry((level, signature(shapes, level))).or_default().push(number);
            }
        }
        Matcher { shapes, known, last: usize::MAX, compared: 0 }
    }

    fn find(&mut self, captures: &[Vec<Node>], work: &[Shape]) -> Option<Found> {
        for level in LEVELS {
            let Some(fitting) = self.known.get(&(level, signature(work, level))) else { continue };
            let next = fitting.iter().find(|number| self.last == usize::MAX || **number > self.last);
            let capture = *next.or(fitting.first())?;
            self.last = capture;
            let same = level == Level::Grids || fitting.len() == 1;
            let order = match level {
                Level::Unordered => by_kernel(&self.shapes[capture], work)?,
                _ => (0..captures[capture].len()).collect(),
            };
            return Some((capture, order, same));
        }
        self.find_within(work)
    }

    /// A capture with more nodes, of which the profiler lost the work.
    fn find_within(&mut self, work: &[Shape]) -> Option<Found> {
        for (capture, shapes) in self.shapes.iter().enumerate() {
            if shapes.len() < work.len() || self.compared > MOST_COMPARED || shapes.iter().all(|shape| shape.1 == 0) {
                continue;
            }
            self.compared += shapes.len();
            let mut nodes = shapes.iter().enumerate();
            let next = |one: &Shape| Some(nodes.find(|(_, node)| (node.0, node.1) == (one.0, one.1))?.0);
            if let Some(order) = work.iter().map(next).collect() {
                self.last = capture;
                return Some((capture, order, false));
            }
        }
        None
    }
}

/// The nodes of work in another order: the first with a kernel is the first node with it, and so on.
fn by_kernel(nodes: &[Shape], work: &[Shape]) -> Option<Vec<usize>> {
    let mut with: HashMap<(Kind, u32), Vec<usize>> = HashMap::new();
    for (number, node) in nodes.iter().enumerate().rev() {
        with.entry((node.0, node.1)).or_default().push(number);
    }
    work.iter().map(|one| with.get_mut(&(one.0, one.1))?.pop()).collect()
}

/// Whether a trace has calls that capture.
pub fn captures(texts: &Texts, tracks: &std::collections::BTreeMap<Place, Track>) -> bool {
    let mut records = tracks.values().flat_map(|track| &track.records);
    records.any(|one| one.kind == Kind::Call && matches!(Call::of(texts.get(one.name)), Call::Begin))
}
