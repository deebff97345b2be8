//! The steps of a trace: those of PyTorch's scheduler, else the ranges in which servers execute a step of their engine.
//!
//! Ranks that were merged count the same steps. What a rank runs in a step belongs to the step of that number of the rank
//! with most steps.

use std::collections::{BTreeMap, BTreeSet};

use ahash::AHashMap;

use super::event::{Kind, step_number};
use super::trace::{NONE, Record, Trace, Track};

/// Begins of the ranges of servers: vLLM's `execute_context_0(0)_generation_8(8)`, SGLang's `step[DECODE bs=8]`.
const SERVER_STEPS: [&str; 2] = ["execute_", "step["];

/// What marks a step: its number, and whether it follows the step of that number of another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub number: i64,
    pub follows: bool,
}

/// Begin and end of a step of a rank, and its place among the steps of the trace.
type Span = (i64, i64, u32);

/// Thread and number of a record.
type Place = (u32, u32);

#[derive(Debug, Default)]
pub struct Steps {
    /// Per rank its steps in order.
    of_ranks: Vec<Vec<Span>>,
    /// The numbers of steps whose names do not tell them.
    numbers: AHashMap<Place, i64>,
    /// By step the rank that leads; empty for a single rank.
    leaders: AHashMap<i64, u32>,
}

/// Begin, end and number of a step.
type Step = (i64, i64, i64);

impl Steps {
    pub fn of(trace: &Trace) -> Steps {
        let mut numbers = AHashMap::new();
        let mut of_ranks = numbered(trace);
        if of_ranks.is_empty() {
            of_ranks = of_servers(trace, &mut numbers);
        }
        for steps in of_ranks.values_mut() {
            steps.sort_unstable();
            steps.dedup_by_key(|step| step.0);
        }
        let (mut places, mut leaders) = (AHashMap::new(), AHashMap::new());
        if of_ranks.len() > 1 {
            let all: BTreeSet<i64> = of_ranks.values().flatten().map(|step| step.2).collect();
            places = all.into_iter().zip(0..).collect();
            let mut order: Vec<u32> = of_ranks.keys().copied().collect();
            order.sort_by_key(|rank| std::cmp::Reverse(of_ranks[rank].len()));
            for rank in order {
                for step in &of_ranks[&rank] {
                    leaders.entry(step.2).or_insert(rank);
                }
            }
        }
        let mut spans: Vec<Vec<Span>> = Vec::new();
        for (rank, steps) in of_ranks {
            spans.resize(rank as usize, Vec::new());
            let placed = steps.into_iter().zip(0..);
            spans.push(placed.map(|(step, own)| (step.0, step.1, *places.get(&step.2).unwrap_or(&own))).collect());
        }
        Steps { of_ranks: spans, numbers, leaders }
    }

    /// What a record of a thread marks.
    pub fn mark(&self, place: (usize, usize), record: &Record, name: &str, rank: u32) -> Option<Mark> {
        if record.kind != Kind::Annotation {
            return None;
        }
        let own = self.numbers.get(&(place.0 as u32, place.1 as u32)).copied();
        let number = own.or_else(|| step_number(name))?;
        Some(Mark { number, follows: self.leaders.get(&number).is_some_and(|leader| *leader != rank) })
    }

    /// Whether ranks follow the steps of another.
    pub fn followed(&self) -> bool {
        !self.leaders.is_empty()
    }

    /// The step of a rank at a moment; `NONE` for none.
    pub fn at(&self, rank: u32, moment: i64) -> u32 {
        let Some(steps) = self.of_ranks.get(rank as usize) else { return NONE };
        let after = steps.partition_point(|step| step.0 <= moment);
        match after.checked_sub(1) {
            Some(step) if moment < steps[step].1 => steps[step].2,
            _ => NONE,
        }
    }
}

/// The steps of PyTorch's scheduler, by rank.
fn numbered(trace: &Trace) -> BTreeMap<u32, Vec<Step>> {
    let mut found: BTreeMap<u32, Vec<Step>> = BTreeMap::new();
    for track in trace.threads.values() {
        for record in track.records.iter().filter(|one| one.kind == Kind::Annotation) {
            if let Some(number) = step_number(trace.texts.get(record.name)) {
                found.entry(track.rank).or_default().push((record.begin, record.end(), number));
            }
        }
    }
    found
}

/// Per rank the outermost ranges of a server on the thread with most of them, numbered in order.
fn of_servers(trace: &Trace, numbers: &mut AHashMap<Place, i64>) -> BTreeMap<u32, Vec<Step>> {
    let mut best: BTreeMap<u32, (usize, &Track, Vec<usize>)> = BTreeMap::new();
    for (thread, track) in trace.threads.values().enumerate() {
        let ranges = outermost(trace, track);
        if ranges.len() > best.get(&track.rank).map_or(0, |known| known.2.len()) {
            best.insert(track.rank, (thread, track, ranges));
        }
    }
    let mut found = BTreeMap::new();
    for (rank, (thread, track, ranges)) in best {
        let steps = ranges.into_iter().zip(0..).map(|(at, number)| {
            numbers.insert((thread as u32, at as u32), number);
            (track.records[at].begin, track.records[at].end(), number)
        });
        found.insert(rank, steps.collect());
    }
    found
}

fn outermost(trace: &Trace, track: &Track) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let mut end = i64::MIN;
    for (number, record) in track.records.iter().enumerate().filter(|(_, one)| one.kind == Kind::Annotation) {
        let name = trace.texts.get(record.name);
        if record.begin >= end && SERVER_STEPS.iter().any(|begin| name.starts_with(begin)) {
            found.push(number);
            end = record.end();
        }
    }
    found
}
