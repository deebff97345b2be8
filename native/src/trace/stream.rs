//! Bits of a compressed stream and the text that they stand for, written side by side with the state in registers.
//!
//! There must be room for what is written; `Packer` makes it.

use super::huffman::{Bits, Codes, Digits, LONGEST, SHORTEST};
use super::pieces::{PAD, Pieces, Writer};

/// How far back a reference may reach.
const WINDOW: u64 = 1 << 15;

/// Where a piece stood last, and which two stood before it then.
#[derive(Clone, Copy, Default)]
pub struct Place {
    /// Position in the plain text plus one; 0: nowhere.
    pub at: u64,
    pub behind: [u32; 2],
}

impl Place {
    /// Distance to the same piece at `here`, if it is within reach.
    #[inline(always)]
    pub fn distance(&self, here: u64) -> Option<u32> {
        (self.at > 0 && here - self.at <= WINDOW).then(|| (here - self.at) as u32)
    }
}

/// What is written to next, kept in registers over several writes.
pub struct Cursor<'a> {
    pub codes: &'static Codes,
    pub out: &'a mut [u8],
    pub text: &'a mut [u8],
    pub last: &'a mut [Place],
    /// Where `text` begins in the plain text.
    pub position: u64,
    pub state: State,
}

/// How far a cursor is.
#[derive(Clone, Copy, Default)]
pub struct State {
    /// End of the bytes.
    pub at: usize,
    /// Bits that do not make a byte yet.
    pub word: u64,
    pub filled: u32,
    /// End of the text.
    pub end: usize,
}

impl Cursor<'_> {
    /// Adds at most 56 bits.
    #[inline(always)]
    pub fn push(&mut self, bits: u64, count: u32) {
        self.state.word |= bits << self.state.filled;
        self.state.filled += count;
        self.out[self.state.at..self.state.at + 8].copy_from_slice(&self.state.word.to_le_bytes());
        self.state.at += (self.state.filled / 8) as usize;
        self.state.word >>= self.state.filled & 56;
        self.state.filled &= 7;
    }

    #[inline(always)]
    fn here(&self) -> u64 {
        self.position + self.state.end as u64 + 1
    }

    #[inline(always)]
    pub fn reference(&mut self, (length, n): Bits, distance: u32) {
        let step = self.codes.distance(distance);
        let extra = (distance - u32::from(step.base)) << step.count;
        let bits = u64::from(length) | u64::from(u32::from(step.bits) | extra) << n;
        self.push(bits, u32::from(n + step.count + step.extra));
    }

    #[inline(always)]
    fn apart(&mut self, pieces: &Pieces, numbers: [u32; 3], places: [u64; 3]) {
        for (number, here) in numbers.into_iter().zip(places) {
            self.say(pieces, number, here, [numbers[0], numbers[1]]);
        }
    }

    /// The text of a piece.
    #[inline(always)]
    fn copy(&mut self, pieces: &Pieces, number: u32) {
        // What a step copies too much is overwritten by what follows.
        let mut at = self.state.end;
        for step in pieces.padded(number) {
            self.text[at..at + PAD].copy_from_slice(step);
            at += PAD;
        }
        self.state.end += pieces.piece(number).length();
    }

    /// The bits of a piece whose text stands at `here`.
    #[inline(always)]
    fn say(&mut self, pieces: &Pieces, number: u32, here: u64, behind: [u32; 2]) {
        let piece = pieces.piece(number);
        let before = std::mem::replace(&mut self.last[number as usize], Place { at: here, behind });
        match before.distance(here) {
            Some(distance) if piece.length() >= SHORTEST => self.reference(piece.reference, distance),
            _ => self.code(pieces, number),
        }
    }

    #[inline(always)]
    pub fn code(&mut self, pieces: &Pieces, number: u32) {
        for &(bits, count) in pieces.code(number) {
            self.push(bits, u32::from(count));
        }
    }

    /// Up to four groups, of at most 56 bits.
    #[inline(always)]
    fn digits<const N: usize>(&mut self, groups: [Digits; N]) {
        let (mut bits, mut count, mut end) = (0, 0, self.state.end);
        let text = &mut self.text[end..end + 16];
        let mut at = 0;
        for group in &groups {
            text[at..at + 4].copy_from_slice(&group.text);
            at += usize::from(group.length);
            bits |= u64::from(group.bits) << count;
            count += u32::from(group.count);
        }
        end += at;
        self.state.end = end;
        self.push(bits, count);
    }

    /// A number of more than twelve digits.
    #[inline(always)]
    fn number_of_many(&mut self, value: u64) {
        let (first, three, leading) = (&self.codes.first, &self.codes.three, &self.codes.leading);
        let group = |value: u64| three[(value % 1000) as usize];
        let (high, low) = (value / 1_000_000_000_000, value % 1_000_000_000_000);
        if high < 1_000_000 {
            let (a, b) = ((high / 1000) as usize, (high % 1000) as usize);
            let rest = if a > 0 { three[b] } else { first[b] };
            self.digits([leading[a], rest]);
        } else {
            self.digits([first[(high / 1_000_000) as usize], group(high / 1000), group(high)]);
        }
        self.digits([group(low / 1_000_000_000), group(low / 1_000_000), group(low / 1000), group(low)]);
    }
}

