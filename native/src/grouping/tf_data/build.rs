//! Finds the calls of iterators among a host's events, and the caller of each.

use std::collections::HashMap;

use super::calls::{ITERATOR, IteratorCalls, PRODUCE, ROOT};
use crate::kernels::nesting::{NONE, Nesting, nest};
use crate::kernels::rows::{Rows, Seeded};

/// The events of the host's plane, as columns of one length; `line_start` has one entry per line and one more.
#[derive(Clone, Copy)]
pub struct Events<'a> {
    pub line_start: &'a [i64],
    pub begin: &'a [i64],
    pub duration: &'a [i64],
    pub metadata: &'a [u32],
    /// Per row of the metadata; a row past the end means nothing.
    pub role: &'a [u8],
}

impl Events<'_> {
    fn role_of(&self, event: usize) -> u8 {
        self.role.get(self.metadata[event] as usize).copied().unwrap_or(0)
    }
}

/// Ascending events with a number each.
#[derive(Clone, Copy)]
pub struct Sparse<'a> {
    pub event: &'a [i64],
    pub value: &'a [i64],
}

impl Sparse<'_> {
    /// Looks up ascending events one after the other.
    fn cursor(&self) -> impl FnMut(usize) -> Option<u64> {
        let mut at = 0;
        move |event| {
            while self.event.get(at).is_some_and(|&own| own < event as i64) {
                at += 1;
            }
            match self.event.get(at) {
                Some(&own) if own == event as i64 => self.value.get(at).map(|&value| value as u64),
                _ => None,
            }
        }
    }
}

fn is_producer(role: u8) -> bool {
    role >= PRODUCE && role & 1 == 0
}

/// One end of a hand-over between threads: which iterator and element, in which order it is looked at, which call.
struct End {
    key: (u64, u64),
    order: (u8, u32),
    call: u32,
}

impl IteratorCalls {
    /// Finds the calls and their callers. All columns fit each other (checked by the caller).
    pub fn new(events: Events, id: Sparse, parent: Sparse, element: Sparse, skip: Option<&[bool]>) -> Self {
        let mut nesting = Nesting::default();
        nest(events.line_start, events.begin, events.duration, skip, &mut nesting);
        let mut build = Builder::new(events);
        let (mut id_at, mut parent_at, mut element_at) = (id.cursor(), parent.cursor(), element.cursor());
        for event in 0..events.metadata.len() {
            let role = events.role_of(event);
            let above = nesting.parent[event];
            if is_producer(role) {
                build.place[event] = build.making.len() as u32;
                build.making.push(element_at(event));
            } else if role > PRODUCE {
                build.add_consumer(event, above, role, element_at(event));
            } else if role != 0 {
                build.add_call(event, above, role, id_at(event), parent_at(event));
            }
        }
        build.finish()
    }
}

/// The forest as it grows.
struct Builder<'a> {
    events: Events<'a>,
    forest: IteratorCalls,
    number: HashMap<u64, u32, Seeded>,
    /// Per event: the number of the call, or of the entry of `making` where it makes an element.
    place: Vec<u32>,
    /// Elements that are being made, until the call that makes them is seen.
    making: Vec<Option<u64>>,
    produced: Vec<End>,
    consumed: Vec<End>,
    /// Caller and call.
    pairs: Vec<(u32, u32)>,
}

impl<'a> Builder<'a> {
    fn new(events: Events<'a>) -> Self {
        Builder {
            events,
            forest: IteratorCalls::default(),
            number: HashMap::with_hasher(Seeded::new()),
            place: vec![NONE; events.metadata.len()],
            making: Vec::new(),
            produced: Vec::new(),
            consumed: Vec::new(),
            pairs: Vec::new(),
        }
    }

    /// Role and place of the event around another; (0, NONE) if there is none.
    fn around(&self, above: u32) -> (u8, u32) {
        if above == NONE { (0, NONE) } else { (self.events.role_of(above as usize), self.place[above as usize]) }
    }

    fn add_consumer(&mut self, event: usize, above: u32, role: u8, element: Option<u64>) {
        let (role_above, call) = self.around(above);
        if let (ITERATOR | ROOT, Some(element), Some(id)) = (role_above, element, self.forest.id_of_call(call)) {
            self.consumed.push(End { key: (id, element), order: (role, event as u32), call });
        }
    }

