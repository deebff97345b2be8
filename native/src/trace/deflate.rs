//! Writes a compressed stream directly, without searching for repetitions: the writer says what it repeats.
//!
//! One fixed code, made for numbers between known texts, serves all streams; a text that was written before becomes a
//! reference, digits are coded two at a time. That is faster than writing the plain text and compressing it.

use std::sync::OnceLock;

use super::checksum;
use super::pieces::{Pieces, Writer};
use super::text::{format_micro, format_uint};

/// How far back a reference may reach, and how long it may be.
const WINDOW: u32 = 1 << 15;
const LONGEST: usize = 258;
const SHORTEST: usize = 3;

/// The first of the sixteen characters among which those of numbers are.
const FIRST: u8 = b'-';

const END: usize = 256;
const SYMBOLS: usize = 286;
const DISTANCES: usize = 30;

/// Bits in the order of the stream, and how many.
type Bits = (u32, u8);

struct Codes {
    literals: [Bits; 256],
    /// Two characters of numbers: minus, point, digits.
    pairs: [Bits; 256],
    /// Length symbols with their extra bits, by length.
    lengths: [Bits; LONGEST + 1],
    end: Bits,
    /// Distance symbols without extra bits.
    distances: [Bits; DISTANCES],
    /// What stands before the first symbol of a block.
    header: Vec<Bits>,
}

fn codes() -> &'static Codes {
    static CODES: OnceLock<Codes> = OnceLock::new();
    CODES.get_or_init(Codes::new)
}

/// (base, extra bits) of the length symbols from 257 on.
const LENGTHS: [(u16, u8); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];

impl Codes {
    fn new() -> Self {
        let mut sizes = code_sizes(&weights());
        sizes.resize(SYMBOLS, 0);
        let symbols = canonical(&sizes);
        // Distances of one event are the usual ones.
        let distance_sizes: Vec<u8> = (0..DISTANCES).map(|d| if d == 13 || d == 14 { 4 } else { 5 }).collect();
        let distances = canonical(&distance_sizes);
        let literals: [Bits; 256] = std::array::from_fn(|i| symbols[i]);
        let pairs = std::array::from_fn(|i| {
            let ((a, n), (b, m)) = (literals[FIRST as usize + i / 16], literals[FIRST as usize + i % 16]);
            (a | b << n, n + m)
        });
        let lengths = std::array::from_fn(|length| {
            let at = LENGTHS.partition_point(|&(base, _)| (base as usize) <= length).saturating_sub(1);
            let (base, _) = LENGTHS[at];
            let (bits, n) = symbols[257 + at];
            (bits | ((length.saturating_sub(base as usize) as u32) << n), n + LENGTHS[at].1)
        });
        let mut header = vec![(0, 1), (2, 2), (29, 5), (29, 5), (15, 4)];
        // Sizes 0 to 15 are written with four bits each; the three symbols for runs are not used.
        header.extend((0..19).map(|i| (if i < 3 { 0 } else { 4 }, 3)));
        let plain = canonical(&[4; 16]);
        header.extend(sizes.iter().chain(&distance_sizes).map(|&size| plain[size as usize]));
        Codes { literals, pairs, lengths, end: symbols[END], distances: std::array::from_fn(|i| distances[i]), header }
    }
}

/// How often each symbol is expected: digits and references, then what names are made of.
fn weights() -> Vec<u32> {
    (0..SYMBOLS)
        .map(|symbol| match symbol {
            0x30..=0x39 => 2200,
            0x2e => 1600,
            0x61..=0x7a | 0x5f | 0x2d | 0x3a | 0x22 => 24,
            0x20..=0x7e => 12,
            END => 8,
            257..=263 => 500,
            264..=276 => 700,
            277..=285 => 60,
            _ => 8,
        })
        .collect()
}

