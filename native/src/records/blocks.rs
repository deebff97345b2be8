//! Where chunks are: block headers, chunk headers, and the bytes of a chunk without the block headers in between.

use std::borrow::Cow;

use highway::{HighwayHash, HighwayHasher, Key};

pub const BLOCK: usize = 1 << 16;
const BLOCK_HEADER: usize = 24;
const USABLE: usize = BLOCK - BLOCK_HEADER;
const CHUNK_HEADER: usize = 40;

/// Minimum size of a chunk.
pub const SMALLEST: usize = CHUNK_HEADER;

/// "Riegeli/", "records\n", twice.
const KEY: [u64; 4] = [0x2f69_6c65_6765_6952, 0x0a73_6472_6f63_6572, 0x2f69_6c65_6765_6952, 0x0a73_6472_6f63_6572];

/// The hash of headers and data.
pub fn hash(bytes: &[u8]) -> u64 {
    HighwayHasher::new(Key(KEY)).hash64(bytes)
}

fn word(bytes: &[u8], index: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(index * 8..)?.first_chunk()?))
}

/// The fields of an intact block header: distances to the begin and from the block's begin to the end of the chunk that
/// it interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub previous: u64,
    pub next: u64,
}

/// The block header at `at`, a multiple of the block size; None if it is damaged.
pub fn block_at(data: &[u8], at: usize) -> Option<Block> {
    let bytes = *data.get(at..)?.first_chunk::<BLOCK_HEADER>()?;
    let block = Block { previous: word(&bytes, 1)?, next: word(&bytes, 2)? };
    let possible = block.previous as usize % BLOCK < USABLE
        && block.next > 0
        && (block.next - 1) as usize % BLOCK >= BLOCK_HEADER
        && block.previous <= at as u64;
    (word(&bytes, 0)? == hash(&bytes[8..]) && possible).then_some(block)
}

/// The first chunk that begins behind `failed` according to the block headers; None if there is none.
pub fn next_chunk(data: &[u8], failed: usize) -> Option<usize> {
    let mut at = failed.next_multiple_of(BLOCK);
    while at < data.len() {
        if let Some(block) = block_at(data, at) {
            let begin = at - block.previous as usize;
            let end = usize::try_from(block.next).ok().and_then(|next| at.checked_add(next));
            if begin > failed {
                return Some(begin);
            }
            if let Some(end) = end.filter(|&end| end > failed && end < data.len()) {
                return Some(end);
            }
        }
        at += BLOCK;
    }
    None
}

/// `count` bytes of the chunk that begins at `begin`, without block headers; None if the file is too short. Nothing is allocated for bytes that are not there.
fn without_headers(data: &[u8], begin: usize, skip: usize, count: usize) -> Option<Cow<'_, [u8]>> {
    if count > data.len() {
        return None;
    }
    let mut at = advance(begin, skip)?;
    if at % BLOCK == 0 {
        at += BLOCK_HEADER;
    }
    if let Some(part) = data.get(at..at.checked_add(count)?)
        && at / BLOCK == (at + count.max(1) - 1) / BLOCK
    {
        return Some(Cow::Borrowed(part));
    }
    let end = advance(begin, skip.checked_add(count)?)?;
    if end > data.len() {
        return None;
    }
    let mut bytes = Vec::with_capacity(count);
    while bytes.len() < count {
        if at % BLOCK == 0 {
            at += BLOCK_HEADER;
        }
        let stop = (at - at % BLOCK + BLOCK).min(at + count - bytes.len());
        bytes.extend_from_slice(data.get(at..stop)?);
        at = stop;
    }
    Some(Cow::Owned(bytes))
}

/// The position `length` bytes of a chunk behind its begin, counting the block headers in between.
fn advance(begin: usize, length: usize) -> Option<usize> {
    let headers = length.checked_add((begin + USABLE - 1) % BLOCK)? / USABLE;
    begin.checked_add(length)?.checked_add(headers.checked_mul(BLOCK_HEADER)?)
}

/// `at`, or behind the block header that it lies in.
fn possible_boundary(at: usize) -> usize {
    at + (at.wrapping_neg() % BLOCK).saturating_sub(USABLE - 1)
}

/// An intact chunk header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub data_size: u64,
    pub data_hash: u64,
    pub chunk_type: u8,
    pub records: u64,
    pub decoded_size: u64,
}

