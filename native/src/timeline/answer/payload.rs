//! The binary answer for the canvas: a JSON header and arrays, eight-aligned, one after the other.

use std::collections::HashMap;

use crate::json::text::{Sink, quote};
use crate::timeline::model::trace::Trace;
use crate::timeline::query::lod::Boxes;

/// Magic of the container.
pub const MAGIC: &[u8; 4] = b"TPC1";

/// Collects arrays and describes them in the header.
#[derive(Default)]
pub struct Container {
    body: Vec<u8>,
    arrays: Vec<u8>,
}

impl Container {
    /// Adds an array of little-endian values.
    pub fn array<const N: usize>(&mut self, name: &str, kind: &str, values: impl ExactSizeIterator<Item = [u8; N]>) {
        self.arrays.put(if self.arrays.is_empty() { b"" } else { b"," });
        quote(&mut self.arrays, name.as_bytes());
        let facts = format!(":{{\"type\":\"{kind}\",\"offset\":{},\"length\":{}}}", self.body.len(), values.len());
        self.arrays.put(facts.as_bytes());
        self.body.reserve(values.len() * N + 8);
        for value in values {
            self.body.extend_from_slice(&value);
        }
        self.body.resize(self.body.len().next_multiple_of(8), 0);
    }

    pub fn u32s(&mut self, name: &str, values: &[u32]) {
        self.array(name, "u32", values.iter().map(|v| v.to_le_bytes()));
    }

    pub fn u16s(&mut self, name: &str, values: &[u16]) {
        self.array(name, "u16", values.iter().map(|v| v.to_le_bytes()));
    }

    pub fn f64s(&mut self, name: &str, values: &[f64]) {
        self.array(name, "f64", values.iter().map(|v| v.to_le_bytes()));
    }

    /// Magic, header length, header, arrays. `head` holds further members of the header, each followed by a comma.
    pub fn finish(self, head: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(head.len() + self.arrays.len() + self.body.len() + 64);
        out.put(MAGIC);
        out.put(&[0; 4]);
        out.put(b"{");
        out.put(head);
        out.put(b"\"arrays\":{");
        out.put(&self.arrays);
        out.put(b"}}");
        out.resize(out.len().next_multiple_of(8), b' ');
        let length = (out.len() - 8) as u32;
        out[4..8].copy_from_slice(&length.to_le_bytes());
        out.put(&self.body);
        out
    }
}

/// Numbers the names that an answer uses, over several traces.
#[derive(Default)]
pub struct Strings {
    list: Vec<u8>,
    count: u32,
    known: HashMap<Vec<u8>, u32>,
}

impl Strings {
    /// Number of a name of the answer.
    pub fn number(&mut self, name: &[u8]) -> u32 {
        if let Some(&number) = self.known.get(name) {
            return number;
        }
        self.list.put(if self.count == 0 { b"" } else { b"," });
        quote(&mut self.list, name);
        self.known.insert(name.to_vec(), self.count);
        self.count += 1;
        self.count - 1
    }

    /// Replaces name ids of a trace by numbers of the answer.
    pub fn renumber(&mut self, trace: &Trace, names: &mut [u32]) {
        const UNKNOWN: u32 = u32::MAX;
        let mut numbers = vec![UNKNOWN; trace.names.len()];
        for name in names {
            let id = *name as usize;
            if id >= numbers.len() {
                continue;
            }
            if numbers[id] == UNKNOWN {
                numbers[id] = self.number(trace.names.text(*name));
            }
            *name = numbers[id];
        }
    }

    /// The header's member.
    pub fn member(&self, head: &mut Vec<u8>) {
        head.put(b"\"strings\":[");
        head.put(&self.list);
        head.put(b"],");
    }
}

/// Boxes of one or several traces as an answer; `head` holds the members that do not depend on the window.
///
/// `strings` and `container` may hold something already.
pub fn columns(
    traces: &[&Trace],
    mut boxes: Vec<Boxes>,
    head: &[u8],
    mut strings: Strings,
    mut container: Container,
) -> Vec<u8> {
    let mut starts = vec![0u32];
    let mut base = 0;
    for (trace, part) in traces.iter().zip(&mut boxes) {
        strings.renumber(trace, &mut part.name);
        starts.extend(part.track_start.iter().skip(1).map(|s| s + base));
        base += part.begin.len() as u32;
    }
    let resolution = boxes.iter().map(|b| b.columns).min().unwrap_or(0);
    let merged: u64 = boxes.iter().map(|b| b.merged).sum();
    let mut members = head.to_vec();
    members.put(format!("\"resolution\":{resolution},\"boxes\":{base},\"merged_events\":{merged},").as_bytes());
    strings.member(&mut members);
    container.u32s("track_start", &starts);
    container.u16s("row", &concat(&boxes, |b| &b.row));
    container.f64s("begin_ps", &concat(&boxes, |b| &b.begin));
    container.f64s("duration_ps", &concat(&boxes, |b| &b.duration));
    container.u32s("name", &concat(&boxes, |b| &b.name));
    container.u32s("count", &concat(&boxes, |b| &b.count));
    container.u32s("event", &concat(&boxes, |b| &b.event));
    container.finish(&members)
}

fn concat<T: Copy>(boxes: &[Boxes], column: impl Fn(&Boxes) -> &Vec<T>) -> Vec<T> {
    boxes.iter().flat_map(|b| column(b).iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::model::build::tests::trace_of;
    use crate::timeline::query::lod::boxes;

    #[test]
    fn the_header_says_where_the_arrays_are() {
        let trace = trace_of(&[(0, 0, 5, 3), (0, 7, 1, 4), (1, 2, 2, 3)]);
        let found = boxes(&trace, 0, 10, 100, 1000, 1);
        let again = boxes(&trace, 0, 10, 100, 1000, 1);
        let bytes =
            columns(&[&trace, &trace], vec![found, again], b"\"version\":1,", Strings::default(), Container::default());
        let length = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) as usize;
        let header = std::str::from_utf8(&bytes[8..8 + length]).expect("UTF-8");
        assert_eq!(&bytes[..4], MAGIC);
        assert!((8 + length) % 8 == 0);
        assert!(header.starts_with(
            "{\"version\":1,\"resolution\":100,\"boxes\":6,\"merged_events\":0,\"strings\":[\"n3\",\"n4\"],\"arrays\":{\
             \"track_start\":{\"type\":\"u32\",\"offset\":0,\"length\":5},\"row\":{\"type\":\"u16\",\"offset\":24,\"length\":6}"
        ), "{header}");
        let starts: Vec<u8> = bytes[8 + length..8 + length + 20].iter().step_by(4).copied().collect();
        assert_eq!(starts, [0, 2, 3, 5, 6]);
    }
}
