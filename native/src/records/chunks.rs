//! The records of one chunk.

use super::blocks::Header;
use super::compression::{self, Limit, varint};
use super::reason::Reason;

pub const SIGNATURE: u8 = b's';
const METADATA: u8 = b'm';
const PADDING: u8 = b'p';
const SIMPLE: u8 = b'r';
const TRANSPOSED: u8 = b't';

/// A chunk whose data match their hash.
pub struct Chunk<'a> {
    pub header: &'a Header,
    pub data: &'a [u8],
}

/// Whether a chunk may hold records; the data of others are not read.
pub fn may_hold_records(header: &Header) -> bool {
    !matches!(header.chunk_type, SIGNATURE | METADATA | PADDING) && header.records > 0
}

impl Chunk<'_> {
    /// Appends the records to `values` and returns their sizes. An error may leave some bytes behind.
    pub fn records(&self, values: &mut Vec<u8>, limit: &mut Limit) -> Result<Vec<usize>, Reason> {
        match self.header.chunk_type {
            _ if !may_hold_records(self.header) => Ok(Vec::new()),
            SIMPLE => self.simple(values, limit),
            TRANSPOSED => Err(Reason::Transposed),
            unknown => Err(Reason::Type(unknown)),
        }
    }

    /// A compression type, sizes, values.
    fn simple(&self, values: &mut Vec<u8>, limit: &mut Limit) -> Result<Vec<usize>, Reason> {
        let (&kind, rest) = self.data.split_first().ok_or(Reason::Sizes)?;
        let (length, rest) = varint(rest).ok_or(Reason::Sizes)?;
        let (sizes, rest) =
            usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length)).ok_or(Reason::Sizes)?;
        let mut packed = Vec::new();
        compression::decompress(kind, sizes, &mut packed, limit)?;
        let sizes = read_sizes(&packed, self.header.records, self.header.decoded_size).ok_or(Reason::Sizes)?;
        let before = values.len();
        compression::decompress(kind, rest, values, limit)?;
        if (values.len() - before) as u64 != self.header.decoded_size {
            return Err(Reason::Sizes);
        }
        Ok(sizes)
    }
}

/// `count` varints that add up to `total`.
fn read_sizes(mut packed: &[u8], count: u64, total: u64) -> Option<Vec<usize>> {
    let mut sizes = Vec::new();
    let mut sum = 0u64;
    while !packed.is_empty() {
        let (size, rest) = varint(packed)?;
        sum = sum.checked_add(size).filter(|&sum| sum <= total)?;
        sizes.push(usize::try_from(size).ok()?);
        packed = rest;
    }
    (sizes.len() as u64 == count && sum == total).then_some(sizes)
}

#[cfg(test)]
mod tests {
    use super::super::blocks;
    use super::*;

    fn read(chunk_type: u8, records: u64, decoded_size: u64, data: &[u8]) -> Result<(Vec<usize>, Vec<u8>), Reason> {
        let header =
            Header { data_size: data.len() as u64, data_hash: blocks::hash(data), chunk_type, records, decoded_size };
        let mut values = Vec::new();
        let sizes = Chunk { header: &header, data }.records(&mut values, &mut Limit::of(1 << 20, 1 << 20, 0, 1))?;
        Ok((sizes, values))
    }

    #[test]
    fn an_uncompressed_chunk() {
        assert_eq!(read(b'r', 2, 3, b"\0\x02\x01\x02abc"), Ok((vec![1, 2], b"abc".to_vec())));
        assert_eq!(read(b'r', 2, 0, b"\0\x02\0\0"), Ok((vec![0, 0], vec![])));
    }

    #[test]
    fn sizes_that_do_not_add_up() {
        for (records, total, data) in [
            (3, 3, &b"\0\x02\x01\x02abc"[..]),
            (2, 4, b"\0\x02\x01\x02abcd"),
            (2, 3, b"\0\x02\x01\x02abcd"),
            (1, 3, b"\0\x02\x01\x02abc"),
            (1, 0, b"\0\x01\x80"),
            (1, 9, b"\0\x09\x01"),
            (1, 0, b""),
            (1, u64::MAX, b"\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        ] {
            assert_eq!(read(b'r', records, total, data), Err(Reason::Sizes), "{data:?}");
        }
    }

    #[test]
    fn other_chunks() {
        for known in *b"smp" {
            assert_eq!(read(known, 0, 0, b"anything"), Ok((vec![], vec![])));
        }
        assert_eq!(read(b't', 1, 1, b"x"), Err(Reason::Transposed));
        assert_eq!(read(b'x', 1, 1, b"x"), Err(Reason::Type(b'x')));
        assert_eq!(read(b'x', 0, 0, b"x"), Ok((vec![], vec![])));
    }
}
