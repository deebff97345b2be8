//! Snapshots of PyTorch's allocator for Python.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::calls::without_gil;
use crate::snapshot::{self, Told};

/// The XSpace; entries of the history, those without a time, and texts of stacks that are left out.
type Read<'py> = (Bound<'py, PyArray1<u8>>, u64, u64, u64);

/// A snapshot as an XSpace; raises DecodeError.
#[pyfunction]
fn snapshot_space<'py>(py: Python<'py>, data: PyReadonlyArray1<'py, u8>) -> PyResult<Read<'py>> {
    let data = data.as_slice()?;
    let (space, Told { entries, untimed, stacks_left_out }) = without_gil(py, || snapshot::to_space(data))?;
    Ok((space.into_pyarray(py), entries, untimed, stacks_left_out))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(snapshot_space, module)?)
}
