//! The plane of the host's threads: ops, Python functions, calls of the runtime, marked ranges and allocations.

use std::collections::HashMap;

use ahash::{AHashMap, AHashSet};

use super::event::{Kind, Value, source_of, step_number};
use super::names::Texts;
use super::owners::Owners;
use super::plane::{Line, Out, Plane, Start, tell};
use super::steps::Mark;
use super::trace::{Document, NONE, Place, Properties, Record, Trace, Track};
use crate::wire::tags::xplane::XEvent;

struct Keys {
    correlation: u32,
    device: u32,
    root: u32,
    step: u32,
    leads: [u32; 2],
    follows: [u32; 2],
    tf_op: u32,
    own: [u32; 3],
    memory: MemoryKeys,
}

/// Arguments of `[memory]` events, and the stats that allocations have elsewhere.
struct MemoryKeys {
    bytes: u32,
    address: u32,
    kind: u32,
    ordinal: u32,
    allocated: u32,
    reserved: u32,
    allocator: u32,
    stats: [u32; 6],
}

const MEMORY_STATS: [&str; 6] =
    ["addr", "requested_bytes", "allocation_bytes", "bytes_allocated", "bytes_available", "peak_bytes_in_use"];

impl Keys {
    fn of(texts: &mut Texts) -> Keys {
        let mut key = |name: &str| texts.number(name);
        Keys {
            correlation: key("correlation_id"),
            device: key("device_id"),
            root: key("_r"),
            step: key("step_num"),
            leads: ["_pt", "_p"].map(&mut key),
            follows: ["_ct", "_c"].map(&mut key),
            tf_op: key("tf_op"),
            own: ["correlation", "External id", "Module Hierarchy"].map(&mut key),
            memory: MemoryKeys {
                bytes: key("Bytes"),
                address: key("Addr"),
                kind: key("Device Type"),
                ordinal: key("Device Id"),
                allocated: key("Total Allocated"),
                reserved: key("Total Reserved"),
                allocator: key("allocator_name"),
                stats: MEMORY_STATS.map(&mut key),
            },
        }
    }
}

/// What the host's plane is made with.
struct Writer<'a> {
    plane: Plane,
    keys: Keys,
    owners: &'a Owners,
    memory: Allocated,
    /// Correlation ids of work on devices with the device, ascending.
    links: &'a [(i64, i64)],
    /// Texts of the paths of allocations.
    paths: AHashMap<u32, u32>,
}

/// `links`: correlation ids of work on devices with the device, ascending.
pub fn plane(trace: &mut Trace, owners: &Owners, links: &[(i64, i64)], start: Start, (out, times): Out) {
    let keys = Keys::of(&mut trace.texts);
    let threads = std::mem::take(&mut trace.threads);
    let memory = Allocated::of(trace);
    let (host, paths) = (Plane::new(0, "/host:CPU"), AHashMap::new());
    let mut writer = Writer { plane: host, keys, owners, memory, links, paths };
    let mut lines = Lines::default();
    for (number, (place, track)) in threads.into_iter().enumerate() {
        if track.records.is_empty() && track.left_out == 0 {
            continue;
        }
        let (id, name) = lines.line(trace, place, &track);
        tell(times, "/host:CPU", &name, &track);
        let texts = &mut trace.texts;
        let mut line = Line::new(id, &name, start.timestamp_ns, start.base);
        for (at, (record, &path)) in track.records.iter().zip(&owners.of_records[number]).enumerate() {
            let metadata = writer.name(texts, &track, record, path);
            let mark = owners.steps.mark((number, at), record, texts.get(record.name), track.rank);
            writer.stats(texts, line.begin(record.begin, record.duration, metadata), &track, record, (path, mark));
            line.end();
        }
        writer.plane.line(line.bytes());
    }
    writer.plane.finish(&trace.texts, out);
}

/// Lines of threads: each has an id of its own, the thread's number if no other process has a thread of that number.
#[derive(Default)]
struct Lines(AHashSet<i64>);

impl Lines {
    /// Id and name of the line of a thread.
    fn line(&mut self, trace: &Trace, (_, tid): Place, track: &Track) -> (i64, String) {
        let number = trace.places.shown(tid);
        let named = trace.places.named(tid).map(|named| named.text.as_str());
        let name = match (track.name.as_str(), named) {
            ("", None) => format!("thread {tid}"),
            ("", Some("")) => "unnamed thread".to_string(),
            ("", Some(text)) => text.to_string(),
            (name, _) => name.to_string(),
        };
        let mut id = number.unwrap_or(0);
        while !self.0.insert(id) {
            id = id.wrapping_add(1 << 32); // beyond the numbers of threads
        }
        match trace.ranks.get(track.rank as usize) {
            Some(rank) => (id, format!("{rank}: {name}")),
            None => (id, name),
        }
    }
}

