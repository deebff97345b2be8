//! Writes a compressed stream directly, without searching for repetitions: the writer says what it repeats.
//!
//! One fixed code serves all streams; a text that was written before becomes a reference, digits are coded three at a
//! time. That is faster than writing the plain text and compressing it. The plain text is written nevertheless, a few
//! thousand bytes at a time, because its checksum is made fastest from longer runs.

use super::checksum;
use super::huffman::{Bits, Codes, Digits, LONGEST, SHORTEST, codes, distance_symbol};
use super::pieces::{PAD, Pieces, Writer};
use crate::memory::ask_for_huge_pages;

/// How far back a reference may reach.
const WINDOW: u64 = 1 << 15;

/// Plain text that waits for its checksum.
const TEXT: usize = 1 << 14;

/// Room for what is written without a look at the room: one number, or one reference.
const SLACK: usize = 64;

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
    /// Zeros behind `at`.
    out: Vec<u8>,
    at: usize,
    /// Bits that do not make a byte yet.
    word: u64,
    filled: u32,
    text: Box<[u8; TEXT]>,
    end: usize,
    /// Where `text` begins in the plain text.
    position: u64,
    register: u32,
    /// Where each piece stood last, plus one; 0: nowhere.
    last: Vec<u64>,
}

impl Packer {
    /// `expected` compressed bytes, about.
    pub fn new(pieces: &Pieces, expected: usize) -> Self {
        let codes = codes();
        let mut packer = Packer {
            codes,
            out: vec![0; expected + 1024],
            at: 0,
            word: 0,
            filled: 0,
            text: Box::new([0; TEXT]),
            end: 0,
            position: 0,
            register: 0,
            last: vec![0; pieces.len()],
        };
        for &(bits, count) in &codes.header {
            packer.write(|out| out.push(u64::from(bits), u32::from(count)));
        }
        packer
    }

    /// Writes with the state in registers; there must be room.
    #[inline(always)]
    fn write(&mut self, work: impl FnOnce(&mut Cursor)) {
        let mut cursor = Cursor {
            codes: self.codes,
            out: &mut self.out,
            at: self.at,
            word: self.word,
            filled: self.filled,
            text: &mut self.text[..],
            end: self.end,
            position: self.position,
            last: &mut self.last,
        };
        work(&mut cursor);
        (self.at, self.word, self.filled, self.end) = (cursor.at, cursor.word, cursor.filled, cursor.end);
    }

    /// Makes room for `length` characters of text and `size` bytes of stream.
    #[inline]
    fn room(&mut self, length: usize, size: usize) {
        if self.end + length > TEXT {
            self.check();
        }
        if self.at + size > self.out.len() {
            let more = self.out.len() + size;
            self.out.resize(self.out.len() + more, 0);
        }
    }

    #[cold]
    fn check(&mut self) {
        self.register = checksum::update(self.register, &self.text[..self.end]);
        self.position += self.end as u64;
        self.end = 0;
    }

    /// The text of a long piece goes to the checksum directly.
    #[cold]
    fn long(&mut self, pieces: &Pieces, number: u32) {
        self.check();
        let text = pieces.text(number);
        self.register = checksum::update(self.register, text);
        self.position += text.len() as u64;
    }

    /// Reference to a piece that is longer than one may be.
    #[cold]
    fn references(&mut self, mut length: usize, distance: u32) {
        while length > 0 {
            // The rest of a long one must not become too short to be written.
            let part =
                if length > LONGEST && length < LONGEST + SHORTEST { LONGEST - SHORTEST } else { length.min(LONGEST) };
            let reference = self.codes.lengths[part];
            self.write(|out| out.reference(reference, distance));
            length -= part;
        }
    }

    /// Ends the block, and the stream at a byte.
    pub fn finish(mut self) -> Packed {
        self.room(0, SLACK);
        let (bits, count) = self.codes.end;
        self.write(|out| out.push(u64::from(bits), u32::from(count) + 3));
        if self.filled > 0 {
            self.write(|out| out.push(0, 8 - out.filled));
        }
        self.check();
        self.out.truncate(self.at);
        self.out.extend_from_slice(&[0, 0, 0xff, 0xff]);
        Packed { bytes: self.out, length: self.position, register: self.register }
    }
}

/// What is written to next, kept in registers over several writes.
struct Cursor<'a> {
    codes: &'static Codes,
    out: &'a mut [u8],
    at: usize,
    word: u64,
    filled: u32,
    text: &'a mut [u8],
    end: usize,
    position: u64,
    last: &'a mut [u64],
}