/// Sizes of a Huffman code.
fn code_sizes(weights: &[u32]) -> Vec<u8> {
    // Parents of leaves and inner nodes; joining the two lightest until one is left.
    let mut parent = vec![0usize; weights.len()];
    let mut heap: std::collections::BinaryHeap<_> =
        weights.iter().enumerate().map(|(i, &weight)| std::cmp::Reverse((weight, i))).collect();
    while let (Some(std::cmp::Reverse((a, i))), Some(std::cmp::Reverse((b, j)))) = (heap.pop(), heap.pop()) {
        let node = parent.len();
        parent.push(0);
        parent[i] = node;
        parent[j] = node;
        heap.push(std::cmp::Reverse((a + b, node)));
        if heap.len() == 1 {
            break;
        }
    }
    let mut depth = vec![0u8; parent.len()];
    for node in (0..parent.len().saturating_sub(1)).rev() {
        depth[node] = depth[parent[node]] + 1;
    }
    depth.truncate(weights.len());
    depth
}

/// Codes by size, then symbol, reversed for the stream.
fn canonical(sizes: &[u8]) -> Vec<Bits> {
    let mut next = 0u32;
    let mut codes = vec![(0, 0); sizes.len()];
    for size in 1..=15u8 {
        for (code, _) in codes.iter_mut().zip(sizes).filter(|(_, s)| **s == size) {
            *code = (next.reverse_bits() >> (32 - u32::from(size)), size);
            next += 1;
        }
        next <<= 1;
    }
    codes
}

/// A part of a stream that ends at a byte, and what its plain text was.
pub struct Packed {
    pub bytes: Vec<u8>,
    pub length: u64,
    /// Checksum register from zero.
    pub register: u32,
}

/// Writes one block.
pub struct Packer {
    codes: &'static Codes,
    out: Vec<u8>,
    word: u64,
    filled: u32,
    position: u64,
    /// Where each piece stood last, plus one; 0: nowhere.
    last: Vec<u64>,
    register: u32,
}

impl Packer {
    pub fn new(pieces: &Pieces) -> Self {
        let codes = codes();
        let mut packer = Packer {
            codes,
            out: Vec::new(),
            word: 0,
            filled: 0,
            position: 0,
            last: vec![0; pieces.len()],
            register: 0,
        };
        for &bits in &codes.header {
            packer.push(bits);
        }
        packer
    }

    /// Adds at most 32 bits.
    #[inline]
    fn push(&mut self, (bits, count): Bits) {
        self.word |= u64::from(bits) << self.filled;
        self.filled += u32::from(count);
        if self.filled >= 32 {
            self.out.extend_from_slice(&(self.word as u32).to_le_bytes());
            self.word >>= 32;
            self.filled -= 32;
        }
    }

    #[inline]
    fn reference(&mut self, mut length: usize, distance: u32) {
        while length > 0 {
            // The rest of a long one must not become too short to be written.
            let part =
                if length > LONGEST && length < LONGEST + SHORTEST { LONGEST - SHORTEST } else { length.min(LONGEST) };
            self.push(self.codes.lengths[part]);
            let (symbol, extra, count) = distance_symbol(distance);
            let (bits, n) = self.codes.distances[symbol];
            self.push((bits | extra << n, n + count));
            length -= part;
        }
    }

    /// Characters of a number.
    #[inline]
    fn digits(&mut self, text: &[u8]) {
        let mut pairs = text.chunks_exact(2);
        for pair in &mut pairs {
            let at = |byte: u8| (byte.wrapping_sub(FIRST) & 15) as usize;
            self.push(self.codes.pairs[at(pair[0]) * 16 + at(pair[1])]);
        }
        for &byte in pairs.remainder() {
            self.push(self.codes.literals[byte as usize]);
        }
        self.register = checksum::update(self.register, text);
        self.position += text.len() as u64;
    }

