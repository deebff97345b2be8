//! Sets of time, events of a thread by depth, pairs of events, and arrays of integers as JSON.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{Error, Result};
use crate::json::text::integers;
use crate::kernels::{sets, shift, threads};

use super::calls::without_gil;

type Ints<'py> = PyReadonlyArray1<'py, i64>;
type OutInts<'py> = Bound<'py, PyArray1<i64>>;
type TimesIn<'py> = (Ints<'py>, Ints<'py>);
type PartIn<'py> = (Ints<'py>, Ints<'py>, Option<PyReadonlyArray1<'py, bool>>);
type Spans<'py> = (OutInts<'py>, OutInts<'py>);
const MOST_KEYS: i64 = 1 << 31;

fn check(holds: bool, what: &'static str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::argument(what)) }
}

fn arrays<'py>(py: Python<'py>, pair: (Vec<i64>, Vec<i64>)) -> Spans<'py> {
    (pair.0.into_pyarray(py), pair.1.into_pyarray(py))
}

fn slices<'a>(parts: &'a [PartIn<'_>]) -> PyResult<Vec<sets::Part<'a>>> {
    let slices = parts.iter().map(|(begin, end, keep)| {
        let keep = keep.as_ref().map(|keep| keep.as_slice()).transpose()?;
        Ok((begin.as_slice()?, end.as_slice()?, keep))
    });
    slices.collect()
}

fn check_parts(parts: &[sets::Part]) -> Result<()> {
    let fits =
        |(begin, end, keep): &sets::Part| begin.len() == end.len() && keep.is_none_or(|keep| keep.len() == begin.len());
    check(parts.iter().all(fits), "columns of different length")
}

#[pyfunction]
fn union_times<'py>(py: Python<'py>, parts: Vec<PartIn<'py>>, instants: bool) -> PyResult<Spans<'py>> {
    let parts = slices(&parts)?;
    let found = without_gil(py, || {
        check_parts(&parts)?;
        Ok(sets::union(&parts, instants))
    })?;
    Ok(arrays(py, found))
}

#[pyfunction]
fn covered_after(py: Python<'_>, parts: Vec<PartIn<'_>>, point: i64) -> PyResult<(i64, i64)> {
    let parts = slices(&parts)?;
    without_gil(py, || {
        check_parts(&parts)?;
        Ok(sets::covered_after(&parts, point))
    })
}

/// Either kernel for two sets, called with the sets of Python.
fn combined<'py>(
    py: Python<'py>,
    (one, other): (TimesIn<'py>, TimesIn<'py>),
    work: fn(sets::Set, sets::Set) -> sets::Spans,
) -> PyResult<Spans<'py>> {
    let (one, other) = ((one.0.as_slice()?, one.1.as_slice()?), (other.0.as_slice()?, other.1.as_slice()?));
    let found = without_gil(py, || {
        check(one.0.len() == one.1.len() && other.0.len() == other.1.len(), "columns of different length")?;
        Ok(work(one, other))
    })?;
    Ok(arrays(py, found))
}

#[pyfunction]
fn intersect_times<'py>(py: Python<'py>, one: TimesIn<'py>, other: TimesIn<'py>) -> PyResult<Spans<'py>> {
    combined(py, (one, other), sets::intersect)
}

#[pyfunction]
fn subtract_times<'py>(py: Python<'py>, one: TimesIn<'py>, other: TimesIn<'py>) -> PyResult<Spans<'py>> {
    combined(py, (one, other), sets::subtract)
}

#[pyfunction]
fn step_shift(py: Python<'_>, one: TimesIn<'_>, other: TimesIn<'_>) -> PyResult<i64> {
    let (one, other) = ((one.0.as_slice()?, one.1.as_slice()?), (other.0.as_slice()?, other.1.as_slice()?));
    without_gil(py, || {
        check(one.0.len() == one.1.len() && other.0.len() == other.1.len(), "columns of different length")?;
        Ok(shift::step_shift(one, other))
    })
}

#[pyfunction]
fn covered_within<'py>(
    py: Python<'py>,
    begin: Ints<'py>,
    end: Ints<'py>,
    since: Ints<'py>,
    until: Ints<'py>,
) -> PyResult<OutInts<'py>> {
    let (set, since, until) = ((begin.as_slice()?, end.as_slice()?), since.as_slice()?, until.as_slice()?);
    let covered = without_gil(py, || {
        check(set.0.len() == set.1.len() && since.len() == until.len(), "columns of different length")?;
        Ok(sets::covered_within(set, since, until))
    })?;
    Ok(covered.into_pyarray(py))
}

#[pyfunction]
fn thread_levels<'py>(py: Python<'py>, begin: Ints<'py>, end: Ints<'py>, most: usize) -> PyResult<Spans<'py>> {
    let (begin, end) = (begin.as_slice()?, end.as_slice()?);
    let found = without_gil(py, || {
        check(begin.len() == end.len(), "columns of different length")?;
        check(most <= 1 << 16, "too many levels")?;
        Ok(threads::levels(begin, end, most))
    })?;
    Ok(arrays(py, found))
}

#[pyfunction]
fn pair_in_order<'py>(py: Python<'py>, key: Ints<'py>, opens: PyReadonlyArray1<'py, bool>) -> PyResult<Spans<'py>> {
    let (key, opens) = (key.as_slice()?, opens.as_slice()?);
    let found = without_gil(py, || {
        check(key.len() == opens.len(), "columns of different length")?;
        check(key.iter().all(|&key| key < MOST_KEYS), "key")?;
        Ok(threads::pair_in_order(key, opens))
    })?;
    Ok(arrays(py, found))
}

#[pyfunction]
fn json_integers<'py>(py: Python<'py>, values: PyReadonlyArrayDyn<'py, i64>) -> PyResult<Bound<'py, PyBytes>> {
    let (numbers, shape) = (values.as_slice()?, values.shape());
    let text = without_gil(py, || {
        let mut out = Vec::new();
        integers(numbers, shape, &mut out);
        Ok(out)
    })?;
    Ok(PyBytes::new(py, &text))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(union_times, module)?)?;
    module.add_function(wrap_pyfunction!(covered_after, module)?)?;
    module.add_function(wrap_pyfunction!(intersect_times, module)?)?;
    module.add_function(wrap_pyfunction!(subtract_times, module)?)?;
    module.add_function(wrap_pyfunction!(step_shift, module)?)?;
    module.add_function(wrap_pyfunction!(covered_within, module)?)?;
    module.add_function(wrap_pyfunction!(thread_levels, module)?)?;
    module.add_function(wrap_pyfunction!(pair_in_order, module)?)?;
    module.add_function(wrap_pyfunction!(json_integers, module)?)
}
