//! What a device is: its properties by the names that other profilers give them, its vendor, and what a data sheet adds.

use super::boards::board;
use super::event::{Kind, Value};
use super::names::Texts;
use super::trace::{Properties, Track};
use super::write::Plane;

/// Properties of a device by the names that other profilers give them.
const FACTS: [(&str, &str); 5] = [
    ("name", "gpu_device_name"),
    ("computeMajor", "compute_cap_major"),
    ("computeMinor", "compute_cap_minor"),
    ("numSms", "core_count"),
    ("totalGlobalMem", "memory_size"),
];
/// Parts of the names of devices by vendor.
const NAMES: [(&str, &[&str]); 2] =
    [("AMD", &["AMD", "Instinct", "Radeon", "gfx"]), ("Nvidia", &["NVIDIA", "Tesla", "GeForce", "Quadro", "GRID"])];

pub fn facts(plane: &mut Plane, texts: &mut Texts, properties: Option<&Properties>, by_calls: Option<&'static str>) {
    let name = properties.iter().flat_map(|list| list.iter()).find(|(key, _)| key == "name");
    let name = name.map_or("", |(_, value)| value.as_str());
    let by_name = NAMES.iter().find(|(_, parts)| parts.iter().any(|part| name.contains(part)));
    if let Some(vendor) = by_name.map(|(vendor, _)| *vendor).or(by_calls) {
        let (key, value) = (texts.number("device_vendor"), texts.number(vendor));
        plane.fact(key, Value::Text(value));
    }
    let memory = properties.into_iter().flatten().find(|(key, _)| key == "totalGlobalMem");
    let memory = memory.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    if let Some((clock, bandwidth)) = board(name, memory) {
        plane.fact(texts.number("clock_rate"), Value::Int(clock));
        plane.fact(texts.number("memory_bandwidth"), Value::Int(bandwidth));
    }
    for (property, value) in properties.into_iter().flatten() {
        let Some((_, fact)) = FACTS.iter().find(|(own, _)| own == property) else { continue };
        let key = texts.number(fact);
        let value = value.parse().map_or_else(|_| Value::Text(texts.number(value)), Value::Int);
        plane.fact(key, value);
    }
}

/// The vendor whose runtime the program calls; None if it calls none, or another.
pub fn vendor_of_calls<'t>(texts: &Texts, threads: impl Iterator<Item = &'t Track>) -> Option<&'static str> {
    let calls = threads.flat_map(|track| &track.records).filter(|record| record.kind == Kind::Call);
    let mut names = calls.map(|record| texts.get(record.name));
    names.find_map(|name| match name {
        _ if name.starts_with("hip") => Some("AMD"),
        _ if name.starts_with("cu") => Some("Nvidia"),
        _ => None,
    })
}
