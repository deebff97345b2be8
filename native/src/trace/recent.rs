//! Parts of earlier answers and such as were prepared, which a window that shows the same uses again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::deflate::Packed;

/// Bytes that are kept, of all traces together.
const ROOM: usize = 48 << 20;

/// Fewer places are written again faster than they are looked up.
const FEW: usize = 1024;

static KEPT: Mutex<Kept> = Mutex::new(Kept { parts: VecDeque::new(), bytes: 0 });

/// The parts of one trace.
pub struct Recent {
    trace: u64,
}

impl Default for Recent {
    fn default() -> Self {
        static LATEST: AtomicU64 = AtomicU64::new(0);
        Recent { trace: LATEST.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Recent {
    fn drop(&mut self) {
        kept().forget(self.trace);
    }
}

impl Recent {
    /// The part with exactly these places in the order.
    pub fn get(&self, pid_offset: u32, places: &[u32]) -> Option<Arc<Packed>> {
        kept().get((self.trace, pid_offset), places)
    }

    /// Keeps a part.
    pub fn put(&self, pid_offset: u32, places: Vec<u32>, packed: &Arc<Packed>) {
        if places.len() >= FEW {
            kept().put(Part { of: (self.trace, pid_offset), places, packed: Arc::clone(packed) });
        }
    }

    pub fn bytes(&self) -> usize {
        kept().parts.iter().filter(|part| part.of.0 == self.trace).map(Part::bytes).sum()
    }
}

/// Whatever a thread did that panicked, parts are whole, and the bound is only a bound.
fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Parts by what is in them; those that were not used for longest go first.
struct Kept {
    parts: VecDeque<Part>,
    bytes: usize,
}

struct Part {
    /// Trace and what is added to its process ids.
    of: (u64, u32),
    places: Vec<u32>,
    packed: Arc<Packed>,
}

impl Part {
    fn bytes(&self) -> usize {
        4 * self.places.len() + self.packed.pages.iter().map(Vec::capacity).sum::<usize>()
    }
}

impl Kept {
    fn get(&mut self, of: (u64, u32), places: &[u32]) -> Option<Arc<Packed>> {
        let fits = |part: &Part| part.of == of && part.places.first() == places.first() && part.places == places;
        let at = self.parts.iter().position(fits)?;
        let part = self.parts.remove(at)?;
        let packed = Arc::clone(&part.packed);
        self.parts.push_back(part);
        Some(packed)
    }

    fn put(&mut self, part: Part) {
        self.bytes += part.bytes();
        self.parts.push_back(part);
        while self.bytes > ROOM {
            let Some(oldest) = self.parts.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }

    fn forget(&mut self, trace: u64) {
        self.parts.retain(|part| part.of.0 != trace);
        self.bytes = self.parts.iter().map(Part::bytes).sum();
    }
}

/// Who may prepare parts that nobody has asked for yet: one at a time, and only while nobody asks.
#[derive(Default)]
pub struct Ahead {
    asked: AtomicU64,
    busy: AtomicBool,
}

impl Ahead {
    /// Somebody asks, so that whoever prepares stops.
    pub fn asked(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// Does `work`, which asks now and then whether it may go on, unless somebody does already.
    pub fn prepare(&self, work: impl FnOnce(&dyn Fn() -> bool)) {
        if self.busy.swap(true, Ordering::Acquire) {
            return;
        }
        let turn = self.asked.load(Ordering::Relaxed);
        work(&|| self.asked.load(Ordering::Relaxed) == turn);
        self.busy.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::super::pack::part;
    use super::*;

    fn places(first: u32) -> Vec<u32> {
        (first..first + 2000).collect()
    }

    #[test]
    fn exactly_the_same_places_of_the_same_trace_are_found() {
        let packed = Arc::new(part(b"kept", None));
        let (recent, other) = (Recent::default(), Recent::default());
        recent.put(7, places(0), &packed);
        assert!(recent.get(7, &places(0)).is_some_and(|found| Arc::ptr_eq(&found, &packed)));
        assert!(other.get(7, &places(0)).is_none() && recent.get(8, &places(0)).is_none());
        assert!(recent.get(7, &places(0)[..1999]).is_none() && recent.get(7, &places(1)).is_none());
        recent.put(7, vec![1], &packed);
        assert!(recent.get(7, &[1]).is_none(), "not worth it");
        let trace = recent.trace;
        drop(recent);
        assert!(kept().get((trace, 7), &places(0)).is_none());
    }

    #[test]
    fn those_that_were_not_used_for_longest_go_first() {
        let mut kept = Kept { parts: VecDeque::new(), bytes: 0 };
        let large = Arc::new(part(&vec![0; ROOM / 2 - 100_000], None));
        let put = |kept: &mut Kept, first| {
            kept.put(Part { of: (1, 7), places: places(first), packed: Arc::clone(&large) });
        };
        let found = |kept: &mut Kept| [0, 1, 2].map(|first| kept.get((1, 7), &places(first)).is_some());
        put(&mut kept, 0);
        put(&mut kept, 1);
        assert_eq!(found(&mut kept), [true, true, false]);
        assert!(kept.get((1, 7), &places(0)).is_some());
        put(&mut kept, 2);
        assert_eq!(found(&mut kept), [true, false, true]);
        assert!(kept.bytes <= ROOM);
        kept.forget(1);
        assert_eq!((found(&mut kept), kept.bytes), ([false; 3], 0));
    }

    #[test]
    fn who_prepares_stops_when_somebody_asks() {
        let ahead = Ahead::default();
        let mut seen = Vec::new();
        ahead.prepare(|go_on| {
            seen.push(go_on());
            ahead.prepare(|_| unreachable!("one at a time"));
            ahead.asked();
            seen.push(go_on());
        });
        assert_eq!(seen, [true, false]);
        ahead.prepare(|go_on| seen.push(go_on()));
        assert_eq!(seen, [true, false, true]);
    }
}
