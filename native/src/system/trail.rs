//! One pass over a mapped file that keeps only the last few megabytes of it in memory.

/// Bytes that a pass keeps behind itself before it gives them back: few calls, and little memory per thread.
pub const WINDOW: usize = 4 << 20;

/// Fewer bytes than this are not worth a system call.
const LEAST: usize = WINDOW / 16;

/// The bytes of one pass, and how far they are given back.
pub struct Trail<'a> {
    bytes: &'a [u8],
    done: usize,
}

impl<'a> Trail<'a> {
    /// A pass over `bytes` that begins at `from`.
    pub fn new(bytes: &'a [u8], from: usize) -> Self {
        Trail { bytes, done: from }
    }

    /// To be called as the pass reaches `at`: what lies behind is given back once it is a window.
    #[inline(always)]
    pub fn reach(&mut self, at: usize) {
        if at.saturating_sub(self.done) >= WINDOW {
            self.give_back(at);
        }
    }

    /// At the end of the pass: gives back what is left.
    pub fn end(mut self, at: usize) {
        if at.saturating_sub(self.done) >= LEAST {
            self.give_back(at);
        }
    }

    #[cold]
    fn give_back(&mut self, at: usize) {
        #[cfg(unix)]
        if let Some(behind) = self.bytes.get(self.done..at) {
            super::mapped::release_within(behind);
        }
        self.done = at;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::{File, read_to_string, remove_file};
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use super::*;
    use crate::system::mapped::MappedFile;

    /// KiB of the mapping at this address that are in this process.
    fn resident(bytes: &[u8]) -> usize {
        let start = format!("{:x}-", bytes.as_ptr() as usize);
        let maps = read_to_string("/proc/self/smaps").unwrap();
        let of_mapping = maps.lines().skip_while(|line| !line.starts_with(&start));
        let size = of_mapping.skip(1).find_map(|line| line.strip_prefix("Rss:")).unwrap();
        size.trim_end_matches("kB").trim().parse().unwrap()
    }

    #[test]
    fn a_pass_keeps_a_window_of_a_mapped_file() {
        let path = std::env::temp_dir().join(format!("trail-{}", std::process::id()));
        let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        file.write_all(&vec![7u8; 6 * WINDOW]).unwrap();
        let mapped = MappedFile::new(file.as_raw_fd(), 6 * WINDOW).unwrap();
        let mut trail = Trail::new(&mapped, 5);
        for at in 5..mapped.len() {
            assert_eq!(mapped[at], 7);
            trail.reach(at);
            if at % WINDOW == 1000 {
                assert!(resident(&mapped) <= (WINDOW + (1 << 20)) / 1024, "at {at}");
            }
        }
        trail.end(mapped.len());
        assert!(resident(&mapped) <= 64, "the first bytes share their page with what lies before");
        assert!(mapped.iter().all(|&byte| byte == 7), "the bytes come back");
        remove_file(&path).unwrap();
    }

    #[test]
    fn other_memory_stays_as_it_is() {
        let bytes = vec![7u8; 2 * WINDOW + 9];
        let mut trail = Trail::new(&bytes, 1);
        trail.reach(WINDOW + 1);
        trail.end(bytes.len());
        Trail::new(&bytes, 9).end(3);
        Trail::new(&bytes, 9).end(usize::MAX);
        assert!(bytes.iter().all(|&byte| byte == 7));
    }
}
