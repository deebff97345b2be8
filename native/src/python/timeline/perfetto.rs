//! The packets of a host's timeline for Perfetto, for Python: track by track, some events at a time.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arguments::ArgsIn;
use super::trace::{Read, Trace};
use crate::python::calls::without_gil;
use crate::timeline::perfetto::writer::{Clock, Writer};

/// Writes the packets of one host; see `Writer`.
#[pyclass(module = "tpu_profile_plugin._native")]
pub struct PerfettoWriter {
    trace: Py<Trace>,
    inner: Writer,
}

#[pymethods]
impl PerfettoWriter {
    #[new]
    fn new(
        trace: Py<Trace>,
        sequence: u32,
        origin_ns: i64,
        shift_ps: i64,
        first_flow: u64,
        categories: Vec<String>,
    ) -> Self {
        let clock = Clock { origin_ns, shift_ps };
        PerfettoWriter { trace, inner: Writer::new(sequence, clock, first_flow, categories) }
    }

    /// The least number that no flow has so far.
    #[getter]
    fn next_flow(&self) -> u64 {
        self.inner.next_flow()
    }

    /// Adds a track to those to be written; returns the number of its lanes, which are tracks from `uuid` on.
    fn add(&mut self, py: Python<'_>, track: usize, uuid: u64) -> PyResult<u32> {
        let PerfettoWriter { trace, inner } = self;
        let trace = &trace.get().timeline.trace;
        without_gil(py, || Ok(inner.add(trace, track, uuid)))
    }

    /// Packets of the next events of the added tracks, at most `most`; empty at their end.
    fn events<'py>(&mut self, py: Python<'py>, args: ArgsIn<'py>, most: usize) -> PyResult<Bound<'py, PyBytes>> {
        let args = args.view()?;
        let PerfettoWriter { trace, inner } = self;
        let trace = &trace.get().timeline.trace;
        let packets = without_gil(py, || Ok(inner.events(trace, &args, most)))?;
        Ok(PyBytes::new(py, &packets))
    }

    /// Packets of the samples of a counter.
    fn counter<'py>(
        &mut self,
        py: Python<'py>,
        uuid: u64,
        begin: Read<'py, i64>,
        value: Read<'py, f64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (begin, value) = (begin.as_slice()?, value.as_slice()?);
        let packets = without_gil(py, || Ok(self.inner.counter(uuid, begin, value)))?;
        Ok(PyBytes::new(py, &packets))
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PerfettoWriter>()
}
