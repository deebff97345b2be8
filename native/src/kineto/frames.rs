//! Python functions whose thread the profiler does not know: it writes them as thread 0.
//!
//! A function is of the thread of the one that calls it. Of those without a caller, the largest tree goes to the thread
//! with the steps, if that has no functions of its own; every other tree is a thread by itself.

use std::collections::HashMap;

use super::event::{Kind, step_number};
use super::times;
use super::trace::{Place, Record, Trace, Track};

pub fn place(trace: &mut Trace) {
    trace.threads.values_mut().for_each(times::leave_out_open_frames);
    let unknown: Vec<Place> = trace
        .threads
        .iter()
        .filter(|(place, track)| place.1 == 0 && track.records.iter().all(|record| record.kind == Kind::Frame))
        .map(|(place, _)| *place)
        .collect();
    for place in unknown {
        if let Some(track) = trace.threads.remove(&place) {
            distribute(trace, place, track);
        }
    }
}

fn distribute(trace: &mut Trace, place: Place, track: Track) {
    let mut trees: Vec<(Option<i64>, Vec<Record>)> = Vec::new();
    let mut tree_of: HashMap<i64, usize> = HashMap::new();
    let mut records = track.records.clone();
    records.sort_by_key(|record| (record.begin, std::cmp::Reverse(record.duration), record.link));
    for record in records {
        let parent = track.integer(&record, trace.keys.parent_frame);
        // Without ids all are one tree.
        let id = record.link.max(-1);
        let known = parent.and_then(|parent| tree_of.get(&parent)).or_else(|| tree_of.get(&-1)).copied();
        let tree = known.unwrap_or_else(|| {
            trees.push((parent, Vec::new()));
            trees.len() - 1
        });
        tree_of.insert(id, tree);
        trees[tree].1.push(Record { first: 0, count: 0, ..record });
    }
    trees.sort_by_key(|(_, records)| std::cmp::Reverse(records.len()));
    let mut main = main_thread(trace, track.rank).filter(|main| !has_frames(&trace.threads[main]));
    let mut owner: HashMap<i64, Place> = HashMap::new();
    for (place, track) in &trace.threads {
        let frames = track.records.iter().filter(|record| record.kind == Kind::Frame);
        owner.extend(frames.map(|record| (record.link, *place)));
    }
    owner.remove(&-1);
    for (number, (parent, records)) in trees.into_iter().enumerate() {
        let known = parent.and_then(|parent| owner.get(&parent)).copied().or_else(|| main.take());
        let target = known.unwrap_or((place.0, -(number as i64)));
        let own = trace.threads.entry(target).or_default();
        if own.records.is_empty() {
            own.rank = track.rank;
            own.name = if track.name.is_empty() { "unknown thread".into() } else { track.name.clone() };
        }
        own.records.extend(records);
    }
}

fn has_frames(track: &Track) -> bool {
    track.records.iter().any(|record| record.kind == Kind::Frame)
}

/// The only thread of a rank with steps.
fn main_thread(trace: &Trace, rank: u32) -> Option<Place> {
    let is_step = |record: &Record| step_number(trace.texts.get(record.name)).is_some();
    let own = trace.threads.iter().filter(|(_, track)| track.rank == rank);
    let mut with_steps = own.filter(|(_, track)| track.records.iter().any(is_step));
    match (with_steps.next(), with_steps.next()) {
        (Some((place, _)), None) => Some(*place),
        _ => None,
    }
}
