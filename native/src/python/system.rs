//! Memory and mapped files for Python.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::calls::without_gil;
use crate::system::memory;

/// The first `size` bytes of an open file as a read-only array that keeps the file mapped; None where it cannot be.
///
/// A file that shrinks reads as zeros, and `torn_mappings` grows.
#[pyfunction]
#[cfg(unix)]
#[allow(unsafe_code)]
fn map_file(py: Python<'_>, descriptor: i32, size: usize) -> PyResult<Option<Bound<'_, PyArray1<u8>>>> {
    use numpy::PyArrayMethods;
    use numpy::ndarray::ArrayView1;

    let Some(file) = crate::system::mapped::MappedFile::new(descriptor, size) else { return Ok(None) };
    let owner = Bound::new(py, MappedFile { file })?;
    // SAFETY: the array keeps its owner alive, which is frozen and holds the bytes at one place.
    let array =
        unsafe { PyArray1::borrow_from_array(&ArrayView1::from(&owner.get().file[..]), owner.clone().into_any()) };
    array.readwrite().make_nonwriteable();
    Ok(Some(array))
}

/// Files are not mapped on this system.
#[pyfunction]
#[cfg(not(unix))]
#[allow(unused_variables)] // their names are the interface
fn map_file(py: Python<'_>, descriptor: i32, size: usize) -> PyResult<Option<Bound<'_, PyArray1<u8>>>> {
    Ok(None)
}

#[cfg(unix)]
#[pyclass(frozen, module = "tpu_profile_plugin._native")]
struct MappedFile {
    file: crate::system::mapped::MappedFile,
}

#[cfg(unix)]
#[pymethods]
impl MappedFile {
    /// Gives the pages back to the system; those that are read again come from its cache.
    fn release_pages(&self) {
        self.file.release_pages();
    }
}

/// CRC-32 of what has the CRC-32 `before` (0: nothing) and of these bytes behind it.
#[pyfunction]
fn checksum(py: Python<'_>, data: PyReadonlyArray1<'_, u8>, before: u32) -> PyResult<u32> {
    let data = data.as_slice()?;
    without_gil(py, || {
        let mut hasher = crc32fast::Hasher::new_with_initial(before);
        hasher.update(data);
        Ok(hasher.finalize())
    })
}

/// How often a mapped file had lost pages, since the process began.
#[pyfunction]
fn torn_mappings() -> u64 {
    #[cfg(unix)]
    return crate::system::mapped::torn();
    #[cfg(not(unix))]
    return 0;
}

/// Gives freed memory back to the system.
#[pyfunction]
fn give_back_memory(py: Python<'_>) {
    py.detach(memory::give_back);
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    #[cfg(unix)]
    module.add_class::<MappedFile>()?;
    module.add_function(wrap_pyfunction!(map_file, module)?)?;
    module.add_function(wrap_pyfunction!(checksum, module)?)?;
    module.add_function(wrap_pyfunction!(torn_mappings, module)?)?;
    module.add_function(wrap_pyfunction!(give_back_memory, module)?)
}
