//! Planes of devices: kernels and copies on their streams, with the ops that launched them, and what is noted beside streams.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use ahash::AHashMap;

use super::costs::{Arguments, Cost, cost};
use super::event::{self, Kind, Value, source_of};
use super::hardware::{facts, vendor_of_calls};
use super::names::{Texts, begin_of};
use super::owners::{Owner, Owners};
use super::plane::{Line, Out, Plane, Start, tell};
use super::trace::{Document, NONE, Place, Properties, Record, Trace, Track};
use crate::wire::tags::xplane::XEvent;

/// Arguments of a kernel that its `kernel_details` say, in this order, and how they are called there.
const DETAILS: [(&str, &str); 5] = [
    ("registers per thread", "regs"),
    ("shared memory", "static_shared"),
    ("grid", "grid"),
    ("block", "block"),
    ("est. achieved occupancy %", "occ_pct"),
];
/// Further arguments that other stats replace.
const REPLACED: [&str; 4] = ["correlation", "device", "stream", "External id"];
/// Arguments of an op that its kernels have as well.
const INHERITED: [&str; 11] = [
    "Input Dims",
    "Input type",
    "Concrete Inputs",
    "Collective name",
    "In msg nelems",
    "Out msg nelems",
    "Group size",
    "dtype",
    "Process Group Name",
    "Process Group Description",
    "Process Group Ranks",
];
/// Frames of Python that are not where a program says what to do.
const LIBRARY: [&str; 3] = ["torch/", "<", "threading.py"];
const MOST_FRAMES: usize = 64;
/// Longest text of a call stack, in bytes.
const MOST_STACK: usize = 4 << 10;

/// Numbers of the texts that planes of devices need.
struct Keys {
    details: [u32; DETAILS.len()],
    replaced: [u32; REPLACED.len()],
    inherited: [u32; INHERITED.len()],
    correlation: u32,
    kernel_details: u32,
    memcpy_details: u32,
    memset_details: u32,
    tf_op: u32,
    group: u32,
    source: u32,
    source_stack: u32,
    bytes: u32,
    flops: u32,
    bytes_accessed: u32,
    op_begins: u32,
}

impl Keys {
    fn of(texts: &mut Texts) -> Keys {
        let mut key = |name: &str| texts.number(name);
        Keys {
            details: DETAILS.map(|(name, _)| key(name)),
            replaced: REPLACED.map(&mut key),
            inherited: INHERITED.map(&mut key),
            correlation: key("correlation_id"),
            kernel_details: key("kernel_details"),
            memcpy_details: key("memcpy_details"),
            memset_details: key("memset_details"),
            tf_op: key("tf_op"),
            group: key("group_id"),
            source: key("source"),
            source_stack: key("source_stack"),
            bytes: key("bytes"),
            flops: key("flops"),
            bytes_accessed: key("bytes_accessed"),
            op_begins: key("op_begins"),
        }
    }
}

/// A run of an op: its thread, record, and the replay of the graph that it was captured into (0 for none).
type Run = (u32, u32, i64);

/// What a run of an op launched: the time of all kernels, and what began first, with its stream and number there.
struct Launched {
    kernel_ps: i64,
    begin: i64,
    first: (Place, u32),
}

/// Texts that are made of paths and stacks, each once.
struct Made<'a> {
    owners: &'a Owners,
    /// The threads of the run, then those that captured graphs, as owners count them.
    threads: Vec<&'a Track>,
    paths: Vec<u32>,
    stacks: AHashMap<u32, (u32, u32)>,
    launched: AHashMap<Run, Launched>,
    /// Costs by name and arguments of an op.
    costs: AHashMap<[u32; 4], Option<Cost>>,
}

