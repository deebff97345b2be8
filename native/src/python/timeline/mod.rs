//! The timeline of hosts: its columns (`trace`), the arguments of events, answers as bytes, whole timelines for
//! Perfetto, and pictures of large files that are not in memory.

mod answers;
mod arguments;
mod perfetto;
mod preview;
mod trace;

use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    trace::register(module)?;
    arguments::register(module)?;
    perfetto::register(module)?;
    preview::register(module)?;
    answers::register(module)
}
