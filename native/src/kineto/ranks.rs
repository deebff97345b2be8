//! Traces of several ranks that were merged into one text, or written into one file: each process of the host is a rank,
//! if processes count the same things.
//!
//! Correlation ids, external ids, sequence numbers and ids of Python functions are counted by each rank, and so are its
//! devices. They get numbers of their own here, so that everything else sees one process with many devices. Which rank a
//! device belongs to is told, in this order, by the name of the rank in the texts of both, by equal processes, by texts that
//! differ in their number only, and by the launches of its work.

use std::collections::{BTreeMap, BTreeSet};

use ahash::AHashMap;

use super::event::{Keys, Kind, Value, step_number};
use super::names::Texts;
use super::places::{Device, Places, natural};
use super::trace::{Document, Place, Track};

/// Larger ids are left as they are: they are no counts.
const MOST_ID: i64 = 1 << 40;

/// What tells a rank: its name, or its process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Process(i64),
    Text(Vec<(u64, String)>, String),
}

impl Rank {
    fn text(text: &str) -> Rank {
        Rank::Text(natural(text), text.to_string())
    }

    /// The rank of a thread of the host.
    fn of((pid, tid): Place, places: &Places) -> Rank {
        match (places.rank(pid).or_else(|| places.rank(tid)), places.named(pid)) {
            (Some(rank), _) => Rank::text(rank),
            (None, Some(named)) => Rank::text(&named.text),
            (None, None) => Rank::Process(pid),
        }
    }

    fn name(&self) -> String {
        match self {
            Rank::Process(pid) => format!("process {pid}"),
            Rank::Text(_, text) => text.clone(),
        }
    }
}

/// Gives each rank of the text ids and devices of its own.
pub fn tell_apart(document: &mut Document, texts: &Texts, keys: &Keys, places: &Places) {
    let ranks = ranks(document, texts, places);
    let devices: BTreeSet<i64> = document.streams.keys().chain(document.notes.keys()).map(|place| place.0).collect();
    let plain = |device: &i64| places.described(*device) == (*device, Some(*device), None);
    let mut streams = document.streams.keys().chain(document.notes.keys()).map(|place| place.1);
    if ranks.len() < 2 && devices.iter().all(plain) && streams.all(|stream| places.named(stream).is_none()) {
        return;
    }
    let of_device = owners(document, places, &ranks, &devices);
    let numbers = numbers(places, &of_device);
    for (place, track) in &mut document.threads {
        track.rank = rank_of_thread(*place, &ranks, places);
    }
    let renamed = |tracks: BTreeMap<Place, Track>| {
        let mut named: BTreeMap<Place, Track> = BTreeMap::new();
        for ((device, stream), mut track) in tracks {
            track.rank = of_device[&device] as u32;
            let place = (numbers[&device], places.shown(stream).unwrap_or(stream));
            match named.get_mut(&place) {
                Some(known) => known.append(track),
                None => drop(named.insert(place, track)),
            }
        }
        named
    };
    document.streams = renamed(std::mem::take(&mut document.streams));
    document.notes = renamed(std::mem::take(&mut document.notes));
    for (device, number) in numbers {
        document.renumbered.insert(number, (of_device[&device] as u32, own_number(device, places)));
    }
    if ranks.len() > 1 {
        renumber(document, keys);
        document.ranks = ranks.iter().map(Rank::name).collect();
    }
}

/// The ranks of the threads that run ops, call the runtime or mark steps, in order.
fn ranks(document: &Document, texts: &Texts, places: &Places) -> Vec<Rank> {
    let works =
        |track: &Track| track.records.iter().any(|one| matches!(one.kind, Kind::Op | Kind::Call | Kind::Annotation));
    let threads = document.threads.iter().filter(|(_, track)| works(track));
    let found: BTreeSet<Rank> = threads.map(|(place, _)| Rank::of(*place, places)).collect();
    if found.is_empty() {
        return ranks_of_devices(document, places).into_iter().collect();
    }
    let found: Vec<Rank> = found.into_iter().collect();
    if found.len() > 1 && !count_the_same(document, &found, texts, places) { Vec::new() } else { found }
}

