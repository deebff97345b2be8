//! Signatures of the grouping kernels: argument checks, NumPy hand-over, GIL release; no loop over events.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::Error;
use crate::kernels::cover::{self, Spans};
use crate::kernels::expand::{Events, Source, expand};
use crate::kernels::gather::{self, Stats, gather};
use crate::kernels::offload::pair;
use crate::kernels::xprof_order;
use crate::python::calls::without_gil;

pub(super) type Array<'py, T> = Bound<'py, PyArray1<T>>;
pub(super) type Column<'py, T> = PyReadonlyArray1<'py, T>;
type SourceColumns<'py> = (Column<'py, i32>, Column<'py, u32>, Column<'py, u32>, Vec<u32>);
type LineColumns<'py> =
    (Array<'py, i64>, Array<'py, i64>, Array<'py, u32>, Array<'py, i64>, Array<'py, u8>, Array<'py, u32>);

pub(super) fn check(fits: bool, what: &'static str) -> PyResult<()> {
    if fits { Ok(()) } else { Err(Error::argument(what).into()) }
}

type FoundColumns<'py> = (Array<'py, i64>, Array<'py, u8>, Array<'py, u64>);

#[pyfunction]
fn gather_stats<'py>(
    py: Python<'py>,
    start: Column<'py, u32>,
    key: Column<'py, u32>,
    kind: Column<'py, u8>,
    value: Column<'py, u64>,
    slot_of_key: Column<'py, u8>,
    slots: usize,
) -> PyResult<Vec<FoundColumns<'py>>> {
    let stats =
        Stats { start: start.as_slice()?, key: key.as_slice()?, kind: kind.as_slice()?, value: value.as_slice()? };
    let slot_of_key = slot_of_key.as_slice()?;
    check(slots < 255, "too many names")?;
    let found = without_gil(py, || Ok(gather(stats, slot_of_key, slots)))?;
    Ok(found
        .into_iter()
        .map(|found| (found.owner.into_pyarray(py), found.kind.into_pyarray(py), found.value.into_pyarray(py)))
        .collect())
}

#[pyfunction]
fn lookup<'py>(py: Python<'py>, rows: Column<'py, i64>, wanted: Column<'py, i64>) -> PyResult<Array<'py, i64>> {
    let (rows, wanted) = (rows.as_slice()?, wanted.as_slice()?);
    Ok(without_gil(py, || Ok(gather::lookup(rows, wanted)))?.into_pyarray(py))
}

#[pyfunction]
fn merge_rows<'py>(
    py: Python<'py>,
    first: Column<'py, i64>,
    second: Column<'py, i64>,
    replace: bool,
) -> PyResult<Array<'py, i64>> {
    let (first, second) = (first.as_slice()?, second.as_slice()?);
    Ok(without_gil(py, || Ok(gather::merge(first, second, replace)))?.into_pyarray(py))
}

#[pyfunction]
fn mix<'py>(py: Python<'py>, columns: Vec<Column<'py, i64>>) -> PyResult<Array<'py, u64>> {
    let mut slices = Vec::with_capacity(columns.len());
    for column in &columns {
        slices.push(column.as_slice()?);
    }
    let longest = slices.iter().map(|column| column.len()).max().unwrap_or(0);
    check(slices.iter().all(|column| column.len() == longest || column.len() == 1), "columns of different length")?;
    Ok(without_gil(py, || Ok(gather::mix(&slices)))?.into_pyarray(py))
}

fn walk<'py>(
    py: Python<'py>,
    kernel: fn(Spans, Spans, &mut [u32]),
    columns: [&Column<'py, i64>; 4],
) -> PyResult<Array<'py, u32>> {
    let [ref_begin, ref_duration, begin, duration] = columns;
    let parents = Spans { begin: ref_begin.as_slice()?, duration: ref_duration.as_slice()? };
    let events = Spans { begin: begin.as_slice()?, duration: duration.as_slice()? };
    check(parents.begin.len() == parents.duration.len(), "parent columns of different length")?;
    check(events.begin.len() == events.duration.len(), "event columns of different length")?;
    let out = without_gil(py, || {
        let mut out = vec![0; events.begin.len()];
        kernel(parents, events, &mut out);
        Ok(out)
    })?;
    Ok(out.into_pyarray(py))
}

