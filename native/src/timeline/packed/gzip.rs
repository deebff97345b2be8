//! A gzip file (RFC 1952) whose parts are compressed on their own.

use crc32fast::Hasher;

/// Deflate blocks that end at a byte, none of them the last, with checksum and length of their text.
pub struct Part {
    pub blocks: Vec<u8>,
    pub crc: Hasher,
    /// Bytes of the text.
    pub length: u64,
}

impl Part {
    /// A text that is compressed already.
    pub fn new(text: &[u8], blocks: &[u8]) -> Self {
        let mut crc = Hasher::new();
        crc.update(text);
        Part { blocks: blocks.to_vec(), crc, length: text.len() as u64 }
    }

    /// Blocks whose text is known by its checksum and length alone.
    pub fn known(blocks: &[u8], crc: u32, length: u64) -> Self {
        Part { blocks: blocks.to_vec(), crc: Hasher::new_with_initial_len(crc, length), length }
    }
}

/// Parts one after the other as one.
pub fn joined(parts: Vec<Part>) -> Part {
    let mut whole = Part { blocks: Vec::new(), crc: Hasher::new(), length: 0 };
    whole.blocks.reserve_exact(parts.iter().map(|part| part.blocks.len()).sum());
    for part in parts {
        whole.blocks.extend_from_slice(&part.blocks);
        whole.crc.combine(&part.crc);
        whole.length += part.length;
    }
    whole
}

/// Deflate, no name, no time, fastest method, no system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff];

/// An empty last block.
const LAST: [u8; 2] = [3, 0];

/// Size of the file that has these parts.
pub fn size(parts: &[Part]) -> usize {
    parts.iter().map(|part| part.blocks.len()).sum::<usize>() + HEAD.len() + LAST.len() + 8
}

/// Writes the file; `file` must have its size.
pub fn write(parts: &[Part], file: &mut [u8]) {
    let mut crc = Hasher::new();
    parts.iter().for_each(|part| crc.combine(&part.crc));
    let length: u64 = parts.iter().map(|part| part.length).sum();
    let ends = [crc.finalize().to_le_bytes(), (length as u32).to_le_bytes()];
    let blocks = parts.iter().map(|part| part.blocks.as_slice());
    let all = [&HEAD[..]].into_iter().chain(blocks).chain([&LAST[..], &ends[0], &ends[1]]);
    let mut rest = file;
    for bytes in all {
        let (place, left) = rest.split_at_mut(bytes.len().min(rest.len()));
        place.copy_from_slice(&bytes[..place.len()]);
        rest = left;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    /// Stored blocks: length and its complement in front of the bytes.
    fn stored(text: &[u8]) -> Part {
        let length = text.len() as u16;
        let mut blocks = vec![0];
        blocks.extend_from_slice(&length.to_le_bytes());
        blocks.extend_from_slice(&(!length).to_le_bytes());
        blocks.extend_from_slice(text);
        Part::new(text, &blocks)
    }

    #[test]
    fn parts_known_by_their_checksum_are_joined() {
        let parts = vec![stored(b"one, "), stored(b"two, ")];
        let whole = joined(parts);
        let again = Part::known(&whole.blocks, whole.crc.clone().finalize(), whole.length);
        let parts = [again, stored(b"three")];
        let mut file = vec![0; size(&parts)];
        write(&parts, &mut file);
        let mut text = String::new();
        GzDecoder::new(file.as_slice()).read_to_string(&mut text).expect("a gzip file");
        assert_eq!(text, "one, two, three");
    }
}
