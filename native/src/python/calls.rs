//! What every call from Python shares: its errors become exceptions, its work runs without the GIL.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{Error, Problem};

create_exception!(
    tpu_profile_plugin._native,
    DecodeError,
    PyValueError,
    "The bytes of a profile do not decode; args are (message, byte offset)."
);

/// A bad argument is the caller's bug and becomes `ValueError`; all others carry the offset in the profile.
impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        match error.problem {
            Problem::BadArgument => PyValueError::new_err(error.to_string()),
            _ => DecodeError::new_err((error.to_string(), error.offset)),
        }
    }
}

/// Runs `work` without the GIL and maps its error. Slices borrowed from arrays may be captured, Python objects not.
pub(super) fn without_gil<T, F>(py: Python<'_>, work: F) -> PyResult<T>
where
    F: FnOnce() -> crate::error::Result<T> + Send,
    T: Send,
{
    py.detach(work).map_err(PyErr::from)
}
