//! What events of unknown categories are, such as those of accelerators that PyTorch names in its own way.
//!
//! Work of a device has the correlation id of a call of the host and another place. Without one, an event is on a device if
//! its arguments name device and stream, or its process is a listed device; beside work that is known, it is a note. What
//! is on a thread of the host belongs to the host. The rest is shown as a thread, and named as not read.

use std::collections::BTreeMap;

use ahash::AHashSet;

use super::event::{Keys, Kind, number_of};
use super::names::Texts;
use super::places::Places;
use super::trace::{Document, Place, Record, Track};

/// Where an event of an unknown category belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// On a stream of a device; whether the host has launched it.
    Device(Place, bool),
    Host,
    /// On neither.
    Nowhere,
}

struct Sorter<'d> {
    texts: &'d Texts,
    keys: &'d Keys,
    places: &'d mut Places,
    /// Processes and threads with events of the host.
    processes: AHashSet<i64>,
    threads: AHashSet<Place>,
    /// Correlation ids of calls.
    calls: AHashSet<i64>,
    /// Listed devices.
    devices: AHashSet<i64>,
}

pub fn sort_out(document: &mut Document, texts: &Texts, keys: &Keys, places: &mut Places) {
    let unknown = std::mem::take(&mut document.unknown);
    if unknown.is_empty() {
        return;
    }
    let mut sorter = Sorter::of(document, texts, keys, places);
    unknown.iter().for_each(|(&(pid, tid, _), track)| sorter.add_calls((pid, tid), track));
    let mut busy: AHashSet<i64> = document.streams.keys().map(|place| place.0).collect();
    let mut launched = AHashSet::new();
    for (&(pid, tid, category), track) in &unknown {
        for record in &track.records {
            if let Side::Device((device, _), true) = sorter.side((pid, tid), track, record) {
                busy.insert(device);
                launched.insert(category);
            }
        }
    }
    for ((pid, tid, category), track) in unknown {
        let name = texts.get(category);
        for record in &track.records {
            let side = sorter.side((pid, tid), &track, record);
            let (tracks, place, kind) = match side {
                Side::Device(place, _) if launched.contains(&category) || !busy.contains(&place.0) => {
                    (&mut document.streams, place, work(name, texts.get(record.name)))
                }
                Side::Device(place, _) => (&mut document.notes, place, Kind::DeviceNote),
                Side::Host if record.link >= 0 => (&mut document.threads, (pid, tid), Kind::Call),
                Side::Host | Side::Nowhere => (&mut document.threads, (pid, tid), Kind::Other),
            };
            add(tracks, place, &track, Record { kind, ..*record });
            if side == Side::Nowhere {
                let what = if category == 0 { "no category".to_string() } else { format!("category {name}") };
                *document.unread.entry(what).or_default() += 1;
            }
        }
    }
}

impl<'d> Sorter<'d> {
    fn of(document: &Document, texts: &'d Texts, keys: &'d Keys, places: &'d mut Places) -> Sorter<'d> {
        let busy = document.threads.iter().filter(|(_, track)| !track.records.is_empty());
        let threads: AHashSet<Place> = busy.map(|(place, _)| *place).collect();
        let records = document.threads.values().flat_map(|track| &track.records);
        let calls = records.filter(|record| record.kind == Kind::Call && record.link >= 0);
        Sorter {
            texts,
            keys,
            places,
            processes: threads.iter().map(|place| place.0).collect(),
            calls: calls.map(|record| record.link).collect(),
            threads,
            devices: document.devices.keys().copied().collect(),
        }
    }

    /// Events with a correlation id on a thread of the host are calls.
    fn add_calls(&mut self, thread: Place, track: &Track) {
        if self.threads.contains(&thread) {
            self.calls.extend(track.records.iter().map(|record| record.link).filter(|&link| link >= 0));
        }
    }

    fn side(&mut self, (pid, tid): Place, track: &Track, record: &Record) -> Side {
        if self.threads.contains(&(pid, tid)) {
            return Side::Host;
        }
        let [device, stream] =
            [self.keys.device, self.keys.stream].map(|key| number_of(self.texts, track.arg(record, key)));
        let mut place = || (self.places.device(pid, device, tid), stream.unwrap_or(tid));
        if record.link >= 0 && self.calls.contains(&record.link) {
            return Side::Device(place(), true);
        }
        let is_host = self.processes.contains(&pid);
        let listed = self.devices.contains(&device.unwrap_or(pid)) && (device.is_some() || !is_host);
        if device.is_some() && stream.is_some() || listed {
            return Side::Device(place(), false);
        }
        if is_host || self.processes.is_empty() { Side::Host } else { Side::Nowhere }
    }
}

/// The kind of work, from its category and name.
fn work(category: &str, name: &str) -> Kind {
    let text = format!("{category} {}", name.get(..6).unwrap_or_default()).to_ascii_lowercase();
    match () {
        () if text.contains("memcpy") => Kind::Memcpy,
        () if text.contains("memset") => Kind::Memset,
        () => Kind::Kernel,
    }
}

fn add(tracks: &mut BTreeMap<Place, Track>, place: Place, from: &Track, record: Record) {
    let track = tracks.entry(place).or_default();
    let Ok(first) = u32::try_from(track.args.len()) else { return };
    track.args.extend_from_slice(from.args_of(&record));
    track.records.push(Record { first, ..record });
}