impl Cursor<'_> {
    /// Adds at most 56 bits.
    #[inline(always)]
    fn push(&mut self, bits: u64, count: u32) {
        self.word |= bits << self.filled;
        self.filled += count;
        self.out[self.at..self.at + 8].copy_from_slice(&self.word.to_le_bytes());
        self.at += (self.filled / 8) as usize;
        self.word >>= self.filled & 56;
        self.filled &= 7;
    }

    #[inline(always)]
    fn reference(&mut self, (length, n): Bits, distance: u32) {
        let (symbol, extra, count) = distance_symbol(distance);
        let (bits, m) = self.codes.distances[symbol];
        let distance = u64::from(bits) | u64::from(extra) << m;
        self.push(u64::from(length) | distance << n, u32::from(n + m + count));
    }

    /// Writes a piece whose text is not longer than a reference may be.
    #[inline(always)]
    fn piece(&mut self, pieces: &Pieces, number: u32) {
        let piece = pieces.piece(number);
        let here = self.position + self.end as u64 + 1;
        let last = std::mem::replace(&mut self.last[number as usize], here);
        // What a step copies too much is overwritten by what follows.
        for (to, from) in self.text[self.end..].chunks_exact_mut(PAD).zip(pieces.padded(number)) {
            to.copy_from_slice(from);
        }
        self.end += piece.length();
        if is_near(last, here) && piece.length() >= SHORTEST {
            self.reference(piece.reference, (here - last) as u32);
        } else {
            self.code(pieces, number);
        }
    }

    #[inline(always)]
    fn code(&mut self, pieces: &Pieces, number: u32) {
        for &(bits, count) in pieces.code(number) {
            self.push(bits, u32::from(count));
        }
    }

    #[inline(always)]
    fn digits<const N: usize>(&mut self, digits: [Digits; N]) {
        let (mut bits, mut count) = (0, 0);
        for part in digits {
            self.text[self.end..self.end + 4].copy_from_slice(&part.text);
            self.end += usize::from(part.length);
            bits |= u64::from(part.bits) << count;
            count += u32::from(part.count);
        }
        self.push(bits, count);
    }

    #[inline(always)]
    fn number(&mut self, value: u64) {
        if value >= 1_000_000_000 {
            return self.long_number(value);
        }
        let value = value as u32;
        let (low, middle, high) = (value % 1000, value / 1000 % 1000, value / 1_000_000);
        let (first, three) = (&self.codes.first, &self.codes.three);
        if value < 1000 {
            self.digits([first[low as usize]]);
        } else if value < 1_000_000 {
            self.digits([first[middle as usize], three[low as usize]]);
        } else {
            self.digits([first[high as usize], three[middle as usize], three[low as usize]]);
        }
    }

    #[inline(never)]
    fn long_number(&mut self, value: u64) {
        self.number(value / 1_000_000_000);
        let low = (value % 1_000_000_000) as usize;
        let three = &self.codes.three;
        self.digits([three[low / 1_000_000], three[low / 1000 % 1000], three[low % 1000]]);
    }

    #[inline(always)]
    fn micro(&mut self, value: i64) {
        if value < 0 {
            self.digits([self.codes.minus]);
        }
        let magnitude = value.unsigned_abs();
        self.number(magnitude / 1_000_000);
        let (rest, three) = ((magnitude % 1_000_000) as usize, &self.codes.three);
        if rest % 1000 > 0 {
            self.digits([self.codes.point, three[rest / 1000], three[rest % 1000]]);
        } else if rest > 0 {
            self.digits([self.codes.point, three[rest / 1000]]);
        }
    }
}

#[inline(always)]
fn is_near(last: u64, here: u64) -> bool {
    last > 0 && here - last <= WINDOW
}

impl Writer for Packer {
    #[inline]
    fn piece(&mut self, pieces: &Pieces, number: u32) {
        let length = pieces.piece(number).length();
        if length <= LONGEST {
            self.room(LONGEST + PAD, SLACK + 2 * LONGEST);
            return self.write(|out| out.piece(pieces, number));
        }
        self.room(0, SLACK + 2 * length);
        let here = self.position + self.end as u64 + 1;
        let last = std::mem::replace(&mut self.last[number as usize], here);
        self.long(pieces, number);
        if is_near(last, here) {
            self.references(length, (here - last) as u32);
        } else {
            self.write(|out| out.code(pieces, number));
        }
    }

    #[inline]
    fn uint(&mut self, value: u64) {
        self.room(SLACK, SLACK);
        self.write(|out| out.number(value));
    }

    #[inline]
    fn micro(&mut self, value: i64) {
        self.room(SLACK, SLACK);
        self.write(|out| out.micro(value));
    }

    #[inline]
    fn interval(&mut self, pieces: &Pieces, [before, name, between]: [u32; 3], begin: i64, duration: i64) {
        let lengths = [before, name, between].map(|number| pieces.piece(number).length());
        if lengths.iter().any(|&length| length > LONGEST) {
            self.piece(pieces, before);
            self.piece(pieces, name);
            self.micro(begin);
            self.piece(pieces, between);
            return self.micro(duration);
        }
        self.room(3 * (LONGEST + PAD) + 2 * SLACK, 3 * (2 * LONGEST + SLACK));
        self.write(|out| {
            out.piece(pieces, before);
            out.piece(pieces, name);
            out.micro(begin);
            out.piece(pieces, between);
            out.micro(duration);
        });
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
    ask_for_huge_pages(memory);
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
