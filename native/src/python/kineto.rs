//! Traces of PyTorch's profiler for Python: fed in pieces, so that a compressed file is never held as text.

use std::io::{Cursor, Read as _};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::calls::without_gil;
use crate::error::{Error, Problem, Result};
use crate::kineto::{Left, Reader};

/// The first damaged event's first byte, the byte at which it cannot be read and why; number and bytes of all.
type DamagedEvents = (u64, u64, String, u64, u64);

/// The XSpace; the byte at which the text is cut off; damaged events.
type Read<'py> = (Bound<'py, PyArray1<u8>>, Option<u64>, Option<DamagedEvents>);

type Outcome = Result<(Vec<u8>, Left)>;

/// Pieces that wait for the thread that reads them.
const WAITING: usize = 4;

/// Reads on a thread of its own, so that the next piece is decompressed meanwhile.
#[pyclass(module = "tpu_profile_plugin._native")]
pub struct KinetoReader {
    pieces: Option<SyncSender<Vec<u8>>>,
    reading: Option<JoinHandle<Outcome>>,
}

#[pymethods]
impl KinetoReader {
    #[new]
    fn new() -> Self {
        let (pieces, arriving) = sync_channel::<Vec<u8>>(WAITING);
        let reading = std::thread::spawn(move || {
            let mut reader = Reader::default();
            for piece in arriving {
                reader.feed(&piece)?;
            }
            reader.finish()
        });
        KinetoReader { pieces: Some(pieces), reading: Some(reading) }
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
        let (space, left) = self.read(py)?;
        let damaged = left.damaged.map(|one| (one.begin, one.at, one.what, one.events, one.bytes));
        Ok((space.into_pyarray(py), left.cut, damaged))
    }
}

impl KinetoReader {
    /// What the thread made of all pieces.
    fn read(&mut self, py: Python<'_>) -> PyResult<(Vec<u8>, Left)> {
        self.pieces = None;
        let reading = self.reading.take().ok_or_else(finished)?;
        without_gil(py, || reading.join().unwrap_or_else(|_| Err(finished())))
    }
}

fn finished() -> Error {
    Error::argument("a reader that is finished")
}

type Decoder = ruzstd::decoding::StreamingDecoder<Cursor<Vec<u8>>, ruzstd::decoding::FrameDecoder>;

#[pyclass(module = "tpu_profile_plugin._native")]
pub struct ZstdReader {
    decoder: Box<Decoder>,
    read: u64,
}

#[pymethods]
impl ZstdReader {
    #[new]
    fn new(data: PyReadonlyArray1<'_, u8>) -> PyResult<Self> {
        let decoder = Decoder::new(Cursor::new(data.as_slice()?.to_vec()));
        let decoder = decoder.map_err(|_| Error::new(Problem::Syntax, "Zstandard file", 0))?;
        Ok(ZstdReader { decoder: Box::new(decoder), read: 0 })
    }

    /// The next bytes, at most `most`, none at the end; raises DecodeError.
    fn read<'py>(&mut self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let piece = without_gil(py, || {
            let mut piece = Vec::new();
            let taken = (&mut *self.decoder).take(most as u64).read_to_end(&mut piece);
            taken.map(|_| piece).map_err(|_| Error::new(Problem::Syntax, "Zstandard file", self.read))
        })?;
        self.read += piece.len() as u64;
        Ok(piece.into_pyarray(py))
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<KinetoReader>()?;
    module.add_class::<ZstdReader>()
}
