//! The timeline of hosts: its columns (`trace`), the arguments of events, answers as bytes, and whole timelines for
//! Perfetto.

mod answers;
mod arguments;
mod perfetto;
mod trace;

use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    trace::register(module)?;
    arguments::register(module)?;
    perfetto::register(module)?;
    answers::register(module)
}
