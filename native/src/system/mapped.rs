//! Mapped files that may shrink: missing pages read as zeros and are counted, instead of ending the process.
//!
//! Reading a page of a mapping that its file no longer has (it was truncated, or the disk or the network behind it
//! failed) raises SIGBUS. If the address is in a mapping of ours, the handler maps zero pages over the rest of that mapping,
//! counts the fault and returns, so that the read is repeated. Any other SIGBUS goes to the previous handler.
//!
//! Why the handler never replaces other memory: the range of a mapping is one atomic word, so the handler reads a range
//! that was registered or none, never parts of two, whatever other threads register meanwhile. A range is registered after
//! `mmap` and removed before `munmap`, and mappings do not overlap. So if a range contains the address that a thread is
//! reading at this moment, the read is from that mapping, and the mapping lives as long as the reference to it.
//! A signal handler can only use globals; these are the only ones of the crate.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use libc::{c_int, sigaction, siginfo_t};

/// More mappings than this are refused; a server keeps one per decoded file.
const SLOTS: usize = 4096;

/// Bits of a range that count its pages: up to 1 TiB. The others hold the number of its first page.
const COUNT_BITS: u32 = 28;

/// Ranges of the mappings (see `Pages`); 0 where there is none.
static RANGES: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
/// Slots from this index were never used.
static USED: AtomicUsize = AtomicUsize::new(0);
static TORN: AtomicU64 = AtomicU64::new(0);
static PREVIOUS: AtomicPtr<sigaction> = AtomicPtr::new(ptr::null_mut());
static REGISTERING: Mutex<()> = Mutex::new(());

/// A mapped file, read-only.
pub struct MappedFile {
    start: *mut c_void,
    length: usize,
    slot: usize,
}

// SAFETY: the memory is only read, and belongs to the value.
unsafe impl Send for MappedFile {}
unsafe impl Sync for MappedFile {}

impl MappedFile {
    /// Maps the first bytes of an open file. None when it cannot be mapped, or not be guarded.
    pub fn new(descriptor: c_int, length: usize) -> Option<Self> {
        let handled = installed();
        let count =
            u64::try_from(length.div_ceil(page_size())).ok().filter(|count| (1..1 << COUNT_BITS).contains(count));
        let count = count.filter(|_| handled)?;
        // SAFETY: a new mapping at an address of the system's choice; a descriptor that is not open is an error.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, descriptor, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let slot = Pages::of(start as usize, count).and_then(register);
        if slot.is_none() {
            // SAFETY: nothing refers to the mapping yet.
            unsafe { libc::munmap(start, length) };
        }
        Some(MappedFile { start, length, slot: slot? })
    }

    /// Gives the pages back to the system; those that are read again come from its cache.
    pub fn release_pages(&self) {
        // SAFETY: the pages of a shared, read-only mapping are those of its file, before and after.
        unsafe { libc::madvise(self.start, self.length, libc::MADV_DONTNEED) };
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping lives as long as the value, and every page of it can be read.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.length) }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        RANGES[self.slot].store(0, Ordering::SeqCst);
        // SAFETY: nothing refers to the mapping any more.
        unsafe { libc::munmap(self.start, self.length) };
    }
}

/// A range of pages in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pages(u64);

impl Pages {
    /// None when the address has more bits than fit; systems return such addresses only on explicit request.
    fn of(start: usize, count: u64) -> Option<Self> {
        let first = (start / page_size()) as u64;
        (first >> (u64::BITS - COUNT_BITS) == 0).then_some(Pages(first << COUNT_BITS | count))
    }

    /// First address and first address behind it.
    fn bounds(self) -> (usize, usize) {
        let (first, count) = ((self.0 >> COUNT_BITS) as usize, (self.0 & ((1 << COUNT_BITS) - 1)) as usize);
        (first * page_size(), (first + count) * page_size())
    }
}

/// Takes a slot; None when all are taken.
fn register(pages: Pages) -> Option<usize> {
    let _lock = REGISTERING.lock().ok()?;
    let slot = RANGES.iter().position(|range| range.load(Ordering::SeqCst) == 0)?;
    RANGES[slot].store(pages.0, Ordering::SeqCst);
    USED.fetch_max(slot + 1, Ordering::SeqCst);
    Some(slot)
}

/// Gives the pages that lie whole within `bytes` back to the system, if these are of one mapping; those that are read
/// again come from its cache. Other memory stays as it is.
pub fn release_within(bytes: &[u8]) {
    let range = bytes.as_ptr_range();
    let first = (range.start as usize).next_multiple_of(page_size());
    let last = range.end as usize / page_size() * page_size();
    if first >= last || mapping_of(first).is_none_or(|(_, end)| last > end) {
        return;
    }
    // SAFETY: the bytes are borrowed, so the mapping that they are in lives; the pages of a shared, read-only mapping are
    // those of its file before and after, and the zero pages over a lost part stay zero.
    unsafe { libc::madvise(first as *mut c_void, last - first, libc::MADV_DONTNEED) };
}

/// The bounds of the mapping that holds an address.
fn mapping_of(address: usize) -> Option<(usize, usize)> {
    let ranges = &RANGES[..USED.load(Ordering::SeqCst)];
    let mut bounds = ranges.iter().map(|range| Pages(range.load(Ordering::SeqCst)).bounds());
    bounds.find(|&(start, end)| (start..end).contains(&address))
}

fn page_size() -> usize {
    static SIZE: AtomicUsize = AtomicUsize::new(0);
    let known = SIZE.load(Ordering::Relaxed);
    if known > 0 {
        return known;
    }
    // SAFETY: reads a setting of the system.
    let size = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    SIZE.store(size, Ordering::Relaxed);
    size
}