/// Whether several ranks have calls, steps or Python functions of the same number, or devices of one number. A process that
/// an event names by mistake has not.
fn count_the_same(document: &Document, ranks: &[Rank], texts: &Texts, places: &Places) -> bool {
    let mut owners: AHashMap<(Kind, i64), u32> = AHashMap::new();
    for (place, track) in &document.threads {
        let rank = rank_of_thread(*place, ranks, places);
        for record in &track.records {
            let number = match record.kind {
                Kind::Annotation => step_number(texts.get(record.name)),
                Kind::Call | Kind::Frame => Some(record.link).filter(|link| *link > 0),
                _ => None,
            };
            if number.is_some_and(|number| *owners.entry((record.kind, number)).or_insert(rank) != rank) {
                return true;
            }
        }
    }
    let mut devices: BTreeMap<i64, BTreeSet<Option<Rank>>> = BTreeMap::new();
    for ((device, _), track) in &document.streams {
        let mut launches: BTreeMap<u32, usize> = BTreeMap::new();
        for record in &track.records {
            if let Some(rank) = owners.get(&(Kind::Call, record.link)) {
                *launches.entry(*rank).or_default() += 1;
            }
        }
        let described = places.described(*device);
        let most = launches.into_iter().max_by_key(|(_, count)| *count).map(|(rank, _)| ranks[rank as usize].clone());
        let owner = places.rank_of(described).map(Rank::text).or(most);
        devices.entry(own_number(*device, places)).or_default().insert(owner);
    }
    devices.values().any(|owners| owners.iter().flatten().count() > 1)
}

/// The ranks of devices where no host was recorded: by name, else the processes of those with one number.
fn ranks_of_devices(document: &Document, places: &Places) -> BTreeSet<Rank> {
    let devices: BTreeSet<Device> = document.streams.keys().map(|place| places.described(place.0)).collect();
    let numbers: BTreeSet<Option<i64>> = devices.iter().map(|device| device.1).collect();
    let named = devices.iter().filter_map(|device| places.rank_of(*device)).map(Rank::text);
    if numbers.len() == devices.len() {
        return named.collect();
    }
    let by_process = devices.iter().filter(|device| places.rank_of(**device).is_none());
    named.chain(by_process.map(|device| Rank::of((device.0, 0), places))).collect()
}

/// The rank of a thread; of a thread whose process is no rank the last one before it.
fn rank_of_thread(place: Place, ranks: &[Rank], places: &Places) -> u32 {
    let own = Rank::of(place, places);
    let before = ranks.partition_point(|rank| *rank <= own);
    before.saturating_sub(1) as u32
}

/// The rank of each device.
fn owners(document: &Document, places: &Places, ranks: &[Rank], devices: &BTreeSet<i64>) -> BTreeMap<i64, usize> {
    let mut owners = BTreeMap::new();
    if ranks.len() < 2 {
        return devices.iter().map(|device| (*device, 0)).collect();
    }
    let processes: BTreeSet<i64> = devices.iter().map(|device| places.described(*device).0).collect();
    let hosts: BTreeSet<i64> =
        document.threads.iter().filter(|(_, track)| !track.records.is_empty()).map(|(place, _)| place.0).collect();
    let shared = processes.iter().all(|pid| hosts.contains(pid));
    let mut stems: AHashMap<&str, BTreeSet<usize>> = AHashMap::new();
    for place in document.threads.keys() {
        if let Some(named) = places.named(place.0).filter(|_| hosts.contains(&place.0)) {
            stems.entry(named.stem()).or_default().insert(rank_of_thread(*place, ranks, places) as usize);
        }
    }
    for &device in devices {
        let own = places.described(device);
        let by_name = places.rank_of(own).map(Rank::text);
        let by_process = (shared || places.named(own.0).is_some()).then(|| Rank::of((own.0, 0), places));
        let found = by_name.or(by_process).and_then(|rank| ranks.binary_search(&rank).ok());
        // Else the only rank whose process is a text that differs from that of the device in its number.
        let by_stem = places.named(own.0).and_then(|named| stems.get(named.stem())).filter(|alike| alike.len() == 1);
        if let Some(rank) = found.or_else(|| by_stem.and_then(|alike| alike.first().copied())) {
            owners.insert(device, rank);
        }
    }
    by_launches(document, places, ranks, devices, &mut owners);
    owners
}

/// The calls with a correlation id: their rank, and when they begin.
type Calls = AHashMap<i64, Vec<(usize, i64)>>;

/// At most so many ranks that use one correlation id are compared.
const MOST_CALLERS: usize = 64;

