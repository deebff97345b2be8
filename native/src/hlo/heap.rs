//! Replays the heap simulator: the storage allocated or freed by each event, and its buffer.

use crate::wire::tags::hlo::HeapSimulatorTrace::Event::Kind;

const ALLOCATE: u8 = Kind::ALLOC as u8;
const FREE: u8 = Kind::FREE as u8;
const SHARE: u8 = Kind::SHARE_WITH as u8;

/// No buffer.
pub const NO_BUFFER: i64 = -1;

/// Storage while it is in use: events `begin..end`; `shown` is the buffer that it is shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub shown: u32,
    pub begin: u32,
    pub end: u32,
}

/// A buffer's first and last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub buffer: u32,
    pub first: u32,
    pub last: u32,
}

/// Per event the storage (a buffer) allocated or freed, and the factor of its size; then the storage in use.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Replay {
    pub storage: Vec<u32>,
    pub change: Vec<i8>,
    /// In the order in which it came into use.
    pub held: Vec<Held>,
    /// In the order in which the buffers first came into use.
    pub spans: Vec<Span>,
}

/// State of the simulator; buffers are numbered from 0.
struct Books {
    uses: Vec<i64>,
    canonical: Vec<u32>,
    shown: Vec<u32>,
    held: Vec<Option<u32>>,
    span: Vec<Option<u32>>,
    freed: Vec<bool>,
    last: u32,
    out: Replay,
}

impl Books {
    fn new(buffers: usize, events: usize) -> Self {
        let own: Vec<u32> = (0..buffers as u32).collect();
        Books {
            uses: vec![0; buffers],
            canonical: own.clone(),
            shown: own,
            held: vec![None; buffers],
            span: vec![None; buffers],
            freed: vec![false; buffers],
            last: (events as u32).saturating_sub(1),
            out: Replay { storage: vec![0; events], change: vec![0; events], ..Replay::default() },
        }
    }

    /// The buffer whose storage a buffer uses; the path is shortened, so that long chains are walked once.
    fn root(&mut self, buffer: u32) -> u32 {
        let mut root = buffer;
        while self.canonical[root as usize] != root {
            root = self.canonical[root as usize];
        }
        let mut step = buffer;
        while step != root {
            step = std::mem::replace(&mut self.canonical[step as usize], root);
        }
        root
    }

    /// Storage comes into use; 0 when it is in use already.
    fn hold(&mut self, storage: u32, shown: u32, at: u32) -> i8 {
        let span = Span { buffer: shown, first: at, last: self.last };
        match self.span[shown as usize] {
            Some(place) => self.out.spans[place as usize] = span,
            None => {
                self.span[shown as usize] = Some(self.out.spans.len() as u32);
                self.out.spans.push(span);
            }
        }
        if self.held[storage as usize].is_some() {
            return 0;
        }
        self.held[storage as usize] = Some(self.out.held.len() as u32);
        self.out.held.push(Held { shown, begin: at, end: self.last + 1 });
        1
    }

    fn allocate(&mut self, buffer: u32, at: u32) -> (u32, i8) {
        self.uses[buffer as usize] += 1;
        (buffer, self.hold(buffer, self.shown[buffer as usize], at))
    }

    /// As `allocate`, for a buffer that uses another's storage; that may have been freed before.
    fn share(&mut self, buffer: u32, canonical: u32, at: u32) -> (u32, i8) {
        let root = self.root(canonical);
        self.canonical[buffer as usize] = root; // itself where it is the root: a ring would have none
        self.uses[root as usize] += 1;
        if self.uses[root as usize] != 1 {
            return (root, 0);
        }
        self.shown[root as usize] = buffer;
        (root, self.hold(root, buffer, at))
    }

    fn free(&mut self, buffer: u32, at: u32) -> (u32, i8) {
        let root = self.root(buffer);
        if buffer != root {
            self.ends(buffer, at);
        }
        self.uses[root as usize] -= 1;
        if self.uses[root as usize] != 0 {
            return (root, 0);
        }
        let Some(held) = self.held[root as usize].take() else { return (root, 0) };
        self.out.held[held as usize].end = at;
        if !self.freed[root as usize] && self.ends(root, at) {
            self.freed[root as usize] = true;
        }
        (root, -1)
    }

    fn ends(&mut self, buffer: u32, at: u32) -> bool {
        let Some(place) = self.span[buffer as usize] else { return false };
        self.out.spans[place as usize].last = at;
        true
    }
}

/// Replays events about buffers `0..buffers`; events about other numbers change nothing. The columns have one length.
pub fn replay(buffers: usize, kind: &[u8], buffer: &[i64], canonical: &[i64]) -> Replay {
    let known = |number: i64| u32::try_from(number).ok().filter(|&number| (number as usize) < buffers);
    let mut books = Books::new(buffers, kind.len());
    for (at, ((&kind, &buffer), &canonical)) in kind.iter().zip(buffer).zip(canonical).enumerate() {
        let Some(buffer) = known(buffer) else { continue };
        let (storage, change) = match (kind, known(canonical)) {
            (ALLOCATE, _) => books.allocate(buffer, at as u32),
            (FREE, _) => books.free(buffer, at as u32),
            (SHARE, Some(canonical)) => books.share(buffer, canonical, at as u32),
            _ => continue,
        };
        (books.out.storage[at], books.out.change[at]) = (storage, change);
    }
    books.out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(replay: &Replay) -> Vec<(u32, u32, u32)> {
        replay.held.iter().map(|held| (held.shown, held.begin, held.end)).collect()
    }

    #[test]
    fn storage_is_freed_after_its_last_use() {
        let replay = replay(3, &[0, 2, 1, 0, 1], &[0, 1, 0, 2, 1], &[NO_BUFFER, 0, NO_BUFFER, NO_BUFFER, NO_BUFFER]);
        assert_eq!((&replay.storage[..], &replay.change[..]), (&[0, 0, 0, 2, 0][..], &[1, 0, 0, 1, -1][..]));
        assert_eq!(held(&replay), [(0, 0, 4), (2, 3, 5)]);
        let spans: Vec<_> = replay.spans.iter().map(|span| (span.buffer, span.first, span.last)).collect();
        assert_eq!(spans, [(0, 0, 4), (2, 3, 4)]);
    }

    #[test]
    fn freed_storage_may_be_taken_over() {
        let replay = replay(2, &[0, 1, 2, 1], &[0, 0, 1, 1], &[0, 0, 0, 0]);
        assert_eq!((replay.change.clone(), held(&replay)), (vec![1, -1, 1, -1], vec![(0, 0, 1), (1, 2, 3)]));
    }

    #[test]
    fn rings_long_chains_and_unknown_buffers_do_no_harm() {
        let ring = replay(2, &[2, 2, 1, 1, 2], &[0, 1, 0, 1, 0], &[1, 0, 0, 0, 0]);
        assert_eq!(ring.storage, [1, 1, 1, 1, 1]);
        assert_eq!(replay(1, &[0, 7, 2, 0], &[9, 0, 0, -5], &[0, 0, 4, 0]).change, [0, 0, 0, 0]);
        let many = 100_000;
        let (next, last): (Vec<i64>, Vec<i64>) = (1..many).map(|i| (i, i - 1)).unzip();
        assert_eq!(replay(many as usize, &vec![2; next.len()], &next, &last).storage[next.len() - 1], 0);
    }
}
