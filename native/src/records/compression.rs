//! Decompression, bounded by the size that the file states and by a limit per file.

use std::io::Read;

use super::reason::Reason;

/// Decompressed bytes left to a file.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    total: u64,
    left: u64,
}

impl Limit {
    /// `most` bytes, but no more than `base` and `ratio` times the bytes of the file.
    pub fn of(most: u64, base: u64, file: u64, ratio: u64) -> Self {
        let total = most.min(base.saturating_add(file.saturating_mul(ratio)));
        Limit { total, left: total }
    }

    fn take(&mut self, bytes: u64) -> Result<(), Reason> {
        self.left = self.left.checked_sub(bytes).ok_or(Reason::TooLarge(self.total))?;
        Ok(())
    }
}

/// Maximum ratio of Snappy: three bytes stand for 64 at most.
const SNAPPY_RATIO: u64 = 32;

/// Appends the decompressed bytes. Compressed data begin with their decompressed size.
pub fn decompress(kind: u8, data: &[u8], out: &mut Vec<u8>, limit: &mut Limit) -> Result<(), Reason> {
    if kind == 0 {
        limit.take(data.len() as u64)?;
        out.extend_from_slice(data);
        return Ok(());
    }
    let format = match kind {
        b'b' => "Brotli",
        b'z' => "Zstandard",
        b's' => "Snappy",
        other => return Err(Reason::Compression(other)),
    };
    let (size, body) = varint(data).ok_or(Reason::Decompression(format))?;
    limit.take(size)?;
    let before = out.len();
    let read = match kind {
        b'b' => read_at_most(brotli_decompressor::Decompressor::new(body, 1 << 16), size, out),
        b'z' => ruzstd::decoding::StreamingDecoder::new(body).is_ok_and(|stream| read_at_most(stream, size, out)),
        _ => snappy(body, size, out),
    };
    if !read || (out.len() - before) as u64 != size {
        return Err(Reason::Decompression(format));
    }
    Ok(())
}

/// Reads up to one byte more than `size`, so that a longer stream is noticed; allocates only for bytes that come.
fn read_at_most(stream: impl Read, size: u64, out: &mut Vec<u8>) -> bool {
    stream.take(size.saturating_add(1)).read_to_end(out).is_ok()
}

/// Snappy data state their decompressed size and are decompressed in one piece.
fn snappy(body: &[u8], size: u64, out: &mut Vec<u8>) -> bool {
    let plausible = size <= (body.len() as u64).saturating_mul(SNAPPY_RATIO);
    if !plausible || snap::raw::decompress_len(body).ok().map(|length| length as u64) != Some(size) {
        return false;
    }
    let before = out.len();
    out.resize(before + size as usize, 0);
    snap::raw::Decoder::new().decompress(body, &mut out[before..]).is_ok()
}

/// A varint, and the bytes behind it.
pub fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(7 * i as u32)?;
        if byte < 0x80 {
            return Some((value, &bytes[i + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: u8, data: &[u8], most: u64) -> Result<Vec<u8>, Reason> {
        let mut out = b"before".to_vec();
        decompress(kind, data, &mut out, &mut Limit::of(most, most, 0, 1))?;
        Ok(out.split_off(6))
    }

    /// 26 letters x, as the `brotli`, `zstd` and `snappy` tools compress them, behind their size.
    const X26: [(u8, &[u8]); 3] = [
        (b'b', &[26, 0x1b, 0x19, 0x00, 0x00, 0x24, 0xf0, 0x82, 0x99, 0x40, 0x06]),
        (b'z', b"\x1a\x28\xb5\x2f\xfd\x04\x58\x45\0\0\x10xx\x01\0\x20\xc0\x02\xc5\xd6\xcd\x84"),
        (b's', &[26, 26, 0x00, b'x', 0x62, 0x01, 0x00]),
    ];

    #[test]
    fn every_format() {
        assert_eq!(read(0, b"abc", 3), Ok(b"abc".to_vec()));
        for (kind, data) in X26 {
            assert_eq!(read(kind, data, 26), Ok(vec![b'x'; 26]), "{}", kind as char);
        }
        assert_eq!(read(b'x', b"\x01a", 9), Err(Reason::Compression(b'x')));
    }

    #[test]
    fn no_more_than_the_limit() {
        assert_eq!(read(0, b"abc", 2), Err(Reason::TooLarge(2)));
        for (kind, data) in X26 {
            assert_eq!(read(kind, data, 25), Err(Reason::TooLarge(25)), "{}", kind as char);
        }
        assert_eq!(Limit::of(1000, 10, 5, 100).total, 510);
        assert_eq!(Limit::of(1000, 10, 1 << 60, 100).total, 1000);
    }

    #[test]
    fn another_size_than_the_file_says() {
        for (kind, data) in X26 {
            for size in [25u8, 27] {
                let wrong = [&[size], &data[1..]].concat();
                assert!(matches!(read(kind, &wrong, 100), Err(Reason::Decompression(_))), "{} {size}", kind as char);
            }
            for cut in 0..data.len() {
                assert!(
                    matches!(read(kind, &data[..cut], 100), Err(Reason::Decompression(_))),
                    "{} {cut}",
                    kind as char
                );
            }
        }
        // 2 GiB of nothing are not allocated.
        let huge = [0x80, 0x80, 0x80, 0x80, 8];
        assert_eq!(read(b's', &[&huge[..], &huge, &[0]].concat(), u64::MAX), Err(Reason::Decompression("Snappy")));
    }
}