/// Gives the devices that are left to the ranks that launched most of their work; of equal ones to the one that waits least
/// for it, has no device yet, or is the next in order. Devices whose process is shifted alike stay together.
fn by_launches(
    document: &Document,
    places: &Places,
    ranks: &[Rank],
    devices: &BTreeSet<i64>,
    owners: &mut BTreeMap<i64, usize>,
) {
    let shift = |device: &i64| match places.described(*device) {
        (pid, Some(device), _) => pid.wrapping_sub(device),
        _ => 0,
    };
    let mut groups: BTreeMap<(i64, i64), Vec<i64>> = BTreeMap::new();
    let left: Vec<i64> = devices.iter().copied().filter(|device| !owners.contains_key(device)).collect();
    let shifted = left.iter().map(shift).collect::<BTreeSet<i64>>().len() > 1;
    for device in left {
        groups.entry((shift(&device), if shifted { 0 } else { device })).or_default().push(device);
    }
    if groups.is_empty() {
        return;
    }
    let mut calls = Calls::new();
    for (place, track) in &document.threads {
        let rank = rank_of_thread(*place, ranks, places) as usize;
        for record in track.records.iter().filter(|record| record.kind == Kind::Call && record.link >= 0) {
            let callers = calls.entry(record.link).or_default();
            if callers.len() < MOST_CALLERS {
                callers.push((rank, record.begin));
            }
        }
    }
    let taken: BTreeSet<usize> = owners.values().copied().collect();
    let mut free: BTreeSet<usize> = (0..ranks.len()).filter(|rank| !taken.contains(rank)).collect();
    for group in groups.into_values() {
        let found = launches(document, &group, &calls).into_iter();
        let best = found.max_by_key(|&(rank, (count, waited))| {
            (count, std::cmp::Reverse(waited), free.contains(&rank), std::cmp::Reverse(rank))
        });
        let rank = best.map(|(rank, _)| rank).or_else(|| free.first().copied()).unwrap_or(0);
        free.remove(&rank);
        owners.extend(group.into_iter().map(|device| (device, rank)));
    }
}

/// By rank how much of the work of devices begins behind a call with its correlation id, and how long behind it.
fn launches(document: &Document, devices: &[i64], calls: &Calls) -> BTreeMap<usize, (u64, i128)> {
    let mut found: BTreeMap<usize, (u64, i128)> = BTreeMap::new();
    for &device in devices {
        let tracks = document.streams.range((device, i64::MIN)..=(device, i64::MAX));
        for record in tracks.flat_map(|(_, track)| &track.records) {
            for &(rank, begin) in calls.get(&record.link).into_iter().flatten() {
                if let Some(wait) = record.begin.checked_sub(begin).filter(|wait| *wait >= 0) {
                    let known = found.entry(rank).or_default();
                    *known = (known.0 + 1, known.1 + i128::from(wait));
                }
            }
        }
    }
    found
}

/// The number of a device in its rank.
fn own_number(device: i64, places: &Places) -> i64 {
    let (pid, number, _) = places.described(device);
    number.or_else(|| places.shown(pid)).unwrap_or(device)
}

/// The number of each device: its own, unless devices of several ranks have the same.
fn numbers(places: &Places, of_device: &BTreeMap<i64, usize>) -> BTreeMap<i64, i64> {
    let of_ranks = of_device.iter().map(|(&device, &rank)| (rank, own_number(device, places)));
    let order: Vec<(usize, i64)> = of_ranks.collect::<BTreeSet<_>>().into_iter().collect();
    let distinct: BTreeSet<i64> = order.iter().map(|(_, number)| *number).collect();
    let number = |device: i64, rank: usize| {
        let own = (rank, own_number(device, places));
        if distinct.len() == order.len() { own.1 } else { order.partition_point(|one| *one < own) as i64 }
    };
    of_device.iter().map(|(&device, &rank)| (device, number(device, rank))).collect()
}

/// Shifts the ids of all ranks but the first.
fn renumber(document: &mut Document, keys: &Keys) {
    let ids = [keys.external, keys.parent_frame];
    let tracks = || document.threads.values().chain(document.streams.values());
    let args = tracks().flat_map(|track| &track.args).filter_map(|(key, value)| match value {
        Value::Int(id) if ids.contains(key) => Some(*id),
        _ => None,
    });
    let links = tracks().flat_map(|track| &track.records).map(|record| record.link);
    let most = links.chain(args).filter(|id| *id < MOST_ID).max().unwrap_or(0);
    let stride = (0..).map(|power| 10i64.pow(power)).find(|stride| *stride > most).unwrap_or(MOST_ID);
    let shifted = |id: i64, rank: u32| match id {
        1..MOST_ID => id + stride * i64::from(rank),
        _ => id,
    };
    for track in document.threads.values_mut().chain(document.streams.values_mut()).filter(|track| track.rank > 0) {
        let rank = track.rank;
        track.records.iter_mut().for_each(|record| record.link = shifted(record.link, rank));
        for (key, value) in &mut track.args {
            if let (true, Value::Int(id)) = (ids.contains(key), value) {
                *id = shifted(*id, rank);
            }
        }
    }
}
