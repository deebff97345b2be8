//! What every call from Python shares: its errors and panics become exceptions, its work runs without the GIL.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::error::{Error, Problem};

create_exception!(
    tpu_profile_plugin._native,
    DecodeError,
    PyValueError,
    "The bytes of a profile do not decode; args are (message, byte offset)."
);

create_exception!(
    tpu_profile_plugin._native,
    CoreFailed,
    PyRuntimeError,
    "A mistake in the native core, or bytes that changed while it read them; only this call failed."
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
    guarded(|| py.detach(work).map_err(PyErr::from))
}

/// Runs `work`; its panic becomes `CoreFailed`, an ordinary exception, which a panic that PyO3 catches does not become.
///
/// Whoever catches it drops the objects that the call was to change.
pub(super) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(CoreFailed::new_err(reason(&*panic))))
}

fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text").to_string()
}
