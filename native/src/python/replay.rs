//! Replay of a graph of dependencies.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::kernels::replay::{Graph, binding_path as walk};

use super::calls::without_gil;

type Ints<'py> = PyReadonlyArray1<'py, i64>;
type OutInts<'py> = Bound<'py, PyArray1<i64>>;
type Edges<'py> = (Ints<'py>, PyReadonlyArray1<'py, u32>, Ints<'py>);

#[pyfunction]
#[pyo3(signature = (edges, delay, duration, cut=None))]
fn replay<'py>(
    py: Python<'py>,
    edges: Edges<'py>,
    delay: Ints<'py>,
    duration: Ints<'py>,
    cut: Option<PyReadonlyArray1<'py, bool>>,
) -> PyResult<(OutInts<'py>, OutInts<'py>)> {
    let graph = Graph { start: edges.0.as_slice()?, source: edges.1.as_slice()?, lag: edges.2.as_slice()? };
    let (delay, duration) = (delay.as_slice()?, duration.as_slice()?);
    let cut = cut.as_ref().map(|cut| cut.as_slice()).transpose()?;
    let found = without_gil(py, || graph.replay(delay, duration, cut))?;
    Ok((found.end.into_pyarray(py), found.binding.into_pyarray(py)))
}

#[pyfunction]
fn binding_path<'py>(
    py: Python<'py>,
    source: PyReadonlyArray1<'py, u32>,
    binding: Ints<'py>,
    node: usize,
) -> PyResult<OutInts<'py>> {
    let (source, binding) = (source.as_slice()?, binding.as_slice()?);
    let path = without_gil(py, || walk(source, binding, node))?;
    Ok(path.into_pyarray(py))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(replay, module)?)?;
    module.add_function(wrap_pyfunction!(binding_path, module)?)
}
