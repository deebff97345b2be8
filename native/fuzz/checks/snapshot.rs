//! Any bytes as a memory snapshot: they are refused at one of them, or become an XSpace, which decodes.

use _native::decode::columns::{Options, decode};
use _native::snapshot::to_space;

pub fn check(data: &[u8]) {
    match to_space(data) {
        Err(error) => assert!(error.offset <= data.len() as u64, "{error}"),
        Ok((space, _)) => {
            decode(&space, 0, Options::ALL).unwrap();
        }
    }
}