impl Made<'_> {
    fn path(&mut self, texts: &mut Texts, path: u32) -> u32 {
        let known = &mut self.paths[path as usize];
        if *known == NONE {
            *known = texts.number(&self.owners.path_text(texts, path));
        }
        *known
    }

    /// Numbers of the innermost line outside of PyTorch (0 for none), and of all lines, innermost first.
    fn stack(&mut self, texts: &mut Texts, stack: u32) -> (u32, u32) {
        if let Some(&known) = self.stacks.get(&stack) {
            return known;
        }
        let frames: Vec<String> =
            self.owners.stacks.up(stack).take(MOST_FRAMES).map(|one| texts.get(one).into()).collect();
        let own = frames.iter().find(|frame| !LIBRARY.iter().any(|begin| frame.starts_with(begin)));
        let source =
            own.and_then(|frame| source_of(frame)).map_or(0, |(file, line, _)| texts.number(&format!("{file}:{line}")));
        let lines: Vec<String> = frames
            .iter()
            .filter_map(|frame| source_of(frame))
            .map(|(file, line, function)| format!("{file}:{line} ({function})"))
            .collect();
        let lines = lines.join("\n");
        let made = (source, texts.number(begin_of(&lines, MOST_STACK)));
        self.stacks.insert(stack, made);
        made
    }

    /// Costs of one run of an op.
    fn cost(&mut self, texts: &Texts, keys: &Keys, track: &Track, op: &Record) -> Option<Cost> {
        let [shapes, types, values] = [0, 1, 2].map(|i| match track.arg(op, keys.inherited[i]) {
            Some(Value::Text(text)) => text,
            _ => 0,
        });
        *self.costs.entry([op.name, shapes, types, values]).or_insert_with(|| {
            let arguments = Arguments { shapes: texts.get(shapes), types: texts.get(types), values: texts.get(values) };
            cost(texts.get(op.name), &arguments)
        })
    }
}

/// The planes of devices with work on their streams.
pub fn planes(trace: &mut Trace, owners: &Owners, start: Start, (out, times): Out) {
    let keys = Keys::of(&mut trace.texts);
    let streams = std::mem::take(&mut trace.streams);
    let devices: BTreeSet<i64> = streams.keys().map(|place| place.0).collect();
    let own = devices.into_iter().filter_map(|device| Some((device, properties(trace, device)?.clone())));
    let described: BTreeMap<i64, Properties> = own.collect();
    let named = trace.places.lines(streams.keys());
    let vendor = vendor_of_calls(&trace.texts, trace.threads.values());
    let launched = launched(trace.keys.external, &streams, owners);
    let (texts, own, threads) = trace.parts();
    let (paths, stacks, costs) = (vec![NONE; owners.paths.len()], Default::default(), Default::default());
    let mut made = Made { owners, threads, paths, stacks, launched, costs };
    let mut streams = streams.into_iter().peekable();
    while let Some(&((device, _), _)) = streams.peek() {
        let plane_name = format!("/device:GPU:{device}");
        let mut plane = Plane::new(device, &plane_name);
        facts(&mut plane, texts, described.get(&device), vendor);
        while let Some((place, track)) = streams.next_if(|((own, _), _)| *own == device) {
            let (id, stream) = named.get(&place.1).cloned().unwrap_or_else(|| (place.1, format!("#{}", place.1)));
            let name = format!("Stream {stream}({})", contents(texts, &track));
            tell(times, &plane_name, &name, &track);
            let mut line = Line::new(id, &name, start.timestamp_ns, start.base);
            let mut writer = Writer { plane: &mut plane, line: &mut line, keys: &keys, own, place, track: &track };
            for number in 0..track.records.len() {
                writer.work(texts, &mut made, number);
            }
            plane.line(line.bytes());
        }
        plane.finish(texts, out);
    }
}

/// The properties of a device. AMD's runtime also numbers devices otherwise than it lists them; then all are alike or
/// nothing is known.
fn properties(document: &Document, device: i64) -> Option<&Properties> {
    let devices = &document.devices;
    let device = document.renumbered.get(&device).map_or(device, |own| own.1);
    let kind = |list: &Properties| list.iter().find(|(key, _)| key == "name").map(|(_, name)| name.clone());
    let first = || devices.values().next().filter(|first| devices.values().all(|other| kind(other) == kind(first)));
    devices.get(&device).or_else(first)
}

