//! Any text as trace-event JSON: it is refused at a byte of it, or becomes an XSpace that decodes, in size to the text.

use _native::decode::columns::{Options, decode};
use _native::decode::trace_events;

pub fn check(text: &[u8]) {
    match trace_events::to_space(text) {
        Err(error) => assert!(error.offset <= text.len() as u64, "{error}"),
        Ok(space) => {
            assert!(space.len() <= 4096 + 64 * text.len(), "{} bytes of {}", space.len(), text.len());
            decode(&space, 0, Options::ALL).unwrap();
        }
    }
}
