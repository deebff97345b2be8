//! Events of a line as Python objects, for loops over millions of them: made as they are asked for, and small.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::kernels::events::{Event, backwards};

type Array<T> = Py<PyArray1<T>>;

const PS_PER_NS: i64 = 1000;

/// Events whose columns are copied at a time, so that making one event takes no look into an array.
const BLOCK: usize = 4096;

/// What the events of a line share.
#[pyclass(frozen, module = "tpu_profile_plugin._native")]
struct EventLine {
    /// Names by row of the event metadata.
    names: Py<PyList>,
    timestamp_ns: i64,
    /// Row of an event in the plane's table -> its stats.
    stats: Py<PyAny>,
}

/// An event as an object; for loops over millions of them.
#[pyclass(frozen, freelist = 256, module = "tpu_profile_plugin._native")]
struct ProfileEvent {
    line: Py<EventLine>,
    offset_ps: i64,
    /// How long it takes, ps, exact.
    #[pyo3(get)]
    duration_ps: i64,
    /// Its row in the table of all events of its plane.
    #[pyo3(get)]
    row: u32,
    metadata: u32,
}

impl ProfileEvent {
    /// Truncated to whole nanoseconds; a sum that does not fit wraps around, as in JAX.
    fn start(&self) -> f64 {
        self.line.get().timestamp_ns.wrapping_add(self.offset_ps / PS_PER_NS) as f64
    }

    fn duration(&self) -> f64 {
        (self.duration_ps / PS_PER_NS) as f64
    }

    fn exact_start(&self) -> i128 {
        i128::from(self.line.get().timestamp_ns) * i128::from(PS_PER_NS) + i128::from(self.offset_ps)
    }
}

#[pymethods]
impl ProfileEvent {
    /// Its name.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.line.get().names.bind(py).get_item(self.metadata as usize)
    }

    /// When it begins, ns: truncated to whole ones, then rounded to a double.
    #[getter]
    fn start_ns(&self) -> f64 {
        self.start()
    }

    /// How long it takes, ns, truncated to whole ones.
    #[getter]
    fn duration_ns(&self) -> f64 {
        self.duration()
    }

    /// The sum of `start_ns` and `duration_ns`.
    #[getter]
    fn end_ns(&self) -> f64 {
        self.start() + self.duration()
    }

    /// When it begins, ps, exact.
    #[getter]
    fn start_ps(&self) -> i128 {
        self.exact_start()
    }

    /// When it ends, ps, exact.
    #[getter]
    fn end_ps(&self) -> i128 {
        self.exact_start() + i128::from(self.duration_ps)
    }

    /// An iterator of (name, value) of its own stats, not of its metadata.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.line.get().stats.bind(py).call1((self.row,))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.name(py)?.cast_into::<PyString>()?.repr()?;
        Ok(format!("<ProfileEvent {name}, start_ps={}, duration_ps={}>", self.exact_start(), self.duration_ps))
    }
}

/// Iterates over the events of a line.
#[pyclass(module = "tpu_profile_plugin._native")]
struct ProfileEvents {
    line: Py<EventLine>,
    begin: Array<i64>,
    duration: Array<i64>,
    metadata: Array<u32>,
    base_ps: i64,
    first_row: u32,
    /// Events that were copied so far, and the copies of the last block, backwards.
    copied: usize,
    block: Vec<Event>,
}

impl ProfileEvents {
    fn copy(&mut self, py: Python<'_>) -> PyResult<()> {
        let (begin, duration) = (self.begin.bind(py).try_readonly()?, self.duration.bind(py).try_readonly()?);
        let metadata = self.metadata.bind(py).try_readonly()?;
        let (begin, duration, metadata) = (begin.as_slice()?, duration.as_slice()?, metadata.as_slice()?);
        self.block = backwards((begin, duration, metadata), self.copied, BLOCK)?;
        self.copied += self.block.len();
        Ok(())
    }
}

#[pymethods]
impl ProfileEvents {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<ProfileEvent>> {
        if self.block.is_empty() {
            self.copy(py)?;
        }
        let row = self.first_row.wrapping_add((self.copied - self.block.len()) as u32);
        Ok(self.block.pop().map(|(begin, duration_ps, metadata)| ProfileEvent {
            line: self.line.clone_ref(py),
            offset_ps: begin.wrapping_sub(self.base_ps),
            duration_ps,
            row,
            metadata,
        }))
    }
}

/// The events of a line: columns of the same length, what their begins count from, the line's time, the row of the first,
/// names by row of the event metadata, and a function from a row to the stats.
#[pyfunction]
#[pyo3(signature = (columns, base_ps, timestamp_ns, first_row, names, stats))]
fn profile_events(
    py: Python<'_>,
    columns: (Array<i64>, Array<i64>, Array<u32>),
    base_ps: i64,
    timestamp_ns: i64,
    first_row: u32,
    names: Py<PyList>,
    stats: Py<PyAny>,
) -> PyResult<ProfileEvents> {
    let (begin, duration, metadata) = columns;
    let line = Py::new(py, EventLine { names, timestamp_ns, stats })?;
    Ok(ProfileEvents { line, begin, duration, metadata, base_ps, first_row, copied: 0, block: Vec::new() })
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ProfileEvent>()?;
    module.add_class::<ProfileEvents>()?;
    module.add_function(wrap_pyfunction!(profile_events, module)?)
}
