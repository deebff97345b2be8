//! Any text as trace-event JSON, in one piece and in two: it is refused at a byte of it, or becomes the same XSpace, which
//! decodes and whose size is bounded.

use _native::decode::columns::{Options, decode};
use _native::decode::trace_events::{Reader, to_space};

pub fn check(text: &[u8]) {
    let mut reader = Reader::default();
    let (head, tail) = text.split_at(text.len() / 2);
    let parts = reader.feed(head).and_then(|()| reader.feed(tail)).and_then(|()| reader.finish());
    match to_space(text) {
        Err(error) => {
            assert!(error.offset <= text.len() as u64, "{error}");
            assert_eq!(parts.unwrap_err(), error);
        }
        Ok(read) => {
            let (space, _) = &read;
            assert!(space.len() <= 4096 + 64 * text.len(), "{} bytes of {}", space.len(), text.len());
            decode(space, 0, Options::ALL).unwrap();
            assert_eq!(parts.unwrap(), read);
        }
    }
}
