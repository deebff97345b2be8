//! A reader of the protobuf wire format that checks every length before it uses it.
//!
//! A `Reader` is inside one message. Positions are counted from the start of the slice it was made of, errors and
//! text values from the start of the profile (`base` is where the slice begins in it; 0 except in tests).
//! A quarter of the file is its unit tests, which check private positions.

use crate::error::{Error, Problem, Result};

/// Text value of a string that is absent or empty.
pub const NO_TEXT: u64 = u64::MAX;

/// Groups (an obsolete encoding that no XSpace field uses) are skipped up to this nesting, as protobuf does.
const MAX_GROUP_DEPTH: u32 = 100;

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;
const GROUP: u32 = 3;
const END_GROUP: u32 = 4;
const FIXED32: u32 = 5;

/// The field number in a tag.
pub const fn number(tag: u32) -> u32 {
    tag >> 3
}

/// The place of one message body inside the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn len(self) -> usize {
        self.end - self.start
    }

    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The whole slice; `at <= end <= data.len()`. Bytes behind `end` may be looked at, never believed.
    data: &'a [u8],
    at: usize,
    end: usize,
    base: u64,
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// A reader of a whole slice that begins at byte `base` of the profile.
    pub fn new(data: &'a [u8], base: u64, what: &'static str) -> Self {
        Reader { data, at: 0, end: data.len(), base, what }
    }

    /// A reader of a part of this slice; a span beyond its end is cut.
    pub fn within(&self, span: Span, what: &'static str) -> Self {
        let end = span.end.min(self.end);
        Reader { data: self.data, at: span.start.min(end), end, base: self.base, what }
    }

    /// Where the next byte lies in the slice.
    #[inline(always)]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The whole slice, in which positions and spans count.
    pub fn whole(&self) -> &'a [u8] {
        self.data
    }

    pub fn at_end(&self) -> bool {
        self.at >= self.end
    }

    /// Byte offset of the next byte, from the start of the profile.
    #[inline(always)]
    pub fn offset(&self) -> u64 {
        self.base.wrapping_add(self.at as u64)
    }

    #[cold]
    fn error(self, problem: Problem) -> Error {
        Error::new(problem, self.what, self.offset())
    }

    /// The next field's tag, or None at the end of the message.
    #[inline(always)]
    pub fn tag(&mut self) -> Result<Option<u32>> {
        if self.at_end() {
            return Ok(None);
        }
        match self.data.get(self.at) {
            // Fields 1 to 15 have one-byte tags; below 8 the field number would be 0.
            Some(&byte) if (8..0x80).contains(&byte) => {
                self.at += 1;
                Ok(Some(u32::from(byte)))
            }
            _ => {
                let (tag, after) = self.long_tag()?;
                self.at = after;
                Ok(Some(tag))
            }
        }
    }

    /// As `tag`, with 0 (never a tag) at the end: for loops that guess the order of the fields.
    #[inline(always)]
    pub fn tag_or_zero(&mut self) -> Result<u32> {
        Ok(self.tag()?.unwrap_or(0))
    }

    // The rare cases take the reader by value and give back the new position: a position whose address is never
    // taken stays in a register.

    #[cold]
    #[inline(never)]
    fn long_tag(mut self) -> Result<(u32, usize)> {
        let start = self;
        match u32::try_from(self.varint()?) {
            Ok(tag) if tag >= 8 => Ok((tag, self.at)),
            _ => Err(start.error(Problem::BadTag)),
        }
    }

    #[inline(always)]
    pub fn varint(&mut self) -> Result<u64> {
        match self.data.get(self.at) {
            Some(&byte) if byte < 0x80 && self.at < self.end => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    /// Up to eight bytes at once; longer ones, broken ones, and those near the end of the slice, byte by byte.
    #[inline(always)]
    fn long_varint(&mut self) -> Result<u64> {
        if let Some(chunk) = self.data.get(self.at..).and_then(|rest| rest.first_chunk::<8>()) {
            let word = u64::from_le_bytes(*chunk);
            let stops = !word & 0x8080_8080_8080_8080;
            let bits = stops.trailing_zeros();
            let after = self.at + bits as usize / 8 + 1;
            if stops != 0 && after <= self.end {
                self.at = after;
                return Ok(gather(word & (u64::MAX >> (63 - bits))));
            }
        }
        let (value, after) = self.slow_varint()?;
        self.at = after;
        Ok(value)
    }

    /// Moves past a varint; without a branch on its length, because lengths vary from event to event.
    #[inline(always)]
    pub fn skip_varint(&mut self) -> Result<()> {
        if let Some(chunk) = self.data.get(self.at..).and_then(|rest| rest.first_chunk::<8>()) {
            let stops = !u64::from_le_bytes(*chunk) & 0x8080_8080_8080_8080;
            let after = self.at + stops.trailing_zeros() as usize / 8 + 1;
            if stops != 0 && after <= self.end {
                self.at = after;
                return Ok(());
            }
        }
        self.at = self.slow_varint()?.1;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn slow_varint(mut self) -> Result<(u64, usize)> {
        let start = self;
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            if self.at_end() {
                return Err(start.error(Problem::Truncated));
            }
            let byte = self.data[self.at];
            self.at += 1;
            // The tenth byte has room for one bit; protobuf drops the others.
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok((value, self.at));
            }
        }
        Err(start.error(Problem::VarintTooLong))
    }

    #[inline(always)]
    pub fn int64(&mut self) -> Result<i64> {
        Ok(self.varint()? as i64)
    }

    #[inline(always)]
    pub fn fixed64(&mut self) -> Result<u64> {
        match self.data.get(self.at..).and_then(|rest| rest.first_chunk::<8>()) {
            Some(chunk) if self.end - self.at >= 8 => {
                self.at += 8;
                Ok(u64::from_le_bytes(*chunk))
            }
            _ => Err(self.error(Problem::Truncated)),
        }
    }

    /// The span of a length-delimited value; the reader moves past it.
    #[inline(always)]
    pub fn span(&mut self) -> Result<Span> {
        let before = self.at;
        let length = self.varint()?;
        let start = self.at;
        if length > (self.end - start) as u64 {
            self.at = before;
            return Err(self.error(Problem::LengthPastEnd));
        }
        self.at = start + length as usize;
        Ok(Span { start, end: self.at })
    }

    /// A reader inside the length-delimited message that comes next; this reader moves past it.
    #[inline(always)]
    pub fn message(&mut self, what: &'static str) -> Result<Reader<'a>> {
        let span = self.span()?;
        Ok(Reader { data: self.data, at: span.start, end: span.end, base: self.base, what })
    }

    /// The text value (offset of the length prefix) of the string or bytes that come next; empty ones are NO_TEXT.
    #[inline(always)]
    pub fn text(&mut self) -> Result<u64> {
        let value = self.offset();
        let span = self.span()?;
        Ok(if span.is_empty() { NO_TEXT } else { value })
    }

    /// Appends a repeated integer, which stands alone or is packed with others.
    pub fn int64s(&mut self, tag: u32, out: &mut Vec<i64>) -> Result<()> {
        if tag & 7 == VARINT {
            out.push(self.int64()?);
            return Ok(());
        }
        let mut packed = self.message(self.what)?;
        while !packed.at_end() {
            out.push(packed.int64()?);
        }
        Ok(())
    }

    /// The rest of the message.
    pub fn rest(&self) -> &'a [u8] {
        &self.data[self.at..self.end]
    }

    /// Moves past bytes of `rest` that were looked at there.
    pub fn advance(&mut self, count: usize) {
        self.at = self.end.min(self.at + count);
    }

    /// Moves past the value of a field that is not read.
    #[inline(always)]
    pub fn skip(&mut self, tag: u32) -> Result<()> {
        self.at = self.after_skip(tag)?;
        Ok(())
    }

    #[inline(never)]
    fn after_skip(mut self, tag: u32) -> Result<usize> {
        self.skip_nested(tag, 0)?;
        Ok(self.at)
    }

    fn skip_nested(&mut self, tag: u32, depth: u32) -> Result<()> {
        match tag & 7 {
            VARINT => self.varint().map(drop),
            FIXED64 => self.skip_bytes(8),
            BYTES => self.span().map(drop),
            GROUP => self.skip_group(number(tag), depth + 1),
            FIXED32 => self.skip_bytes(4),
            _ => Err(self.error(Problem::BadWireType)),
        }
    }

    fn skip_bytes(&mut self, count: usize) -> Result<()> {
        if self.end - self.at < count {
            return Err(self.error(Problem::Truncated));
        }
        self.at += count;
        Ok(())
    }

    #[cold]
    fn skip_group(&mut self, field: u32, depth: u32) -> Result<()> {
        if depth > MAX_GROUP_DEPTH {
            return Err(self.error(Problem::NestedTooDeep));
        }
        loop {
            match self.tag()? {
                None => return Err(self.error(Problem::Truncated)),
                Some(end) if end & 7 == END_GROUP => {
                    return if number(end) == field { Ok(()) } else { Err(self.error(Problem::BadWireType)) };
                }
                Some(inner) => self.skip_nested(inner, depth)?,
            }
        }
    }
}

