//! Wall time by what ran: shares of spans, stacks of a thread, overlaps of two sets.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::kernels::blame;

use super::calls::without_gil;

type Ints<'py> = PyReadonlyArray1<'py, i64>;
type OutInts<'py> = Bound<'py, PyArray1<i64>>;
type SetIn<'py> = (Ints<'py>, Ints<'py>);

fn same_length(holds: bool) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::argument("columns of different length")) }
}

#[pyfunction]
fn time_shares<'py>(
    py: Python<'py>,
    times: SetIn<'py>,
    begin: Ints<'py>,
    end: Ints<'py>,
    most: usize,
) -> PyResult<OutInts<'py>> {
    let (set, begin, end) = ((times.0.as_slice()?, times.1.as_slice()?), begin.as_slice()?, end.as_slice()?);
    let found = without_gil(py, || {
        same_length(set.0.len() == set.1.len() && begin.len() == end.len())?;
        Ok(blame::shares(set, begin, end, most))
    })?;
    Ok(found.into_pyarray(py))
}

#[pyfunction]
fn thread_stacks<'py>(
    py: Python<'py>,
    begin: Ints<'py>,
    end: Ints<'py>,
    name: Ints<'py>,
    most: usize,
) -> PyResult<(OutInts<'py>, OutInts<'py>, OutInts<'py>, OutInts<'py>, OutInts<'py>)> {
    let (begin, end, name) = (begin.as_slice()?, end.as_slice()?, name.as_slice()?);
    let found = without_gil(py, || {
        same_length(begin.len() == end.len() && begin.len() == name.len())?;
        Ok(blame::stacks(begin, end, name, most))
    })?;
    Ok((
        found.begin.into_pyarray(py),
        found.end.into_pyarray(py),
        found.node.into_pyarray(py),
        found.parent.into_pyarray(py),
        found.name.into_pyarray(py),
    ))
}

#[pyfunction]
fn overlaps<'py>(
    py: Python<'py>,
    one: SetIn<'py>,
    other: SetIn<'py>,
) -> PyResult<(OutInts<'py>, OutInts<'py>, OutInts<'py>)> {
    let (one, other) = ((one.0.as_slice()?, one.1.as_slice()?), (other.0.as_slice()?, other.1.as_slice()?));
    let (left, right, ps) = without_gil(py, || {
        same_length(one.0.len() == one.1.len() && other.0.len() == other.1.len())?;
        Ok(blame::overlaps(one, other))
    })?;
    Ok((left.into_pyarray(py), right.into_pyarray(py), ps.into_pyarray(py)))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(time_shares, module)?)?;
    module.add_function(wrap_pyfunction!(thread_stacks, module)?)?;
    module.add_function(wrap_pyfunction!(overlaps, module)?)
}
