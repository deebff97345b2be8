//! The timeline of hosts: its columns (`trace`), the arguments of events, and answers as bytes.

mod answers;
mod arguments;
mod trace;

use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    trace::register(module)?;
    arguments::register(module)?;
    answers::register(module)
}
