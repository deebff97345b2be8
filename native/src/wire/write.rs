//! Writing the wire format: varints, numbers, nested messages, packed numbers.

pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A field with an integer; `tag` is one of `wire::tags`.
pub fn number(out: &mut Vec<u8>, tag: u32, value: i64) {
    varint(out, tag.into());
    varint(out, value as u64);
}

/// A field with a length: a message, a string, bytes.
pub fn message(out: &mut Vec<u8>, tag: u32, body: &[u8]) {
    varint(out, tag.into());
    varint(out, body.len() as u64);
    out.extend_from_slice(body);
}

/// A number field; 0, the default, is not written.
pub fn present(out: &mut Vec<u8>, tag: u32, value: u64) {
    if value != 0 {
        number(out, tag, value as i64);
    }
}

/// Packed numbers; an empty list is not written.
pub fn packed(out: &mut Vec<u8>, tag: u32, values: impl Iterator<Item = u64>) {
    let mut body = Vec::new();
    values.for_each(|value| varint(&mut body, value));
    if !body.is_empty() {
        message(out, tag, &body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_short_as_possible() {
        let mut out = Vec::new();
        present(&mut out, 1 << 3, 0);
        packed(&mut out, 2 << 3 | 2, std::iter::empty());
        present(&mut out, 1 << 3, 300);
        packed(&mut out, 2 << 3 | 2, [1, 128].into_iter());
        message(&mut out, 31 << 3 | 2, b"");
        assert_eq!(out, [8, 0xac, 2, 18, 3, 1, 0x80, 1, 0xfa, 1, 0]);
    }

    #[test]
    fn the_largest_number_has_ten_bytes() {
        let mut out = Vec::new();
        varint(&mut out, u64::MAX);
        assert_eq!(out, [&[0xff; 9][..], &[1]].concat());
    }
}