/// How often a mapping had lost pages, since the process began.
pub fn torn() -> u64 {
    TORN.load(Ordering::SeqCst)
}

/// Installs our handler, also over one that was installed after ours; false when that fails.
fn installed() -> bool {
    let ours = on_sigbus as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
    let Ok(_lock) = REGISTERING.lock() else { return false };
    // SAFETY: system calls on structures of ours; the previous action is kept for good, as the handler needs it.
    unsafe {
        let mut now = MaybeUninit::<sigaction>::zeroed().assume_init();
        if sigaction(libc::SIGBUS, ptr::null(), &mut now) != 0 {
            return false;
        }
        if now.sa_sigaction == ours {
            return true;
        }
        PREVIOUS.store(Box::into_raw(Box::new(now)), Ordering::SeqCst);
        let mut action = MaybeUninit::<sigaction>::zeroed().assume_init();
        action.sa_sigaction = ours;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        sigaction(libc::SIGBUS, &action, ptr::null_mut()) == 0
    }
}

/// Only what a signal handler may do: atomics, mmap, sigaction.
extern "C" fn on_sigbus(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel hands a valid `info`; the previous action is never freed.
    unsafe {
        let sent = is_sent((*info).si_code);
        if !sent && replaced((*info).si_addr() as usize) {
            return;
        }
        let previous = PREVIOUS.load(Ordering::SeqCst);
        if previous.is_null() || (*previous).sa_sigaction == libc::SIG_IGN {
            libc::signal(signal, libc::SIG_DFL); // an ignored fault would come back for ever
        } else {
            sigaction(signal, previous, ptr::null_mut());
        }
        if sent {
            libc::raise(signal);
        } // else the read is tried again, and the fault goes to the previous handler
    }
}

/// Whether a signal was sent by a program (kill, sigqueue) rather than raised by a read: Linux numbers such causes from 0
/// down, macOS and the BSDs from 0x10001 up; causes of a fault are small positive numbers everywhere.
fn is_sent(cause: c_int) -> bool {
    cause <= 0 || cause > 0x10000
}

/// Puts zero pages over the rest of a mapping from this address on; false when it is in no mapping.
fn replaced(address: usize) -> bool {
    let Some((_, end)) = mapping_of(address) else { return false };
    let from = address & !(page_size() - 1);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the pages are of a mapping that a thread is just reading (see the head of the module), and read-only.
    let got = unsafe { libc::mmap(from as *mut c_void, end - from, libc::PROT_READ, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        return false;
    }
    TORN.fetch_add(1, Ordering::SeqCst);
    true
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::thread;

    use super::*;

    fn file_of(pages: usize, name: &str) -> (File, std::path::PathBuf) {
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        file.write_all(&vec![7u8; pages * page_size()]).unwrap();
        (file, path)
    }

    #[test]
    fn a_truncated_mapping_reads_zeros_and_is_counted() {
        let (file, path) = file_of(10, "truncated");
        let mapped = MappedFile::new(file.as_raw_fd(), 10 * page_size()).unwrap();
        let before = torn();
        assert!(mapped.iter().all(|&byte| byte == 7));
        assert_eq!(torn(), before);
        file.set_len(page_size() as u64 + 1).unwrap();
        // SAFETY: a reference to a byte of the mapping.
        let read = |at: usize| u64::from(unsafe { ptr::read_volatile(&mapped[at]) });
        assert_eq!((0..mapped.len()).map(read).sum::<u64>(), 7 * (page_size() as u64 + 1));
        assert_eq!(torn(), before + 1);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn causes_of_signals_on_linux_and_macos() {
        let [address_error, by_kill, by_sigqueue, by_kill_on_macos] = [2, 0, -1, 0x10001];
        assert!(!is_sent(address_error));
        assert!(is_sent(by_kill) && is_sent(by_sigqueue) && is_sent(by_kill_on_macos));
    }

    #[test]
    fn what_cannot_be_mapped_is_refused() {
        assert!(MappedFile::new(-1, 4096).is_none());
        assert!(MappedFile::new(0, 0).is_none());
        assert!(MappedFile::new(0, usize::MAX).is_none());
        assert_eq!(Pages::of(usize::MAX, 1), None);
    }

    #[test]
    fn ranges_are_seen_whole_while_other_threads_register() {
        let (file, path) = file_of(64, "registered");
        let descriptor = file.as_raw_fd();
        let still = MappedFile::new(descriptor, 8 * page_size()).unwrap();
        let bounds = (still.as_ptr() as usize, still.as_ptr() as usize + still.len());
        thread::scope(|scope| {
            let changing = |pages: usize| {
                move || {
                    for _ in 0..3000 {
                        let mapped = MappedFile::new(descriptor, pages * page_size()).unwrap();
                        assert_eq!(
                            mapping_of(&raw const mapped[0] as usize).unwrap().1 - mapped.as_ptr() as usize,
                            mapped.len()
                        );
                    }
                }
            };
            scope.spawn(changing(1));
            scope.spawn(changing(64));
            scope.spawn(|| {
                for _ in 0..100_000 {
                    assert_eq!(mapping_of(bounds.0), Some(bounds));
                    assert_eq!(mapping_of(bounds.1 - 1), Some(bounds));
                    assert_eq!(mapping_of(page_size()), None, "nothing is ever mapped there");
                }
            });
        });
        assert!(USED.load(Ordering::SeqCst) < 16, "slots are used again");
        std::fs::remove_file(&path).unwrap();
    }
}