impl Writer<'_> {
    /// The metadata of an event.
    fn name(&mut self, texts: &Texts, track: &Track, record: &Record, path: u32) -> u64 {
        let plane = &mut self.plane;
        match record.kind {
            Kind::Op => {
                let text = || (self.owners.path_text(texts, path), texts.get(record.name).to_string());
                plane.event((1, path), text)
            }
            Kind::Memory => self.memory.name(plane, &self.keys.memory, track, record),
            Kind::Annotation if step_number(texts.get(record.name)).is_some() => {
                plane.event((3, 0), || ("ProfilerStep".to_string(), String::new()))
            }
            _ => plane.event((0, record.name), || named(texts.get(record.name), record.kind)),
        }
    }

    fn stats(
        &mut self,
        texts: &mut Texts,
        event: &mut Vec<u8>,
        track: &Track,
        record: &Record,
        (path, mark): (u32, Option<Mark>),
    ) {
        let (keys, plane) = (&self.keys, &mut self.plane);
        let mut stat = |key: u32, value: Value| plane.stat(event, XEvent::STATS, key, value);
        match record.kind {
            Kind::Memory => {
                self.memory.stats(&mut stat, texts, &keys.memory, track, record);
                if path != NONE {
                    let text = || texts.number(&self.owners.path_text(texts, path));
                    stat(keys.tf_op, Value::Text(*self.paths.entry(path).or_insert_with(text)));
                }
                return;
            }
            Kind::Frame => return,
            Kind::Call => {
                if let Ok(at) = self.links.binary_search_by_key(&record.link, |link| link.0) {
                    stat(keys.correlation, Value::Int(record.link));
                    stat(keys.device, Value::Int(self.links[at].1));
                }
            }
            _ => {}
        }
        if let Some(Mark { number, follows }) = mark {
            // The step of another rank begins a group, and this one is part of it.
            let context = if follows { keys.follows } else { keys.leads };
            if !follows {
                stat(keys.root, Value::Int(1));
            }
            stat(keys.step, Value::Int(number));
            if self.owners.steps.followed() {
                stat(context[0], Value::Int(0));
                stat(context[1], Value::Int(number));
            }
        }
        for &(key, value) in track.args_of(record) {
            if !keys.own.contains(&key) {
                stat(key, value);
            }
        }
    }
}

/// Name and display name of an event that is no op. Python functions are called as other profilers call them.
fn named(name: &str, kind: Kind) -> (String, String) {
    if let (Kind::Frame, Some((file, line, function))) = (kind, source_of(name)) {
        return (format!("${file}:{line} {function}"), String::new());
    }
    if kind == Kind::Frame {
        return (without_address(name), String::new());
    }
    // `nccl:all_reduce` would read as the name of an op with its type.
    if name.contains(':') { (format!("{name} "), name.to_string()) } else { (name.to_string(), String::new()) }
}

/// `<built-in method item of Tensor object at 0x7f01>` without the address, by which equal functions differ.
fn without_address(name: &str) -> String {
    match name.rsplit_once(" at 0x") {
        Some((head, tail)) if tail.trim_end_matches('>').bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            format!("{head}>")
        }
        _ => name.to_string(),
    }
}

/// The name of an allocator, and its bytes in use, now and at most.
struct InUse {
    name: u32,
    now: i64,
    most: i64,
}

/// What is in use per rank, and kind and number of device.
#[derive(Default)]
struct Allocated {
    state: HashMap<(u32, i64, i64), InUse>,
    /// Memory of each device, if that is known.
    sizes: HashMap<i64, i64>,
    /// Numbers of devices by rank and their number there.
    numbers: HashMap<(u32, i64), i64>,
}

impl Allocated {
    fn of(document: &Document) -> Allocated {
        let size = |facts: &Properties| facts.iter().find(|(name, _)| name == "totalGlobalMem")?.1.parse().ok();
        Allocated {
            state: HashMap::new(),
            sizes: document.devices.iter().filter_map(|(&device, facts)| Some((device, size(facts)?))).collect(),
            numbers: document.renumbered.iter().map(|(&number, &own)| (own, number)).collect(),
        }
    }

    fn name(&self, plane: &mut Plane, keys: &MemoryKeys, track: &Track, record: &Record) -> u64 {
        let releases = track.integer(record, keys.bytes).unwrap_or(0) < 0;
        let name = if releases { "MemoryDeallocation" } else { "MemoryAllocation" };
        plane.event((2, releases.into()), || (name.to_string(), String::new()))
    }

    fn stats(
        &mut self,
        stat: &mut impl FnMut(u32, Value),
        texts: &mut Texts,
        keys: &MemoryKeys,
        track: &Track,
        record: &Record,
    ) {
        let integer = |key: u32| track.integer(record, key);
        let (kind, ordinal) = (integer(keys.kind).unwrap_or(0), integer(keys.ordinal).unwrap_or(0));
        let bytes = integer(keys.bytes).unwrap_or(0);
        let InUse { name, now, most } = self.state.entry((track.rank, kind, ordinal)).or_insert_with(|| {
            let name = match (kind, track.rank) {
                (0, 0) => "CPU".to_string(),
                (0, rank) => format!("CPU_{rank}"),
                _ => format!("GPU_{}_caching", self.numbers.get(&(track.rank, ordinal)).unwrap_or(&ordinal)),
            };
            InUse { name: texts.number(&name), now: 0, most: 0 }
        });
        *now = integer(keys.allocated).unwrap_or(now.saturating_add(bytes).max(0));
        *most = (*most).max(*now);
        let managed = if kind == 0 { None } else { self.sizes.get(&ordinal).copied().or(integer(keys.reserved)) };
        let available = managed.unwrap_or(0).saturating_sub(*now).max(0);
        let size = bytes.saturating_abs();
        stat(keys.allocator, Value::Text(*name));
        let values = [integer(keys.address).unwrap_or(0), size, size, *now, available, *most];
        for (key, value) in keys.stats.into_iter().zip(values) {
            stat(key, Value::Int(value));
        }
    }
}
