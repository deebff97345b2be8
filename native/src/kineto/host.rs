//! The plane of the host's threads: ops, Python functions, calls of the runtime, marked ranges and allocations.

use std::collections::HashMap;

use ahash::AHashMap;

use super::attribute::{Owners, step_number};
use super::device::place;
use super::event::{Kind, Value};
use super::names::Texts;
use super::trace::{NONE, Record, Trace, Track};
use super::write::{Line, Plane, Start, path_text};
use crate::wire::tags::xplane::XEvent;

struct Keys {
    correlation: u32,
    device: u32,
    root: u32,
    step: u32,
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

/// `links`: correlation ids of work on devices with the device, ascending; `sizes`: the memory of devices.
pub fn plane(
    trace: &mut Trace,
    owners: &Owners,
    links: &[(i64, i64)],
    sizes: HashMap<i64, i64>,
    start: Start,
    out: &mut Vec<u8>,
) {
    let keys = Keys::of(&mut trace.texts);
    let threads = std::mem::take(&mut trace.threads);
    let texts = &mut trace.texts;
    let memory = Allocated { sizes, ..Allocated::default() };
    let (host, paths) = (Plane::new(0, "/host:CPU"), AHashMap::new());
    let mut writer = Writer { plane: host, keys, owners, memory, links, paths };
    for (number, ((_, tid), track)) in threads.into_iter().enumerate() {
        if track.records.is_empty() {
            continue;
        }
        let name = if track.name.is_empty() { format!("thread {tid}") } else { track.name.clone() };
        let mut line = Line::new(tid, &name, start.timestamp_ns, start.base);
        for (at, (record, &path)) in track.records.iter().zip(&owners.of_records[number]).enumerate() {
            let metadata = writer.name(texts, &track, record, path);
            let step = owners.step_of(number, at, record.kind, texts.get(record.name));
            writer.stats(texts, line.begin(record, metadata), &track, record, (path, step));
            line.end();
        }
        writer.plane.line(line.bytes());
    }
    writer.plane.finish(&trace.texts, out);
}

impl Writer<'_> {
    /// The metadata of an event.
    fn name(&mut self, texts: &Texts, track: &Track, record: &Record, path: u32) -> u64 {
        let plane = &mut self.plane;
        match record.kind {
            Kind::Op => {
                let text = || (path_text(texts, self.owners, path), texts.get(record.name).to_string());
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
        (path, step): (u32, Option<i64>),
    ) {
        let (keys, plane) = (&self.keys, &mut self.plane);
        let mut stat = |key: u32, value: Value| plane.stat(event, XEvent::STATS, key, value);
        match record.kind {
            Kind::Memory => {
                self.memory.stats(&mut stat, texts, &keys.memory, track, record);
                if path != NONE {
                    let text = || texts.number(&path_text(texts, self.owners, path));
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
            Kind::Annotation => {
                if let Some(step) = step {
                    stat(keys.root, Value::Int(1));
                    stat(keys.step, Value::Int(step));
                }
            }
            _ => {}
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
    if let (Kind::Frame, Some((file, line, function))) = (kind, place(name)) {
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

/// What is in use per kind and number of device.
#[derive(Default)]
struct Allocated {
    state: HashMap<(i64, i64), InUse>,
    /// Memory of each device, if that is known.
    sizes: HashMap<i64, i64>,
}

impl Allocated {
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
        let InUse { name, now, most } = self.state.entry((kind, ordinal)).or_insert_with(|| {
            let name = if kind == 0 { "CPU".to_string() } else { format!("GPU_{ordinal}_caching") };
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
