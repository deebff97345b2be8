//! A gzip file that is handed out while its later parts are still being written.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::checksum;
use super::deflate::Packed;
use super::pack::{Taker, part};
use crate::memory::ask_for_huge_pages;
use crate::parallel;

/// Before the first part: the file's header.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// Behind the last part: an empty last block.
const LAST: [u8; 5] = [1, 0, 0, 0xff, 0xff];

/// Bytes that one thread puts together; threads cost more than a small file.
const ALONE: usize = 1 << 20;

/// The file. Letting go of it ends the writing.
pub struct Delivery {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    gone: AtomicBool,
    written: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// By place in the file, with the number of events; those that are not written yet are missing.
    parts: Vec<Option<(usize, Arc<Packed>)>>,
    /// Whether the writing has ended, and whether well.
    ended: Option<bool>,
}

/// The writing failed; the thread that failed has said why.
#[derive(Debug, PartialEq, Eq)]
pub struct Failed;

impl Delivery {
    /// Starts to write `head`, what `work` gives, and what `tail` makes of the number of events.
    ///
    /// Everything is written before this returns if that is wanted (`at_once`), or no thread can be started.
    pub fn start(
        at_once: bool,
        head: Vec<Packed>,
        work: impl Fn(&dyn Taker) + Send + Sync + 'static,
        tail: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        let first = Packed { pages: vec![HEAD.to_vec()], length: 0, register: 0 };
        let front: Vec<_> = [first].into_iter().chain(head).map(|part| Some((0, Arc::new(part)))).collect();
        let before = front.len();
        shared.lock().parts = front;
        let writer = Writer { shared: Arc::clone(&shared), before };
        let write = Arc::new(move || {
            let end = End(&writer.shared);
            work(&writer);
            end.well(&tail);
        });
        let started = Arc::clone(&write);
        let spawn = || thread::Builder::new().name("timeline-json".into()).spawn(move || started());
        if at_once || spawn().is_err() {
            write();
        }
        Delivery { shared }
    }

    /// The parts from `at` on that are there, at least one and about `most` bytes; waits for it. None at the end.
    pub fn read(&self, at: usize, most: usize) -> Result<Vec<Arc<Packed>>, Failed> {
        let mut state = self.shared.lock();
        loop {
            let mut left = Some(most);
            let ready = state.parts.iter().skip(at).map_while(|part| {
                let (_, part) = part.as_ref()?;
                left = left?.checked_sub(part.size());
                Some(Arc::clone(part))
            });
            let ready: Vec<_> = ready.collect();
            match state.ended {
                Some(false) => return Err(Failed),
                None if ready.is_empty() => state = self.shared.wait(state),
                _ => return Ok(ready),
            }
        }
    }

    /// How many parts had to be written so far.
    pub fn written(&self) -> usize {
        self.shared.written.load(Ordering::Relaxed)
    }

    /// All parts, once they are there; there is nothing to be read any more then.
    pub fn take(&self) -> Result<Vec<Arc<Packed>>, Failed> {
        let mut state = self.shared.lock();
        while state.ended.is_none() {
            state = self.shared.wait(state);
        }
        let parts = std::mem::take(&mut state.parts);
        let well = state.ended.replace(false) == Some(true);
        well.then(|| parts.into_iter().flatten().map(|(_, part)| part).collect()).ok_or(Failed)
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.shared.gone.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    /// Parts are put in as a whole, so that they are whole even after a panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts parts where they belong.
struct Writer {
    shared: Arc<Shared>,
    /// Parts in front of the events.
    before: usize,
}

impl Taker for Writer {
    fn take(&self, index: usize, events: usize, part: Arc<Packed>) {
        let mut state = self.shared.lock();
        let place = self.before + index;
        if state.parts.len() <= place {
            state.parts.resize(place + 1, None);
        }
        state.parts[place] = Some((events, part));
        self.shared.changed.notify_all();
    }

    fn wrote(&self) {
        self.shared.written.fetch_add(1, Ordering::Relaxed);
    }

    fn gone(&self) -> bool {
        self.shared.gone.load(Ordering::Relaxed)
    }
}

/// Tells the readers that there is nothing more to come, whatever happened.
struct End<'a>(&'a Shared);

impl End<'_> {
    fn well(self, tail: &dyn Fn(usize) -> Vec<u8>) {
        let mut state = self.0.lock();
        let tail = trailer(&state.parts, tail);
        state.parts.push(Some((0, Arc::new(tail))));
        state.ended = Some(true);
    }
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.lock().ended.get_or_insert(false);
        self.0.changed.notify_all();
    }
}

