//! Texts that an answer repeats: written as they are, or into a compressed stream as a reference to the last time.

use std::collections::HashMap;

use super::checksum::{self, Shift};

/// One text.
pub struct Piece {
    start: u32,
    length: u32,
    /// Checksum register after the text, from zero.
    pub register: u32,
    shift: u32,
}

impl Piece {
    pub fn length(&self) -> usize {
        self.length as usize
    }
}

/// Numbered texts; texts of one length share a checksum shift.
#[derive(Default)]
pub struct Pieces {
    bytes: Vec<u8>,
    list: Vec<Piece>,
    shifts: Vec<Shift>,
    by_length: HashMap<usize, u32>,
}

impl Pieces {
    /// Adds a text and gives its number.
    pub fn add(&mut self, text: &[u8]) -> u32 {
        let next = self.shifts.len() as u32;
        let shift = *self.by_length.entry(text.len()).or_insert(next);
        if shift == next {
            self.shifts.push(Shift::new(text.len() as u64));
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(text);
        self.list.push(Piece { start, length: text.len() as u32, register: checksum::update(0, text), shift });
        self.list.len() as u32 - 1
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    #[inline]
    pub fn piece(&self, number: u32) -> &Piece {
        &self.list[number as usize]
    }

    #[inline]
    pub fn text(&self, number: u32) -> &[u8] {
        let piece = self.piece(number);
        &self.bytes[piece.start as usize..(piece.start + piece.length) as usize]
    }

    /// The checksum register after the text.
    #[inline]
    pub fn register(&self, number: u32, before: u32) -> u32 {
        let piece = self.piece(number);
        self.shifts[piece.shift as usize].apply(before) ^ piece.register
    }
}

/// Where pieces and numbers go, one after the other.
pub trait Writer {
    fn piece(&mut self, pieces: &Pieces, number: u32);

    /// Decimal digits.
    fn uint(&mut self, value: u64);

    /// `value` / 10^6 exactly: no, three or six digits behind the point.
    fn micro(&mut self, value: i64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_follow_each_other() {
        let mut pieces = Pieces::default();
        let numbers = [pieces.add(b"abc"), pieces.add(b""), pieces.add(b"defgh"), pieces.add(b"xyz")];
        assert_eq!(pieces.shifts.len(), 3);
        let register = numbers.iter().fold(!0, |register, &number| pieces.register(number, register));
        assert_eq!(register, checksum::update(!0, b"abcdefghxyz"));
        assert_eq!(pieces.text(2), b"defgh");
    }
}
