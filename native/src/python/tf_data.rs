//! The calls of tf.data iterators: argument checks, NumPy hand-over, GIL release.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::grouping::tf_data::{self, Events, Sparse};

use super::calls::without_gil;

type Array<'py, T> = Bound<'py, PyArray1<T>>;
type Column<'py, T> = PyReadonlyArray1<'py, T>;
type Pair<'py> = (Column<'py, i64>, Column<'py, i64>);
type RunColumns<'py> = (
    Array<'py, i64>,
    Array<'py, u32>,
    Array<'py, i64>,
    Array<'py, i64>,
    Array<'py, i64>,
    Array<'py, i64>,
    Array<'py, bool>,
    Array<'py, i64>,
    Array<'py, u32>,
);
type CallColumns<'py> = (Array<'py, u32>, Array<'py, u32>, Array<'py, bool>, bool);

fn check(fits: bool, what: &'static str) -> Result<()> {
    if fits { Ok(()) } else { Err(Error::argument(what)) }
}

fn sparse<'a>(pair: &'a Pair<'_>) -> PyResult<Sparse<'a>> {
    let (event, value) = (pair.0.as_slice()?, pair.1.as_slice()?);
    check(event.len() == value.len(), "columns of different length")?;
    Ok(Sparse { event, value })
}

/// The calls of tf.data iterators; see the stub.
#[pyclass(module = "tpu_profile_plugin._native", frozen)]
struct IteratorCalls {
    forest: tf_data::IteratorCalls,
}

impl IteratorCalls {
    fn check_roots(&self, roots: &[u32]) -> Result<()> {
        let known = |&root: &u32| self.forest.id_of_call(root).is_some();
        check(roots.iter().all(known), "call number")
    }
}

#[pymethods]
impl IteratorCalls {
    #[new]
    #[pyo3(signature = (line_start, begin, duration, metadata, role, id, parent, element, skip=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        line_start: Column<'_, i64>,
        begin: Column<'_, i64>,
        duration: Column<'_, i64>,
        metadata: Column<'_, u32>,
        role: Column<'_, u8>,
        id: Pair<'_>,
        parent: Pair<'_>,
        element: Pair<'_>,
        skip: Option<Column<'_, bool>>,
    ) -> PyResult<Self> {
        let events = Events {
            line_start: line_start.as_slice()?,
            begin: begin.as_slice()?,
            duration: duration.as_slice()?,
            metadata: metadata.as_slice()?,
            role: role.as_slice()?,
        };
        let skip = skip.as_ref().map(|marks| marks.as_slice()).transpose()?;
        let (id, parent, element) = (sparse(&id)?, sparse(&parent)?, sparse(&element)?);
        let count = events.begin.len();
        let equal = events.duration.len() == count && events.metadata.len() == count;
        check(equal && skip.is_none_or(|marks| marks.len() == count), "columns of different length")?;
        let start = events.line_start;
        let inside = start.first().is_none_or(|&at| at >= 0) && start.last().is_none_or(|&at| at as usize <= count);
        let ordered = start.windows(2).all(|pair| pair[0] <= pair[1]);
        check(inside && ordered && count < u32::MAX as usize, "line starts")?;
        let forest = without_gil(py, || Ok(tf_data::IteratorCalls::new(events, id, parent, element, skip)))?;
        Ok(IteratorCalls { forest })
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.forest.size()
    }

    fn iterators<'py>(&self, py: Python<'py>) -> (Array<'py, u64>, Array<'py, u64>, Array<'py, u32>) {
        let IteratorCalls { forest } = self;
        let first: Vec<u32> = forest.first.iter().map(|&call| forest.event[call as usize]).collect();
        (forest.id.clone().into_pyarray(py), forest.parent.clone().into_pyarray(py), first.into_pyarray(py))
    }

    fn roots<'py>(&self, py: Python<'py>) -> (Array<'py, u32>, Array<'py, u32>, Array<'py, i64>, Array<'py, i64>) {
        let IteratorCalls { forest } = self;
        let at = forest.roots.iter().map(|&call| call as usize);
        let iterator: Vec<u32> = at.clone().map(|call| forest.iterator[call]).collect();
        let begin: Vec<i64> = at.clone().map(|call| forest.begin[call]).collect();
        let duration: Vec<i64> = at.map(|call| forest.duration[call]).collect();
        let roots = forest.roots.clone();
        (roots.into_pyarray(py), iterator.into_pyarray(py), begin.into_pyarray(py), duration.into_pyarray(py))
    }

    fn sum<'py>(
        &self,
        py: Python<'py>,
        runs: Column<'py, u32>,
        least: usize,
        rows: usize,
        most: usize,
    ) -> PyResult<RunColumns<'py>> {
        let runs = runs.as_slice()?;
        self.check_roots(runs)?;
        let found = without_gil(py, || Ok(self.forest.sum(runs, least, rows, most)))?;
        Ok((
            found.start.into_pyarray(py),
            found.iterator.into_pyarray(py),
            found.begin.into_pyarray(py),
            found.duration.into_pyarray(py),
            found.own.into_pyarray(py),
            found.calls.into_pyarray(py),
            found.blocking.into_pyarray(py),
            found.left_out.into_pyarray(py),
            found.cut.into_pyarray(py),
        ))
    }

    fn calls<'py>(&self, py: Python<'py>, root: u32) -> PyResult<CallColumns<'py>> {
        self.check_roots(&[root])?;
        let found = without_gil(py, || Ok(self.forest.calls(root)))?;
        let event: Vec<u32> = found.call.iter().map(|&call| self.forest.event[call as usize]).collect();
        let iterator: Vec<u32> = found.call.iter().map(|&call| self.forest.iterator[call as usize]).collect();
        Ok((event.into_pyarray(py), iterator.into_pyarray(py), found.blocking.into_pyarray(py), found.cut))
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<IteratorCalls>()
}
