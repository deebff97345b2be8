//! Traces of PyTorch's profiler for Python: fed in pieces, so that a compressed file is never held as text.

use std::io::{Cursor, Read as _};

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::calls::without_gil;
use crate::error::{Error, Problem};
use crate::kineto::Reader;

/// The XSpace; the byte at which the text is cut off; the first byte of a damaged event, and their number.
type Read<'py> = (Bound<'py, PyArray1<u8>>, Option<u64>, Option<(u64, u64)>);

#[pyclass(module = "tpu_profile_plugin._native")]
pub struct KinetoReader {
    reader: Option<Reader>,
}

#[pymethods]
impl KinetoReader {
    #[new]
    fn new() -> Self {
        KinetoReader { reader: Some(Reader::default()) }
    }

    /// Reads the next piece of the text; raises DecodeError.
    fn feed(&mut self, py: Python<'_>, piece: PyReadonlyArray1<'_, u8>) -> PyResult<()> {
        let piece = piece.as_slice()?;
        let reader = self.reader.as_mut().ok_or_else(finished)?;
        Ok(without_gil(py, || reader.feed(piece))?)
    }

    /// The trace as an XSpace; the reader cannot be used again.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Read<'py>> {
        let reader = self.reader.take().ok_or_else(finished)?;
        let (space, left) = without_gil(py, || reader.finish())?;
        Ok((space.into_pyarray(py), left.cut, left.damaged))
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