    /// Ends the block, and the stream at a byte.
    pub fn finish(mut self) -> Packed {
        self.push(self.codes.end);
        self.push((0, 3));
        while self.filled > 0 {
            self.out.push(self.word as u8);
            self.word >>= 8;
            self.filled = self.filled.saturating_sub(8);
        }
        self.out.extend_from_slice(&[0, 0, 0xff, 0xff]);
        Packed { bytes: self.out, length: self.position, register: self.register }
    }
}

/// Symbol, extra bits and their number.
#[inline]
fn distance_symbol(distance: u32) -> (usize, u32, u8) {
    let from_zero = distance - 1;
    if from_zero < 4 {
        return (from_zero as usize, 0, 0);
    }
    let log = from_zero.ilog2();
    let extra = log - 1;
    let half = from_zero >> extra & 1;
    ((2 * log + half) as usize, from_zero & ((1 << extra) - 1), extra as u8)
}

impl Writer for Packer {
    #[inline]
    fn piece(&mut self, pieces: &Pieces, number: u32) {
        let length = pieces.piece(number).length();
        let last = std::mem::replace(&mut self.last[number as usize], self.position + 1);
        let distance = (self.position + 1).wrapping_sub(last);
        if last > 0 && distance <= u64::from(WINDOW) && length >= SHORTEST {
            self.reference(length, distance as u32);
        } else {
            for &byte in pieces.text(number) {
                self.push(self.codes.literals[byte as usize]);
            }
        }
        self.register = pieces.register(number, self.register);
        self.position += length as u64;
    }

    #[inline]
    fn uint(&mut self, value: u64) {
        let mut scratch = [0u8; 20];
        let from = format_uint(&mut scratch, value);
        self.digits(&scratch[from..]);
    }

    #[inline]
    fn micro(&mut self, value: i64) {
        let mut scratch = [0u8; 28];
        let range = format_micro(&mut scratch, value);
        self.digits(&scratch[range]);
    }
}

/// Any text as stored blocks.
pub fn stored(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 65535 * 5 + 5);
    for block in text.chunks(65535) {
        let length = block.len() as u16;
        out.push(0);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    out
}

/// Length of the frame around the parts of a file.
const FRAME: usize = 10 + 5 + 8;

/// Size of a gzip file of these parts.
pub fn file_size(parts: &[Packed]) -> usize {
    FRAME + parts.iter().map(|part| part.bytes.len()).sum::<usize>()
}

/// Writes the gzip file into memory of exactly its size; every part is dropped once it is there.
pub fn write_file(parts: Vec<Packed>, memory: &mut [u8]) {
    let mut register = !0;
    let mut length = 0u64;
    let mut rest = memory;
    let mut put = |bytes: &[u8]| {
        if let Some((front, back)) = std::mem::take(&mut rest).split_at_mut_checked(bytes.len()) {
            front.copy_from_slice(bytes);
            rest = back;
        }
    };
    put(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
    for part in parts {
        put(&part.bytes);
        register = checksum::join(register, part.register, part.length);
        length += part.length;
    }
    put(&[1, 0, 0, 0xff, 0xff]);
    put(&(!register).to_le_bytes());
    put(&(length as u32).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_complete_and_short_enough() {
        let sizes = code_sizes(&weights());
        assert!(sizes.iter().all(|&size| (1..=15).contains(&size)));
        assert_eq!(sizes.iter().map(|&size| 1u32 << (15 - size)).sum::<u32>(), 1 << 15);
        assert_eq!((0..DISTANCES).map(|d| if d == 13 || d == 14 { 2 } else { 1 }).sum::<u32>(), 32);
        assert!(sizes[b'0' as usize] <= 4);
    }

    #[test]
    fn distance_symbols_of_the_standard() {
        assert_eq!(
            [1, 4, 5, 6, 7, 9, 12, 129, 32768].map(distance_symbol),
            [(0, 0, 0), (3, 0, 0), (4, 0, 1), (4, 1, 1), (5, 0, 1), (6, 0, 2), (6, 3, 2), (14, 0, 6), (29, 8191, 13)]
        );
    }
}
