//! What a device is: its properties by the names that other profilers give them, its vendor, and of GPUs the clock and memory
//! bandwidth, which PyTorch's profiler does not record.
//!
//! With the operations per clock of the architecture they give the peak rates of the data sheets: of dense matrix
//! products in half precision, and of HBM or GDDR. Sources: data sheets of Nvidia (V100, T4, A100, A10, L4, L40S, H100,
//! H200, B200) and AMD (MI250X, MI300X, MI325X, MI350X, MI355X).

use super::event::{Kind, Value};
use super::names::Texts;
use super::plane::Plane;
use super::trace::{Properties, Track};

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

/// All parts of a name, least memory in GB, boost clock in MHz, bandwidth in GB/s; the first that fits counts.
const BOARDS: [(&[&str], i64, i64, i64); 27] = [
    (&["V100"], 0, 1530, 900),
    (&["T4"], 0, 1590, 320),
    (&["A100", "PCIe"], 60, 1410, 1935),
    (&["A100"], 60, 1410, 2039),
    (&["A100"], 0, 1410, 1555),
    (&["A10G"], 0, 1710, 600),
    (&["RTX A6000"], 0, 1800, 768),
    (&["A10"], 0, 1695, 600),
    (&["L40S"], 0, 2520, 864),
    (&["L40"], 0, 2490, 864),
    (&["L4"], 0, 2040, 300),
    (&["RTX 3090"], 0, 1695, 936),
    (&["RTX 4090"], 0, 2520, 1008),
    (&["H100", "NVL"], 0, 1785, 3900),
    (&["H100", "PCIe"], 0, 1620, 2000),
    (&["H100"], 0, 1830, 3350),
    (&["H200"], 0, 1830, 4800),
    (&["H20"], 0, 1980, 4000),
    (&["B200"], 0, 1860, 8000),
    (&["B300"], 0, 1860, 8000),
    (&["MI250X"], 0, 1700, 1638),
    (&["MI250"], 0, 1700, 1638),
    (&["MI300X"], 0, 2100, 5300),
    (&["MI300A"], 0, 2100, 5300),
    (&["MI325X"], 0, 2100, 6000),
    (&["MI350X"], 0, 2200, 8000),
    (&["MI355X"], 0, 2400, 8000),
];

/// Boost clock in kHz and memory bandwidth in bytes per second; None for devices that are not known.
fn board(name: &str, memory_bytes: i64) -> Option<(i64, i64)> {
    let fits = |parts: &[&str], least: i64| {
        memory_bytes / 1_000_000_000 >= least
            && parts.iter().all(|part| name.to_lowercase().contains(&part.to_lowercase()))
    };
    let found = BOARDS.iter().find(|(parts, least, _, _)| fits(parts, *least))?;
    Some((found.2 * 1000, found.3 * 1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::board;

    #[test]
    fn by_name_and_memory() {
        assert_eq!(board("NVIDIA A100-SXM4-80GB", 85_097_971_712), Some((1_410_000, 2_039_000_000_000)));
        assert_eq!(board("NVIDIA A100-PG509-200", 42_505_273_344), Some((1_410_000, 1_555_000_000_000)));
        assert_eq!(board("NVIDIA A100 80GB PCIe", 85_097_971_712), Some((1_410_000, 1_935_000_000_000)));
        assert_eq!(board("NVIDIA H100 80GB HBM3", 85_000_000_000), Some((1_830_000, 3_350_000_000_000)));
        assert_eq!(board("NVIDIA H200", 150_000_000_000), Some((1_830_000, 4_800_000_000_000)));
        assert_eq!(board("AMD Instinct MI300X", 205_000_000_000), Some((2_100_000, 5_300_000_000_000)));
        assert_eq!(board("Some GPU", 1), None);
    }
}