    fn add_call(&mut self, event: usize, above: u32, role: u8, id: Option<u64>, parent: Option<u64>) {
        let forest = &mut self.forest;
        let call = forest.event.len() as u32;
        let iterator = id.map(|id| {
            *self.number.entry(id).or_insert_with(|| {
                forest.id.push(id);
                forest.parent.push(parent.unwrap_or(0));
                forest.first.push(call);
                forest.id.len() as u32 - 1
            })
        });
        forest.event.push(event as u32);
        forest.begin.push(self.events.begin[event]);
        forest.duration.push(self.events.duration[event].max(0));
        forest.iterator.push(iterator.unwrap_or(NONE));
        if role == ROOT && id.is_some() {
            forest.roots.push(call);
        }
        self.place[event] = call;
        match self.around(above) {
            (ITERATOR | ROOT, caller) => self.pairs.push((caller, call)),
            (role_above, making) if is_producer(role_above) => {
                // Only the first call inside counts: it makes the element.
                if let (Some(element), Some(caller)) = (self.making[making as usize].take(), parent) {
                    self.produced.push(End { key: (caller, element), order: (role_above, above), call });
                }
            }
            _ => {}
        }
    }

    fn finish(mut self) -> IteratorCalls {
        self.hand_over();
        let mut forest = self.forest;
        forest.children = Rows::new(forest.event.len(), self.pairs.iter().copied());
        let mut by_id: Vec<u32> = (0..forest.id.len() as u32).collect();
        by_id.sort_unstable_by_key(|&at| forest.id[at as usize]);
        forest.rank = vec![0; by_id.len()];
        by_id.iter().enumerate().for_each(|(place, &at)| forest.rank[at as usize] = place as u32);
        forest
    }

    /// Adds a pair for every call that made an element for a call on another thread.
    ///
    /// One consumer takes all producers of its element (batches have many), one producer serves all consumers. Where
    /// both are several, the element's number came back: each producer belongs to the first consumer that ends after it.
    fn hand_over(&mut self) {
        let (mut produced, mut consumed) = (std::mem::take(&mut self.produced), std::mem::take(&mut self.consumed));
        produced.sort_unstable_by_key(|end| (end.key, end.order));
        consumed.sort_unstable_by_key(|end| (end.key, end.order));
        let mut links: Vec<((u8, u32), u32, u32)> = Vec::new();
        let (mut producers, mut consumers) = (&produced[..], &consumed[..]);
        while let (Some(from), Some(to)) = (producers.first(), consumers.first()) {
            if from.key != to.key {
                let (side, key) = if from.key < to.key { (&mut producers, to.key) } else { (&mut consumers, from.key) };
                let passed = side.iter().take_while(|end| end.key < key).count();
                *side = &side[passed..];
                continue;
            }
            let equal = |ends: &[End]| ends.iter().take_while(|end| end.key == from.key).count();
            let (some, rest) = producers.split_at(equal(producers));
            let (takers, others) = consumers.split_at(equal(consumers));
            if some.len() > 1 && takers.len() > 1 {
                self.by_time(some, takers, &mut links);
            } else {
                let mut last = NONE;
                for taker in takers.iter().filter(|taker| std::mem::replace(&mut last, taker.call) != taker.call) {
                    links.extend(some.iter().map(|end| (taker.order, taker.call, end.call)));
                }
            }
            (producers, consumers) = (rest, others);
        }
        // Children in the order in which their consumers are looked at: it decides which call of an iterator comes first.
        links.sort_by_key(|link| link.0);
        self.pairs.extend(links.into_iter().map(|(_, parent, child)| (parent, child)));
    }

    fn by_time(&self, producers: &[End], consumers: &[End], links: &mut Vec<((u8, u32), u32, u32)>) {
        let mut takers: Vec<(i64, &End)> = consumers.iter().map(|end| (self.forest.end(end.call), end)).collect();
        takers.sort_by_key(|&(end, _)| end);
        for producer in producers {
            let made = self.forest.end(producer.call);
            let at = takers.partition_point(|&(end, _)| end < made).min(takers.len() - 1);
            links.push((takers[at].1.order, takers[at].1.call, producer.call));
        }
    }
}
