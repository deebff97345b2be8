//! Riegeli/records files, in which profilers save a long capture part by part: every record is an XSpace.
//!
//! Facts: the file format document of github.com/google/riegeli. A file is a sequence of chunks, interrupted by a block
//! header at every 64 KiB. Headers and data carry hashes, so damaged parts are found, left out and reported; reading
//! goes on behind them. The records become the bytes of one XSpace (`merge`).

pub mod blocks;
mod chunks;
mod compression;
mod merge;
mod reason;
mod rewrite;

use blocks::{BLOCK, Header};
use chunks::Chunk;
pub use compression::Limit;
pub use reason::Reason;

/// Regions beyond these are counted in the last one.
const MOST_REGIONS: usize = 64;

/// Bytes of the file that were left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    pub offset: u64,
    pub bytes: u64,
    pub reason: Reason,
}

/// What a file holds.
#[derive(Debug)]
pub struct Contents {
    /// The bytes of one XSpace.
    pub space: Vec<u8>,
    /// How many records it was made of.
    pub records: usize,
    pub skipped: Vec<Region>,
}

/// Whether the bytes are a record file: the header of the first block, the first chunk or the second block is intact.
pub fn is_records(data: &[u8]) -> bool {
    blocks::block_at(data, 0).is_some()
        || Header::read(data, 0).is_some_and(|header| header.chunk_type == chunks::SIGNATURE)
        || blocks::block_at(data, BLOCK).is_some()
}

/// The records of a file as one XSpace. Never fails: without a readable record the space is empty.
pub fn to_space(data: &[u8], mut limit: Limit) -> Contents {
    let mut found = Found::default();
    let mut at = 0;
    while at < data.len() {
        at = match Header::read(data, at) {
            None => {
                let next = blocks::next_chunk(data, at).unwrap_or(data.len());
                let reason = if data.len() - at < blocks::SMALLEST { Reason::Truncated } else { Reason::Header };
                found.skip(at, next, reason);
                next
            }
            Some(header) => found.chunk(data, at, &header, &mut limit),
        };
    }
    let records = found.ranges.len();
    let Found { values, ranges, skipped } = found;
    let space = match ranges.as_slice() {
        [only] if *only == (0..values.len()) => values,
        _ => merge::merge(&ranges.into_iter().map(|range| &values[range]).collect::<Vec<_>>()),
    };
    Contents { space, records, skipped }
}

/// The records of a file so far.
#[derive(Default)]
struct Found {
    values: Vec<u8>,
    ranges: Vec<std::ops::Range<usize>>,
    skipped: Vec<Region>,
}

impl Found {
    /// Reads the chunk at `at` and returns where the next one begins.
    fn chunk(&mut self, data: &[u8], at: usize, header: &Header, limit: &mut Limit) -> usize {
        let Some(end) = header.end(data, at) else {
            let next = blocks::next_chunk(data, at).unwrap_or(data.len());
            self.skip(at, next, Reason::Truncated);
            return next;
        };
        if !chunks::may_hold_records(header) {
            return end;
        }
        // A copy: the hash must be that of the bytes that are decompressed, and a file may change.
        let bytes = header.data(data, at).unwrap_or_default().into_owned();
        if blocks::hash(&bytes) != header.data_hash {
            self.skip(at, end, Reason::Data);
            return end;
        }
        let before = self.values.len();
        match (Chunk { header, data: &bytes }).records(&mut self.values, limit) {
            Err(reason) => {
                self.values.truncate(before);
                self.skip(at, end, reason);
            }
            Ok(sizes) => self.add(before, &sizes, at, end),
        }
        end
    }

    /// Adds the records that are XSpaces.
    fn add(&mut self, mut begin: usize, sizes: &[usize], at: usize, end: usize) {
        for &size in sizes {
            let range = begin..begin + size;
            begin = range.end;
            match merge::check(&self.values[range.clone()]) {
                Ok(()) => self.ranges.push(range),
                Err(error) => self.skip(at, end, Reason::Record(error.to_string())),
            }
        }
    }

    fn skip(&mut self, begin: usize, end: usize, reason: Reason) {
        let (offset, bytes) = (begin as u64, (end - begin) as u64);
        let full = self.skipped.len() == MOST_REGIONS;
        match self.skipped.last_mut() {
            // Two records of one chunk.
            Some(last) if last.offset == offset => {}
            Some(last) if full || (last.reason == reason && last.offset + last.bytes == offset) => last.bytes += bytes,
            _ => self.skipped.push(Region { offset, bytes, reason }),
        }
    }
}