/// What each run of an op launched.
fn launched(external: u32, streams: &BTreeMap<Place, Track>, owners: &Owners) -> AHashMap<Run, Launched> {
    let mut launched: AHashMap<Run, Launched> = AHashMap::new();
    for (&place, track) in streams {
        for (number, record) in track.records.iter().enumerate() {
            let number = number as u32;
            let owner = owners.of_work(place, number, record, track.integer(record, external));
            let Some(run) = owner.and_then(run) else { continue };
            let kernel_ps = if record.kind == Kind::Kernel { record.duration } else { 0 };
            let one = Launched { kernel_ps: 0, begin: record.begin, first: (place, number) };
            let known = launched.entry(run).or_insert(one);
            known.kernel_ps = known.kernel_ps.saturating_add(kernel_ps);
            if record.begin < known.begin {
                (known.begin, known.first) = (record.begin, (place, number));
            }
        }
    }
    launched
}

fn run(owner: &Owner) -> Option<Run> {
    owner.op.map(|(thread, op)| (thread, op, owner.replay))
}

/// What runs on a stream: `Compute,MemcpyD2H`.
fn contents(texts: &Texts, track: &Track) -> String {
    let mut found: Vec<&str> = Vec::new();
    for record in &track.records {
        let one = match record.kind {
            Kind::Kernel => "Compute",
            Kind::Memset => "Memset",
            _ => direction(texts.get(record.name)).0,
        };
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found.sort_unstable();
    found.join(",")
}

/// Kind of a copy, and the memories it is between, of `Memcpy HtoD (Pinned -> Device)`.
fn direction(name: &str) -> (&'static str, Option<(String, String)>) {
    let kinds = [
        ("HtoD", "MemcpyH2D"),
        ("DtoH", "MemcpyD2H"),
        ("DtoD", "MemcpyD2D"),
        ("PtoP", "MemcpyP2P"),
        ("HtoH", "MemcpyH2H"),
        ("CopyHostToDevice", "MemcpyH2D"),
        ("CopyDeviceToHost", "MemcpyD2H"),
        ("CopyDeviceToDevice", "MemcpyD2D"),
    ];
    let kind = kinds.iter().find(|(short, _)| name.contains(short)).map_or("MemcpyOther", |(_, kind)| kind);
    let between = name.split_once('(').and_then(|(_, rest)| rest.trim_end_matches(')').split_once(" -> "));
    (kind, between.map(|(from, to)| (from.to_lowercase(), to.to_lowercase())))
}

/// Writes the kernels, copies and fills of a stream.
struct Writer<'a> {
    plane: &'a mut Plane,
    line: &'a mut Line,
    keys: &'a Keys,
    own: &'a event::Keys,
    place: Place,
    track: &'a Track,
}

impl Writer<'_> {
    fn work(&mut self, texts: &mut Texts, made: &mut Made, number: usize) {
        let (keys, track, record) = (self.keys, self.track, &self.track.records[number]);
        let name = record.name;
        let metadata = self.plane.event((0, name), || (texts.get(name).to_string(), String::new()));
        let external = track.integer(record, self.own.external);
        let owner = made.owners.of_work(self.place, number as u32, record, external).copied();
        let event = self.line.begin(record.begin, record.duration, metadata);
        let mut stat = |key: u32, value: Value| self.plane.stat(event, XEvent::STATS, key, value);
        if record.link >= 0 {
            stat(keys.correlation, Value::Int(record.link));
        }
        let (key, details) = details(texts, keys, track, record);
        stat(key, Value::Text(details));
        for &(key, value) in track.args_of(record) {
            if !keys.details.contains(&key) && !keys.replaced.contains(&key) {
                stat(key, value);
            }
        }
        if let Some(owner) = owner {
            owned(&mut stat, texts, keys, made, &owner, (track, record));
            let launched = run(&owner).and_then(|run| made.launched.get(&run));
            if launched.is_some_and(|launched| launched.first == (self.place, number as u32)) {
                stat(keys.op_begins, Value::Int(1));
            }
        }
        self.line.end();
    }
}