/// Squeezes the 7-bit groups of up to eight varint bytes together.
#[inline(always)]
fn gather(word: u64) -> u64 {
    let x = word & 0x7f7f_7f7f_7f7f_7f7f;
    let x = (x & 0x007f_007f_007f_007f) | (x & 0x7f00_7f00_7f00_7f00) >> 1;
    let x = (x & 0x0000_3fff_0000_3fff) | (x & 0x3fff_0000_3fff_0000) >> 2;
    (x & 0x0000_0000_0fff_ffff) | (x & 0x0fff_ffff_0000_0000) >> 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(field: u32, wire_type: u32) -> u32 {
        field << 3 | wire_type
    }

    fn reader(data: &[u8]) -> Reader<'_> {
        Reader::new(data, 0, "test")
    }

    fn encode(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    #[test]
    fn varints_of_every_length_with_and_without_bytes_behind() {
        for bits in 0..64 {
            for value in [1 << bits, (1 << bits) - 1, u64::MAX >> bits] {
                let mut bytes = encode(value);
                let length = bytes.len();
                assert_eq!(reader(&bytes).varint().unwrap(), value);
                bytes.extend([0xff; 12]);
                let mut long = reader(&bytes);
                assert_eq!((long.varint().unwrap(), long.position()), (value, length));
            }
        }
    }

    #[test]
    fn overlong_and_cut_varints() {
        assert_eq!(reader(&[0x80, 0x80, 0]).varint().unwrap(), 0);
        let too_long = reader(&[0xff; 11]).varint().unwrap_err();
        assert_eq!((too_long.problem, too_long.offset), (Problem::VarintTooLong, 0));
        for cut in 0..9 {
            assert_eq!(reader(&[0x80; 9][..cut]).varint().unwrap_err().problem, Problem::Truncated);
        }
    }

    #[test]
    fn tags() {
        assert_eq!(reader(&[]).tag().unwrap(), None);
        assert_eq!(reader(&[0x22]).tag().unwrap(), Some(tag(4, BYTES)));
        assert_eq!(reader(&encode(u64::from(tag(1000, VARINT)))).tag().unwrap(), Some(tag(1000, VARINT)));
        for bad in [vec![0], vec![7], vec![0x80, 0], encode(1 << 32)] {
            assert_eq!(reader(&bad).tag().unwrap_err().problem, Problem::BadTag);
        }
    }

    #[test]
    fn lengths_are_checked_against_the_message_that_holds_them() {
        let mut outer = reader(&[2, 5, 1, 9, 9, 9, 9, 9]);
        let mut inner = outer.message("inner").unwrap();
        let error = inner.span().unwrap_err();
        assert_eq!(error.to_string(), "length past the end of inner at byte 1");
        assert_eq!(reader(&encode(u64::MAX)).span().unwrap_err().problem, Problem::LengthPastEnd);
    }

    #[test]
    fn offsets_beyond_four_gigabytes() {
        let base = (1 << 33) + 5;
        let mut far = Reader::new(&[1, b'x', 0, 9], base, "far");
        assert_eq!(far.text().unwrap(), base);
        assert_eq!(far.text().unwrap(), NO_TEXT);
        assert_eq!(far.span().unwrap_err().offset, base + 3);
    }

    #[test]
    fn groups_are_skipped_to_their_end_and_no_deeper_than_the_limit() {
        let mut nested = reader(&[0x0b, 0x13, 0x08, 1, 0x14, 0x1d, 1, 2, 3, 4, 0x0c, 0x10]);
        let first = nested.tag().unwrap().unwrap();
        nested.skip(first).unwrap();
        assert_eq!(nested.tag().unwrap(), Some(tag(2, VARINT)));
        assert_eq!(reader(&[0x14]).skip(tag(1, GROUP)).unwrap_err().problem, Problem::BadWireType);
        assert_eq!(reader(&[0x08, 1]).skip(tag(1, GROUP)).unwrap_err().problem, Problem::Truncated);
        assert_eq!(reader(&[0x0b; 200]).skip(tag(1, GROUP)).unwrap_err().problem, Problem::NestedTooDeep);
        assert_eq!(reader(&[]).skip(tag(1, END_GROUP)).unwrap_err().problem, Problem::BadWireType);
        assert_eq!(reader(&[]).skip(tag(1, 6)).unwrap_err().problem, Problem::BadWireType);
        assert_eq!(reader(&[1, 2, 3]).skip(tag(1, FIXED32)).unwrap_err().problem, Problem::Truncated);
    }

    #[test]
    fn a_span_outside_of_the_slice_is_cut() {
        let whole = reader(&[8, 1]);
        assert_eq!(whole.within(Span { start: 5, end: 9 }, "part").tag().unwrap(), None);
    }
}
