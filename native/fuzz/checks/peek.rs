//! Any bytes: the outline and the paths into nested messages answer or refuse at a byte, and agree with the whole decoder.

use _native::decode::columns::{Options, decode};
use _native::decode::xspace;
use _native::wire;
use _native::wire::text;

pub fn check(data: &[u8]) {
    let (value, data) = match data.split_first() {
        Some((&first, rest)) => (u64::from(first), rest),
        None => (0, data),
    };
    match xspace::outline(data, 0) {
        Err(error) => {
            assert!(error.offset <= data.len() as u64);
            // What the outline refuses the decoder refuses as well.
            assert!(decode(data, 0, Options::ALL).is_err());
        }
        Ok(outline) => {
            for plane in &outline.planes {
                assert!(plane.body.end <= data.len());
                assert!(plane.lines.iter().all(|line| line.end <= plane.body.end));
                text::slice(data, plane.name).unwrap();
            }
        }
    }
    for at in [value, value / 16, u64::MAX / (value + 1), wire::NO_TEXT] {
        if let Ok(found) = text::nested(data, at, &[1, (value % 9) as u32 + 1, 3]) {
            text::slice(data, found).unwrap();
        }
        drop(text::codes(data, &[at, value, at]));
    }
}