/// Stats of what the event belongs to: op, step, lines of Python, the op's arguments unless the event has its own, and the
/// op's costs, shared among its kernels by their time.
fn owned(
    stat: &mut impl FnMut(u32, Value),
    texts: &mut Texts,
    keys: &Keys,
    made: &mut Made,
    owner: &Owner,
    event: (&Track, &Record),
) {
    stat(keys.tf_op, Value::Text(made.path(texts, owner.path)));
    if owner.step != NONE {
        stat(keys.group, Value::Int(owner.step.into()));
    }
    if owner.stack != NONE {
        let (source, stack) = made.stack(texts, owner.stack);
        if source != 0 {
            stat(keys.source, Value::Text(source));
        }
        stat(keys.source_stack, Value::Text(stack));
    }
    let Some((thread, op)) = owner.op else { return };
    let Some(&track) = made.threads.get(thread as usize) else { return };
    let record = &track.records[op as usize];
    for &(key, value) in track.args_of(record) {
        if keys.inherited.contains(&key) && event.0.arg(event.1, key).is_none() {
            stat(key, value);
        }
    }
    let whole = run(owner).and_then(|run| made.launched.get(&run)).map_or(0, |launched| launched.kernel_ps);
    if event.1.kind == Kind::Kernel
        && whole > 0
        && let Some(cost) = made.cost(texts, keys, track, record)
    {
        let part = event.1.duration as f64 / whole as f64;
        stat(keys.flops, Value::Int((cost.flops as f64 * part).round() as i64));
        stat(keys.bytes_accessed, Value::Int((cost.bytes as f64 * part).round() as i64));
    }
}

/// The stat that tells how the work was launched, in the form of other profilers.
fn details(texts: &mut Texts, keys: &Keys, track: &Track, record: &Record) -> (u32, u32) {
    let mut text = String::new();
    let value = |key: u32| track.arg(record, key);
    let plain = |texts: &Texts, value: Option<Value>| match value {
        Some(Value::Int(value)) => Some(value.to_string()),
        Some(Value::Double(value)) => Some(value.to_string()),
        Some(Value::Text(number)) => Some(
            texts.get(number).chars().filter(|one| !one.is_whitespace() && !"[]".contains(*one)).collect::<String>(),
        ),
        None => None,
    };
    let size = plain(texts, value(keys.bytes)).unwrap_or_else(|| "0".into());
    let key = match record.kind {
        Kind::Kernel => {
            for ((_, short), key) in DETAILS.iter().zip(keys.details) {
                if let Some(value) = plain(texts, value(key)) {
                    let _ = write!(text, "{}{short}:{value}", if text.is_empty() { "" } else { " " });
                }
            }
            if text.is_empty() {
                text.push_str("regs:0");
            }
            keys.kernel_details
        }
        Kind::Memcpy => {
            if let Some((from, to)) = direction(texts.get(record.name)).1 {
                let _ = write!(text, "kind_src:{from} kind_dst:{to} ");
            }
            let _ = write!(text, "size:{size}");
            keys.memcpy_details
        }
        _ => {
            let _ = write!(text, "num_bytes:{size}");
            keys.memset_details
        }
    };
    (key, texts.number(&text))
}

/// What Kineto repeats beside streams: ranges that the program marked, synchronisation. Planes of their own, because
/// these events overlap the kernels.
pub fn note_planes(trace: &mut Trace, start: Start, (out, times): Out) {
    let notes = std::mem::take(&mut trace.notes);
    let named = trace.places.lines(notes.keys());
    let mut notes = notes.into_iter().peekable();
    while let Some(&((device, _), _)) = notes.peek() {
        let plane_name = format!("/device:CUSTOM:GPU {device} annotations");
        let mut plane = Plane::new(device, &plane_name);
        while let Some(((_, stream), mut track)) = notes.next_if(|((own, _), _)| *own == device) {
            track.records.sort_by_key(|record| (record.begin, std::cmp::Reverse(record.duration)));
            let (id, name) = named.get(&stream).cloned().unwrap_or_else(|| (stream, format!("#{stream}")));
            let name = format!("Annotations {name}");
            tell(times, &plane_name, &name, &track);
            let mut line = Line::new(id, &name, start.timestamp_ns, start.base);
            for record in &track.records {
                let name = record.name;
                let metadata = plane.event((0, name), || (trace.texts.get(name).to_string(), String::new()));
                line.begin(record.begin, record.duration, metadata);
                line.end();
            }
            plane.line(line.bytes());
        }
        plane.finish(&trace.texts, out);
    }
}