/// The last part: a text made of the number of events, and the end of the file.
fn trailer(parts: &[Option<(usize, Arc<Packed>)>], text: &dyn Fn(usize) -> Vec<u8>) -> Packed {
    let mut last = part(&text(parts.iter().flatten().map(|(events, _)| events).sum()), None);
    let (mut register, mut length) = (!0, 0u64);
    for part in parts.iter().flatten().map(|(_, part)| &**part).chain([&last]) {
        register = checksum::join(register, part.register, part.length);
        length += part.length;
    }
    last.pages.push([&LAST[..], &(!register).to_le_bytes(), &(length as u32).to_le_bytes()].concat());
    last
}

/// Bytes of some parts.
pub fn size(parts: &[Arc<Packed>]) -> usize {
    parts.iter().map(|part| part.size()).sum()
}

/// Writes parts into memory of exactly their size; every part is dropped once it is there.
pub fn write(parts: Vec<Arc<Packed>>, memory: &mut [u8], threads: usize) {
    if memory.len() != size(&parts) {
        return;
    }
    let threads = if memory.len() > ALONE { threads } else { 1 };
    if threads > 1 {
        ask_for_huge_pages(memory);
    }
    let mut rest = memory;
    let mut jobs = Vec::with_capacity(parts.len());
    for part in parts {
        let (place, left) = std::mem::take(&mut rest).split_at_mut(part.size());
        jobs.push((part, place));
        rest = left;
    }
    let _ = parallel::run(threads, jobs, |(part, mut place): (Arc<Packed>, &mut [u8])| {
        for page in &part.pages {
            let (front, back) = std::mem::take(&mut place).split_at_mut(page.len());
            front.copy_from_slice(page);
            place = back;
        }
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn bytes(parts: Vec<Arc<Packed>>) -> Vec<u8> {
        let mut memory = vec![0; size(&parts)];
        write(parts, &mut memory, 2);
        memory
    }

    /// A gzip file of stored blocks with this text.
    fn stored(texts: &[&str]) -> Vec<u8> {
        let text = texts.concat();
        let blocks = texts.iter().flat_map(|text| super::super::deflate::stored(text.as_bytes()));
        let ends = [&LAST[..], &crc32fast::hash(text.as_bytes()).to_le_bytes(), &(text.len() as u32).to_le_bytes()];
        HEAD.into_iter().chain(blocks).chain(ends.concat()).collect()
    }

    #[test]
    fn parts_are_read_in_order_while_others_are_written() {
        let (go, wait) = mpsc::channel::<()>();
        let wait = Mutex::new(wait);
        let work = move |taker: &dyn Taker| {
            taker.take(1, 30, Arc::new(part(b"second", None)));
            wait.lock().unwrap().recv().unwrap();
            taker.take(0, 12, Arc::new(part(b"first", None)));
        };
        let delivery = Delivery::start(false, vec![part(b"[", None)], work, |count| format!("{count}]").into_bytes());
        let head = delivery.read(0, usize::MAX).unwrap();
        assert_eq!(head.len(), 2, "the first part of the events is missing, so nothing behind it is given");
        go.send(()).unwrap();
        let mut all = head;
        loop {
            let more = delivery.read(all.len(), usize::MAX).unwrap();
            if more.is_empty() {
                break;
            }
            all.extend(more);
        }
        let file = stored(&["[", "first", "second", "42]"]);
        assert_eq!(bytes(all), file);
        assert_eq!(bytes(delivery.read(0, usize::MAX).unwrap()), file, "once more");
        assert_eq!(bytes(delivery.take().unwrap()), file);
        assert_eq!(delivery.read(0, usize::MAX).err(), Some(Failed));
    }

    #[test]
    fn at_once() {
        let here = thread::current().id();
        let work = move |taker: &dyn Taker| {
            assert_eq!(thread::current().id(), here);
            taker.take(0, 3, Arc::new(part(b"events", None)));
        };
        let delivery = Delivery::start(true, Vec::new(), work, |count| format!("{count}").into_bytes());
        assert_eq!(bytes(delivery.take().unwrap()), stored(&["events", "3"]));
    }

    #[test]
    fn a_writer_that_fails_is_told_to_the_readers() {
        let work = |_: &dyn Taker| std::panic::resume_unwind(Box::new("no message"));
        let delivery = Delivery::start(false, Vec::new(), work, |_| Vec::new());
        assert!(delivery.take().is_err());
        assert!(delivery.read(1, usize::MAX).is_err());
    }

    #[test]
    fn a_writer_hears_that_nobody_reads() {
        let (heard, told) = mpsc::channel();
        let heard = Mutex::new(heard);
        let work = move |taker: &dyn Taker| {
            while !taker.gone() {
                thread::yield_now();
            }
            heard.lock().unwrap().send(()).unwrap();
        };
        drop(Delivery::start(false, Vec::new(), work, |_| Vec::new()));
        told.recv_timeout(std::time::Duration::from_secs(10)).unwrap();
    }
}
