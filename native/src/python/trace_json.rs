//! The trace viewer's answer for Python: a gzip file that can be sent while it is still being written.

use std::sync::Arc;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::trace::{Trace, TraceSelection};
use super::without_gil;
use crate::trace::deflate::Packed;
use crate::trace::delivery::{self, Delivery, Failed};
use crate::trace::pack::{self, Source, Taker, Wanted};
use crate::trace::select::Query;

/// Bytes that are handed out together, about: the next are put together while these are on their way.
const AT_ONCE: usize = 1 << 18;

/// Events that were chosen, or (begin, end, resolution, asynchronous) of a window as `Trace.select` takes them.
#[derive(FromPyObject)]
enum Choice {
    These(Py<TraceSelection>),
    Window((i64, i64, i64, bool)),
}

impl Choice {
    fn wanted(&self, threads: usize) -> Wanted<'_> {
        match self {
            Choice::These(chosen) => Wanted::These(&chosen.get().inner),
            &Choice::Window((begin, end, resolution, asynchronous)) => {
                Wanted::Window(Query { begin, end, resolution, asynchronous, threads })
            }
        }
    }
}

/// A text before the events: plain, and raw deflate of it that ends at a byte, or None.
type Text<'py> = (Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);

/// JSON of events as a gzip file, which threads of its own are writing.
#[pyclass(frozen, module = "tpu_profile_plugin._native")]
pub struct TraceJson {
    delivery: Delivery,
    threads: usize,
}

#[pymethods]
impl TraceJson {
    /// Starts to write the events of hosts, which are (trace, choice, number added to process ids), each behind a comma.
    ///
    /// The number of events stands between the two texts of `tail`, which come last. All is written before this returns
    /// if it is wanted at once.
    #[new]
    fn new(
        py: Python<'_>,
        hosts: Vec<(Py<Trace>, Choice, u32)>,
        head: Vec<Text<'_>>,
        tail: (Vec<u8>, Vec<u8>),
        threads: usize,
        at_once: bool,
    ) -> Self {
        let head = head
            .iter()
            .map(|(text, packed)| pack::part(text.as_bytes(), packed.as_ref().map(|packed| packed.as_bytes())))
            .collect();
        let work = move |taker: &dyn Taker| {
            let sources: Vec<_> = hosts
                .iter()
                .map(|(trace, choice, pid_offset)| Source {
                    trace: &trace.get().inner,
                    wanted: choice.wanted(threads),
                    pid_offset: *pid_offset,
                })
                .collect();
            pack::pack(&sources, threads, taker);
        };
        let tail = move |events: usize| [&tail.0[..], events.to_string().as_bytes(), &tail.1].concat();
        TraceJson { delivery: py.detach(|| Delivery::start(at_once, head, work, tail)), threads }
    }

    /// Bytes from part `at` on that are there, and the part to go on with; waits for at least one. Empty at the end.
    fn read<'py>(&self, py: Python<'py>, at: usize) -> PyResult<(Bound<'py, PyBytes>, usize)> {
        let parts = py.detach(|| self.delivery.read(at, AT_ONCE)).map_err(failed)?;
        let next = at + parts.len();
        Ok((self.bytes(py, parts)?, next))
    }

    /// How many parts no earlier answer had.
    fn written(&self) -> usize {
        self.delivery.written()
    }

    /// The whole file, once it is written; there is nothing to be read any more then.
    fn whole<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let parts = py.detach(|| self.delivery.take()).map_err(failed)?;
        self.bytes(py, parts)
    }
}

impl TraceJson {
    fn bytes<'py>(&self, py: Python<'py>, parts: Vec<Arc<Packed>>) -> PyResult<Bound<'py, PyBytes>> {
        PyBytes::new_with(py, delivery::size(&parts), |memory| {
            without_gil(py, || {
                delivery::write(parts, memory, self.threads);
                Ok(())
            })
        })
    }
}

fn failed(_: Failed) -> PyErr {
    PyRuntimeError::new_err("the events could not be written")
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<TraceJson>()
}
