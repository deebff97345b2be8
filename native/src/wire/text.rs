//! Texts by their text value (the offset of a length prefix in the profile's bytes). Values may come from anywhere.
//!
//! The bytes may be those of a mapped file, which another program may change at any moment: what is checked and then used,
//! such as UTF-8, is a copy.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::Result;
use crate::wire::{NO_TEXT, Reader};

/// The bytes of a text value; NO_TEXT is empty.
pub fn slice(data: &[u8], value: u64) -> Result<&[u8]> {
    if value == NO_TEXT {
        return Ok(&[]);
    }
    let start = usize::try_from(value).unwrap_or(usize::MAX).min(data.len());
    let span = Reader::new(&data[start..], start as u64, "text").span()?;
    Ok(&data[start..][span.start..span.end])
}

/// The text of a text value, made in `copy`; bytes that are not UTF-8 are replaced.
pub fn read<'c>(data: &[u8], value: u64, copy: &'c mut Vec<u8>) -> Result<Cow<'c, str>> {
    copy.clear();
    copy.extend_from_slice(slice(data, value)?);
    Ok(String::from_utf8_lossy(copy))
}

/// The text value of a length-delimited field inside the message at `value`, by tags from the outside in.
/// NO_TEXT if a step of the path is absent or empty; of repeated fields the last.
pub fn nested(data: &[u8], value: u64, path: &[u32]) -> Result<u64> {
    let mut found = value;
    for &tag in path {
        let body = slice(data, found)?;
        let start = if found == NO_TEXT { 0 } else { body.as_ptr() as usize - data.as_ptr() as usize };
        let mut message = Reader::new(body, start as u64, "message");
        found = NO_TEXT;
        while let Some(next) = message.tag()? {
            if next == tag {
                found = message.text()?;
            } else {
                message.skip(next)?;
            }
        }
    }
    Ok(found)
}

/// Equal texts get equal codes, counted from 0 in order of appearance. Second: the first text value of each code.
pub fn codes(data: &[u8], values: &[u64]) -> Result<(Vec<i32>, Vec<u64>)> {
    let mut seen: HashMap<Box<[u8]>, i32> = HashMap::new();
    let (mut firsts, mut copy) = (Vec::new(), Vec::new());
    let mut codes = Vec::with_capacity(values.len());
    for &value in values {
        // A profile with more distinct texts than i32 would be far over 4 GiB of names alone; the code then saturates.
        copy.clear();
        copy.extend_from_slice(slice(data, value)?);
        let code = seen.get(copy.as_slice()).copied().unwrap_or_else(|| {
            let code = i32::try_from(firsts.len()).unwrap_or(i32::MAX);
            firsts.push(value);
            seen.insert(copy.as_slice().into(), code);
            code
        });
        codes.push(code);
    }
    Ok((codes, firsts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Problem;

    #[test]
    fn values_are_checked() {
        let data = [9, 2, b'h', b'i', 3, b'x'];
        assert_eq!(slice(&data, 1).unwrap(), b"hi");
        assert_eq!(slice(&data, NO_TEXT).unwrap(), b"");
        assert_eq!(slice(&data, 4).unwrap_err().problem, Problem::LengthPastEnd);
        assert_eq!(slice(&data, 99).unwrap_err().problem, Problem::Truncated);
    }

    #[test]
    fn nested_messages() {
        // {1: {2: "ab", 3: 5}, 4: 1}
        let data = [9, 10, 0x0a, 6, 0x12, 2, b'a', b'b', 0x18, 5, 0x20, 1];
        assert_eq!(nested(&data, 1, &[0x0a, 0x12]).unwrap(), 5);
        assert_eq!(nested(&data, 1, &[0x0a, 0x22]).unwrap(), NO_TEXT);
        assert_eq!(nested(&data, 1, &[0x2a, 0x12]).unwrap(), NO_TEXT);
        assert_eq!(nested(&data, 1, &[0x0a, 0x12, 0x1a]).unwrap_err().offset, 7);
    }

    #[test]
    fn equal_texts_share_a_code() {
        let data = [1, b'a', 1, b'b', 1, b'a'];
        assert_eq!(codes(&data, &[0, 2, 4, NO_TEXT]).unwrap(), (vec![0, 1, 0, 2], vec![0, 2, NO_TEXT]));
    }
}