impl Header {
    /// The header of the chunk that begins at `at`; None if it is damaged or beyond the end.
    pub fn read(data: &[u8], at: usize) -> Option<Header> {
        let bytes = without_headers(data, at, 0, CHUNK_HEADER)?.into_owned();
        let kind = word(&bytes, 3)?;
        (word(&bytes, 0)? == hash(&bytes[8..])).then_some(Header {
            data_size: word(&bytes, 1)?,
            data_hash: word(&bytes, 2)?,
            chunk_type: kind as u8,
            records: kind >> 8,
            decoded_size: word(&bytes, 4)?,
        })
    }

    /// Where the chunk after the one at `at` begins; None if the file ends before the data do.
    pub fn end(&self, data: &[u8], at: usize) -> Option<usize> {
        let size = usize::try_from(self.data_size).ok()?;
        let end = advance(at, size.checked_add(CHUNK_HEADER)?).filter(|&end| end <= data.len())?;
        // A chunk is padded to at least as many bytes as it has records.
        let padded = at.checked_add(usize::try_from(self.records).ok()?).map(possible_boundary)?;
        Some(end.max(padded).min(data.len()))
    }

    /// The data of the chunk at `at`; None if the file ends before they do.
    pub fn data<'d>(&self, data: &'d [u8], at: usize) -> Option<Cow<'d, [u8]>> {
        without_headers(data, at, CHUNK_HEADER, usize::try_from(self.data_size).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fixed first bytes of every file.
    const SIGNATURE: [u8; 64] = [
        0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x91, 0xba,
        0xc2, 0x3c, 0x92, 0x87, 0xe1, 0xa9, 0, 0, 0, 0, 0, 0, 0, 0, 0xe1, 0x9f, 0x13, 0xc0, 0xe9, 0xb1, 0xc3, 0x72,
        0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];

    #[test]
    fn the_signature_of_the_format_is_read() {
        assert_eq!(block_at(&SIGNATURE, 0), Some(Block { previous: 0, next: 64 }));
        let header = Header::read(&SIGNATURE, 0).unwrap();
        let wanted = Header { data_size: 0, data_hash: hash(&[]), chunk_type: b's', records: 0, decoded_size: 0 };
        assert_eq!(header, wanted);
        assert_eq!((header.data(&SIGNATURE, 0).unwrap().len(), header.end(&SIGNATURE, 0)), (0, Some(64)));
    }

    #[test]
    fn a_changed_header_is_damaged() {
        for at in 0..64 {
            let mut bytes = SIGNATURE;
            bytes[at] ^= 1;
            let intact = (block_at(&bytes, 0).is_some(), Header::read(&bytes, 0).is_some());
            assert_eq!(intact, if at < 24 { (false, true) } else { (true, false) }, "{at}");
        }
    }

    #[test]
    fn positions_count_the_headers_of_blocks() {
        assert_eq!(advance(0, 40), Some(64));
        assert_eq!(advance(64, BLOCK - 64), Some(BLOCK));
        assert_eq!(advance(64, BLOCK - 63), Some(BLOCK + 25));
        assert_eq!(advance(0, USABLE + 1), Some(BLOCK + 25));
        assert_eq!(advance(5, usize::MAX - 100), None);
        for (at, wanted) in [(0, 0), (1, 25), (25, 25), (26, 26), (BLOCK, BLOCK), (BLOCK + 1, BLOCK + 25)] {
            assert_eq!(possible_boundary(at), wanted, "{at}");
        }
    }

    /// Positions are counted in 64 bits.
    #[test]
    fn positions_beyond_four_gigabytes() {
        let far = (1usize << 33) + 64;
        assert_eq!(advance(far, BLOCK), Some(far + BLOCK + BLOCK_HEADER));
        let end = advance(64, 1 << 33).unwrap();
        assert_eq!(end - 64 - end / BLOCK * BLOCK_HEADER, 1 << 33);
    }

    #[test]
    fn sizes_that_are_not_there_are_not_believed() {
        let header = Header { data_size: u64::MAX, data_hash: 0, chunk_type: b'r', records: 1, decoded_size: 1 };
        assert_eq!((header.data(&SIGNATURE, 0), header.end(&SIGNATURE, 0)), (None, None));
        let header = Header { data_size: 0, records: (1 << 56) - 1, ..header };
        assert_eq!(header.end(&SIGNATURE, 0), Some(64));
    }
}
