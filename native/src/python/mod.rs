//! The Python surface: registration (one file per owner), GIL release, and the one place where errors become exceptions.

mod arguments;
mod decode;
mod forest;
mod groups;
mod hlo;
mod patterns;
mod protos;
mod step_work;
mod steps;
mod system;
mod tf_data;
mod timeline;
mod timeline_answers;
mod times;

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
pub(crate) fn without_gil<T, F>(py: Python<'_>, work: F) -> PyResult<T>
where
    F: FnOnce() -> crate::error::Result<T> + Send,
    T: Send,
{
    py.detach(work).map_err(PyErr::from)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__doc__", "Native core of the Profile plugin; private, typed by _native.pyi.")?;
    module.add("DecodeError", module.py().get_type::<DecodeError>())?;
    // One line per file of this folder: `FILE::register(module)?;`
    hlo::register(module)?;
    tf_data::register(module)?;
    decode::register(module)?;
    arguments::register(module)?;
    forest::register(module)?;
    groups::register(module)?;
    patterns::register(module)?;
    protos::register(module)?;
    system::register(module)?;
    step_work::register(module)?;
    steps::register(module)?;
    timeline::register(module)?;
    timeline_answers::register(module)?;
    times::register(module)?;
    // PyO3 collects `__all__`; a private module needs none, and the stub would have to repeat it.
    module.delattr("__all__")
}