#[pyfunction]
fn overlapping<'py>(
    py: Python<'py>,
    ref_begin: Column<'py, i64>,
    ref_duration: Column<'py, i64>,
    begin: Column<'py, i64>,
    duration: Column<'py, i64>,
) -> PyResult<Array<'py, u32>> {
    walk(py, cover::overlapping, [&ref_begin, &ref_duration, &begin, &duration])
}

#[pyfunction]
fn enclosing<'py>(
    py: Python<'py>,
    ref_begin: Column<'py, i64>,
    ref_duration: Column<'py, i64>,
    begin: Column<'py, i64>,
    duration: Column<'py, i64>,
) -> PyResult<Array<'py, u32>> {
    walk(py, cover::enclosing, [&ref_begin, &ref_duration, &begin, &duration])
}

#[pyfunction]
fn expand_lines<'py>(
    py: Python<'py>,
    begin: Column<'py, i64>,
    duration: Column<'py, i64>,
    group: Column<'py, i64>,
    scope: Column<'py, i64>,
    stream: bool,
    lines: Vec<SourceColumns<'py>>,
) -> PyResult<Vec<LineColumns<'py>>> {
    let events = Events {
        begin: begin.as_slice()?,
        duration: duration.as_slice()?,
        group: group.as_slice()?,
        scope: scope.as_slice()?,
        stream,
    };
    let count = events.begin.len();
    check(events.duration.len() == count && events.group.len() == count, "event columns of different length")?;
    let mut sources = Vec::with_capacity(lines.len());
    for (row, level_start, code, dependents) in &lines {
        sources.push(Source {
            row: row.as_slice()?,
            level_start: level_start.as_slice()?,
            code: code.as_slice()?,
            dependents,
        });
    }
    let out = without_gil(py, || Ok(expand(&events, &sources)))?;
    Ok(out
        .into_iter()
        .map(|line| {
            (
                line.begin.into_pyarray(py),
                line.duration.into_pyarray(py),
                line.code.into_pyarray(py),
                line.group.into_pyarray(py),
                line.level.into_pyarray(py),
                line.source.into_pyarray(py),
            )
        })
        .collect())
}

#[pyfunction]
fn walk_order<'py>(
    py: Python<'py>,
    begin: Column<'py, i64>,
    duration: Column<'py, i64>,
    wanted: Column<'py, i64>,
) -> PyResult<Array<'py, i64>> {
    let (begin, duration, wanted) = (begin.as_slice()?, duration.as_slice()?, wanted.as_slice()?);
    check(begin.len() == duration.len() && begin.len() < u32::MAX as usize, "columns of different length")?;
    check(wanted.iter().all(|&row| row >= 0 && (row as usize) < begin.len()), "row number")?;
    Ok(without_gil(py, || Ok(xprof_order::walk_order_of(begin, duration, wanted)))?.into_pyarray(py))
}

#[pyfunction]
fn pair_offload<'py>(
    py: Python<'py>,
    begin: Column<'py, i64>,
    duration: Column<'py, i64>,
    key: Column<'py, u32>,
    is_start: Column<'py, bool>,
    max_rows: usize,
) -> PyResult<(Array<'py, u32>, Array<'py, u32>, Array<'py, u32>)> {
    let (begin, duration, key, is_start) =
        (begin.as_slice()?, duration.as_slice()?, key.as_slice()?, is_start.as_slice()?);
    let count = begin.len();
    check(duration.len() == count && key.len() == count && is_start.len() == count, "columns of different length")?;
    check(key.iter().all(|&key| (key as usize) <= (1 << 24)), "key")?;
    let (start, (done, row)): (Vec<u32>, (Vec<u32>, Vec<u32>)) = without_gil(py, || {
        let pairs = pair(begin, duration, key, is_start, max_rows);
        Ok(pairs.into_iter().map(|pair| (pair.start, (pair.done, pair.row))).unzip())
    })?;
    Ok((start.into_pyarray(py), done.into_pyarray(py), row.into_pyarray(py)))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(gather_stats, module)?)?;
    module.add_function(wrap_pyfunction!(merge_rows, module)?)?;
    module.add_function(wrap_pyfunction!(mix, module)?)?;
    module.add_function(wrap_pyfunction!(lookup, module)?)?;
    module.add_function(wrap_pyfunction!(overlapping, module)?)?;
    module.add_function(wrap_pyfunction!(enclosing, module)?)?;
    module.add_function(wrap_pyfunction!(expand_lines, module)?)?;
    module.add_function(wrap_pyfunction!(walk_order, module)?)?;
    module.add_function(wrap_pyfunction!(pair_offload, module)?)
}
