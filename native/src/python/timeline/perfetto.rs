//! Packets for Perfetto, for Python: of a host's timeline, track by track, some events at a time, and of columns.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arguments::ArgsIn;
use super::trace::{Read, Trace};
use crate::python::calls::without_gil;
use crate::timeline::perfetto::packets::{Arguments, Clock, Events, Flows, Packets};
use crate::timeline::perfetto::writer::Writer;

/// Writes the packets of one host; see `Writer`.
#[pyclass(module = "tpu_profile_plugin._native")]
pub struct PerfettoWriter {
    trace: Py<Trace>,
    inner: Writer,
}

#[pymethods]
impl PerfettoWriter {
    #[new]
    #[pyo3(signature = (trace, sequence, origin_ns, shift_ps, first_flow, categories, window=None))]
    fn new(
        trace: Py<Trace>,
        sequence: u32,
        origin_ns: i64,
        shift_ps: i64,
        first_flow: u64,
        categories: Vec<String>,
        window: Option<(i64, i64)>,
    ) -> Self {
        let packets = Packets::new(sequence, Clock { origin_ns, shift_ps });
        PerfettoWriter { trace, inner: Writer::new(packets, window, first_flow, categories) }
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
        &self,
        py: Python<'py>,
        uuid: u64,
        begin: Read<'py, i64>,
        value: Read<'py, f64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (begin, value) = (begin.as_slice()?, value.as_slice()?);
        let packets = without_gil(py, || Ok(self.inner.packets.samples(uuid, begin, value)))?;
        Ok(PyBytes::new(py, &packets))
    }
}

/// Track, begin and duration in ps, and name of events.
type EventsIn<'py> = (Read<'py, i64>, Read<'py, i64>, Read<'py, i64>, Read<'py, i64>);
/// Event, key, kind and value of arguments.
type ArgumentsIn<'py> = (Read<'py, i64>, Read<'py, i64>, Read<'py, u8>, Read<'py, u64>);
/// Event and number of flows, and whether they leave at its end.
type FlowsIn<'py> = (Read<'py, i64>, Read<'py, u64>, Read<'py, bool>);

/// Packets of events in columns; see `Events`.
#[pyfunction]
fn perfetto_events<'py>(
    py: Python<'py>,
    sequence: u32,
    origin_ns: i64,
    events: EventsIn<'py>,
    arguments: ArgumentsIn<'py>,
    flows: FlowsIn<'py>,
) -> PyResult<Bound<'py, PyBytes>> {
    let packets = Packets::new(sequence, Clock { origin_ns, shift_ps: 0 });
    let events = Events {
        track: events.0.as_slice()?,
        begin_ps: events.1.as_slice()?,
        duration_ps: events.2.as_slice()?,
        name: events.3.as_slice()?,
        arguments: Arguments {
            event: arguments.0.as_slice()?,
            key: arguments.1.as_slice()?,
            kind: arguments.2.as_slice()?,
            value: arguments.3.as_slice()?,
        },
        flows: Flows { event: flows.0.as_slice()?, number: flows.1.as_slice()?, at_end: flows.2.as_slice()? },
    };
    let written = without_gil(py, || packets.events(&events))?;
    Ok(PyBytes::new(py, &written))
}

/// Packets of the samples of a counter.
#[pyfunction]
fn perfetto_samples<'py>(
    py: Python<'py>,
    sequence: u32,
    origin_ns: i64,
    track: u64,
    begin_ps: Read<'py, i64>,
    value: Read<'py, f64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let packets = Packets::new(sequence, Clock { origin_ns, shift_ps: 0 });
    let (begin_ps, value) = (begin_ps.as_slice()?, value.as_slice()?);
    let written = without_gil(py, || Ok(packets.samples(track, begin_ps, value)))?;
    Ok(PyBytes::new(py, &written))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(perfetto_events, module)?)?;
    module.add_function(wrap_pyfunction!(perfetto_samples, module)?)?;
    module.add_class::<PerfettoWriter>()
}
