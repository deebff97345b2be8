//! Traces of events for Python: fed in pieces, so that a compressed file is never held as text.

use std::io::{Cursor, Read as _};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::calls::without_gil;
use crate::decode::trace_events;
use crate::error::{Error, Problem, Result};
use crate::json::left::{Damaged, Left};
use crate::json::sniff;
use crate::kineto;

/// What was left out or mended: which kind of part, the first one's first byte, the byte at which it cannot be read and why,
/// number and bytes of all.
type Loss = (&'static str, u64, u64, String, u64, u64);

/// The XSpace, and what was left out.
type Read<'py> = (Bound<'py, PyArray1<u8>>, Vec<Loss>, Vec<OfLine>);

/// Names of plane and line with events of impossible times, how many are left out, and how many end earlier.
type OfLine = (String, String, u64, u64);

type Outcome = Result<(Vec<u8>, Left)>;

/// Pieces that wait for the thread that reads them.
const WAITING: usize = 4;

/// Reads on a thread of its own, so that the next piece is decompressed meanwhile.
#[pyclass(module = "tpu_profile_plugin._native")]
pub struct TraceReader {
    pieces: Option<SyncSender<Vec<u8>>>,
    reading: Option<JoinHandle<Outcome>>,
}

/// A reader of one of the two formats.
trait Text: Default + Send + 'static {
    fn feed(&mut self, piece: &[u8]) -> Result<()>;
    fn finish(self) -> Outcome;
}

impl Text for kineto::Reader {
    fn feed(&mut self, piece: &[u8]) -> Result<()> {
        self.feed(piece)
    }

    fn finish(self) -> Outcome {
        self.finish()
    }
}

impl Text for trace_events::Reader {
    fn feed(&mut self, piece: &[u8]) -> Result<()> {
        self.feed(piece)
    }

    fn finish(self) -> Outcome {
        self.finish()
    }
}

fn reading<T: Text>() -> TraceReader {
    let (pieces, arriving) = sync_channel::<Vec<u8>>(WAITING);
    let reading = std::thread::spawn(move || {
        let mut reader = T::default();
        for piece in arriving {
            reader.feed(&piece)?;
        }
        reader.finish()
    });
    TraceReader { pieces: Some(pieces), reading: Some(reading) }
}

#[pymethods]
impl TraceReader {
    /// A reader of traces of PyTorch, or of any trace events.
    #[new]
    fn new(pytorch: bool) -> Self {
        if pytorch { reading::<kineto::Reader>() } else { reading::<trace_events::Reader>() }
    }

    /// Gives the next piece of the text to the reader; raises DecodeError, perhaps for an earlier piece.
    fn feed(&mut self, py: Python<'_>, piece: PyReadonlyArray1<'_, u8>) -> PyResult<()> {
        let pieces = self.pieces.as_ref().ok_or_else(finished)?;
        let piece = piece.as_slice()?;
        if py.detach(|| pieces.send(piece.to_vec())).is_ok() {
            return Ok(());
        }
        self.read(py).map(|_| ())
    }

    /// The trace as an XSpace; the reader cannot be used again.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Read<'py>> {
        let (space, mut left) = self.read(py)?;
        let times = std::mem::take(&mut left.times).into_iter();
        let times = times.map(|one| (one.plane, one.line, one.left_out, one.shortened)).collect();
        Ok((space.into_pyarray(py), losses(left), times))
    }
}

impl TraceReader {
    /// What the thread made of all pieces.
    fn read(&mut self, py: Python<'_>) -> PyResult<(Vec<u8>, Left)> {
        self.pieces = None;
        let reading = self.reading.take().ok_or_else(finished)?;
        without_gil(py, || reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

fn losses(left: Left) -> Vec<Loss> {
    let parts = [("damaged", left.damaged), ("mended", left.mended), ("stray", left.stray), ("key", left.keys)];
    let parts = parts.into_iter().filter_map(|(kind, part)| Some((kind, part?)));
    let mut losses: Vec<Loss> = parts
        .map(|(kind, Damaged { begin, at, what, events, bytes })| (kind, begin, at, what, events, bytes))
        .collect();
    losses.extend(left.cut.map(|cut| ("cut", cut, cut, String::new(), 1, 0)));
    losses.extend(left.unread.into_iter().map(|(what, events)| ("unread", 0, 0, what, events, 0)));
    losses
}

/// What the begin of a text tells: whether it is a trace of events, whether PyTorch's profiler wrote it, and its rank.
#[pyfunction]
fn sniff_trace(head: PyReadonlyArray1<'_, u8>) -> PyResult<(bool, bool, Option<i64>)> {
    let head = head.as_slice()?.to_vec(); // of a file that may change
    let found = sniff::sniff(&head);
    Ok((found.is_trace, found.is_pytorch, found.rank))
}

fn finished() -> Error {
    Error::argument("a reader that is finished")
}

/// An empty block that is the last one, and room for a check sum.
const LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

#[pyclass(module = "tpu_profile_plugin._native")]
pub struct ZstdReader {
    data: Cursor<Vec<u8>>,
    decoder: Box<FrameDecoder>,
    read: u64,
    damaged: bool,
}

#[pymethods]
impl ZstdReader {
    #[new]
    fn new(data: PyReadonlyArray1<'_, u8>) -> PyResult<Self> {
        let (mut data, mut decoder) = (Cursor::new(data.as_slice()?.to_vec()), Box::new(FrameDecoder::new()));
        decoder.init(&mut data).map_err(|_| Error::new(Problem::Syntax, "Zstandard file", 0))?;
        Ok(ZstdReader { data, decoder, read: 0, damaged: false })
    }

    /// The next bytes, at most `most`, none at the end; raises DecodeError behind the last byte that can be read.
    fn read<'py>(&mut self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let piece = without_gil(py, || self.piece(most))?;
        self.read += piece.len() as u64;
        Ok(piece.into_pyarray(py))
    }
}

impl ZstdReader {
    fn piece(&mut self, most: usize) -> Result<Vec<u8>> {
        let decoder = &mut self.decoder;
        while decoder.can_collect() < most && !decoder.is_finished() {
            let missing = BlockDecodingStrategy::UptoBytes(most - decoder.can_collect());
            if decoder.decode_blocks(&mut self.data, missing).is_err() {
                self.damaged = true;
                // The decoder holds back what later blocks may refer to; behind the last one nothing does.
                if decoder.decode_blocks(&LAST_BLOCK[..], BlockDecodingStrategy::UptoBlocks(1)).is_err() {
                    break;
                }
            }
        }
        let mut piece = vec![0; decoder.can_collect().min(most)];
        let read = decoder.read(&mut piece).unwrap_or(0);
        piece.truncate(read);
        match (self.damaged, piece.is_empty()) {
            (true, true) => Err(Error::new(Problem::Syntax, "Zstandard file", self.read)),
            _ => Ok(piece),
        }
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(sniff_trace, module)?)?;
    module.add_class::<TraceReader>()?;
    module.add_class::<ZstdReader>()
}
