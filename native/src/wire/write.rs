//! Writing the wire format: varints, numbers, nested messages.

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