impl Writer for Cursor<'_> {
    #[inline(always)]
    fn piece(&mut self, pieces: &Pieces, number: u32) {
        let here = self.here();
        self.copy(pieces, number);
        self.say(pieces, number, here, [0; 2]);
    }

    #[inline(always)]
    fn chain(&mut self, pieces: &Pieces, [first, second, third]: [u32; 3]) {
        let places = {
            let here = self.here();
            let next = here + pieces.piece(first).length() as u64;
            [here, next, next + pieces.piece(second).length() as u64]
        };
        self.copy(pieces, first);
        self.copy(pieces, second);
        self.copy(pieces, third);
        let total = (self.here() - places[0]) as usize;
        let (now, before) = (places[2], self.last[third as usize]);
        match before.distance(now) {
            Some(distance) if before.behind == [first, second] && total <= LONGEST => {
                self.last[first as usize].at = places[0];
                self.last[second as usize].at = places[1];
                self.last[third as usize].at = now;
                self.reference(self.codes.lengths[total], distance);
            }
            _ => self.apart(pieces, [first, second, third], places),
        }
    }

    #[inline(always)]
    fn quote(&mut self) {
        self.digits([self.codes.quote]);
    }

    #[inline(always)]
    fn uint(&mut self, value: u64) {
        const MILLION: u64 = 1_000_000;
        let (first, three) = (&self.codes.first, &self.codes.three);
        let group = |value: u64| three[(value % 1000) as usize];
        if value < MILLION {
            // Lengths of this size differ from event to event, so there is no branch.
            let (high, low) = ((value / 1000) as usize, (value % 1000) as usize);
            let rest = if high > 0 { &three[low] } else { &first[low] };
            self.digits([self.codes.leading[high], *rest]);
        } else if value < 1000 * MILLION {
            self.digits([first[(value / MILLION) as usize], group(value / 1000), group(value)]);
        } else if value < MILLION * MILLION {
            let high = first[(value / (1000 * MILLION)) as usize];
            self.digits([high, group(value / MILLION), group(value / 1000), group(value)]);
        } else {
            self.number_of_many(value);
        }
    }

    #[inline(always)]
    fn micro(&mut self, value: i64) {
        if value < 0 {
            self.digits([self.codes.minus]);
        }
        let magnitude = value.unsigned_abs();
        self.uint(magnitude / 1_000_000);
        let (rest, three) = ((magnitude % 1_000_000) as usize, &self.codes.three);
        if rest % 1000 > 0 {
            self.digits([self.codes.point, three[rest / 1000], three[rest % 1000]]);
        } else if rest > 0 {
            self.digits([self.codes.point, three[rest / 1000]]);
        }
    }
}
