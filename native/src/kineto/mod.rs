//! Traces of PyTorch's profiler (Kineto's Chrome trace JSON), read as they arrive and written as an XSpace.
//!
//! The text is fed in pieces of any size (`json::reader`). Memory: about one byte per byte of text for what the events say.
//! Further texts may follow: traces of the captures of graphs that the run replays.

mod attribute;
mod boards;
mod costs;
mod device;
mod event;
mod evidence;
mod facts;
mod frames;
mod graphs;
mod host;
mod keys;
mod names;
mod notes;
mod places;
mod ranks;
mod steps;
mod times;
mod trace;
mod write;

use crate::error::Result;
use crate::json::left::Left;
use crate::json::reader;
use trace::Trace;

pub struct Reader(reader::Reader<Trace>);

impl Default for Reader {
    fn default() -> Self {
        Reader(reader::Reader::new("PyTorch trace", Trace::default()))
    }
}

impl Reader {
    /// Reads what is complete of the text so far.
    pub fn feed(&mut self, piece: &[u8]) -> Result<()> {
        self.0.feed(piece)
    }

    /// The XSpace, and what was left out; fails if the text holds no list of events, or no event and is cut off.
    pub fn finish(self) -> Result<(Vec<u8>, Left)> {
        let (trace, mut left) = self.0.finish()?;
        Ok((write::to_space(trace, &mut left), left))
    }
}

/// The XSpace of a whole text.
pub fn to_space(text: &[u8]) -> Result<(Vec<u8>, Left)> {
    let mut reader = Reader::default();
    for piece in text.chunks(4 << 20) {
        reader.feed(piece)?;
    }
    reader.finish()
}

#[cfg(test)]
mod tests;
