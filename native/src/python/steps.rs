//! Self times, sums by key, priority sweeps and the work of steps for the op and step analyses.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::calls::without_gil;
use crate::error::{Error, Result};
use crate::kernels::core_ops::{ClockStats, OpLine};
use crate::kernels::step_work::{Runs, Sums as WorkSums};
use crate::kernels::{self_time, sweep};
use crate::system::parallel;

type Ints<'py> = PyReadonlyArray1<'py, i64>;
type OutInts<'py> = Bound<'py, PyArray1<i64>>;

fn same_length(lengths: &[usize]) -> Result<()> {
    if lengths.windows(2).all(|pair| pair[0] == pair[1]) {
        Ok(())
    } else {
        Err(Error::argument("columns of different length"))
    }
}

/// Lines or groups as ranges: ascending, inside `length`.
fn ranges(start: &[i64], length: usize) -> Result<()> {
    let ascending = start.windows(2).all(|pair| pair[0] <= pair[1]);
    let inside = start.first().is_none_or(|&s| s >= 0) && start.last().is_none_or(|&s| s as usize <= length);
    if ascending && inside { Ok(()) } else { Err(Error::argument("starts that are not ascending ranges")) }
}

#[pyfunction]
fn self_times<'py>(py: Python<'py>, begin: Ints<'py>, duration: Ints<'py>) -> PyResult<OutInts<'py>> {
    let (begin, duration) = (begin.as_slice()?, duration.as_slice()?);
    let own = without_gil(py, || {
        same_length(&[begin.len(), duration.len()])?;
        let mut own = vec![0; begin.len()];
        self_time::self_times(begin, duration, &mut own);
        Ok(own)
    })?;
    Ok(own.into_pyarray(py))
}

#[pyfunction]
#[allow(clippy::type_complexity)]
fn nested_times<'py>(
    py: Python<'py>,
    start: Ints<'py>,
    begin: Ints<'py>,
    duration: Ints<'py>,
) -> PyResult<(OutInts<'py>, Bound<'py, PyArray1<i32>>)> {
    let (start, begin, duration) = (start.as_slice()?, begin.as_slice()?, duration.as_slice()?);
    let (own, depth) = without_gil(py, || {
        same_length(&[begin.len(), duration.len()])?;
        ranges(start, begin.len())?;
        Ok(self_time::nested(start, begin, duration))
    })?;
    Ok((own.into_pyarray(py), depth.into_pyarray(py)))
}

#[pyfunction]
#[allow(clippy::type_complexity)]
fn activity_self_times<'py>(
    py: Python<'py>,
    start: Ints<'py>,
    begin: Ints<'py>,
    end: Ints<'py>,
) -> PyResult<(OutInts<'py>, OutInts<'py>, OutInts<'py>)> {
    let (start, begin, end) = (start.as_slice()?, begin.as_slice()?, end.as_slice()?);
    let (own, first, last) = without_gil(py, || {
        same_length(&[begin.len(), end.len()])?;
        ranges(start, begin.len())?;
        let mut own = vec![self_time::LOST; begin.len()];
        let mut rest = own.get_mut(start.first().map_or(0, |&at| at as usize)..).unwrap_or_default();
        let mut lines = Vec::new();
        for line in start.windows(2) {
            let range = line[0] as usize..line[1] as usize;
            let (out, others) = rest.split_at_mut(range.len());
            lines.push((&begin[range.clone()], &end[range], out));
            rest = others;
        }
        let spans = parallel::run(parallel::threads_for(begin.len()), lines, |(begin, end, out)| {
            Ok(self_time::activity_self_times(begin, end, out).unwrap_or((0, 0)))
        })?;
        let (first, last): (Vec<i64>, Vec<i64>) = spans.into_iter().unzip();
        Ok((own, first, last))
    })?;
    Ok((own.into_pyarray(py), first.into_pyarray(py), last.into_pyarray(py)))
}

#[pyfunction]
#[allow(clippy::type_complexity)]
fn totals_by_key<'py>(
    py: Python<'py>,
    key: PyReadonlyArray1<'py, u32>,
    time: Ints<'py>,
    own: Ints<'py>,
    clock: Ints<'py>,
    keys: usize,
) -> PyResult<(OutInts<'py>, OutInts<'py>, OutInts<'py>, OutInts<'py>)> {
    let (key, time, own, clock) = (key.as_slice()?, time.as_slice()?, own.as_slice()?, clock.as_slice()?);
    let sums = without_gil(py, || {
        same_length(&[key.len(), time.len(), own.len(), clock.len()])?;
        // Keys name rows of a table that the caller holds; the bound only stops an absurd allocation.
        if keys > (1 << 32) {
            return Err(Error::argument("too many keys"));
        }
        Ok(self_time::totals(key, time, own, clock, keys))
    })?;
    Ok((
        sums.occurrences.into_pyarray(py),
        sums.time.into_pyarray(py),
        sums.own.into_pyarray(py),
        sums.least.into_pyarray(py),
    ))
}

type Sums<'py> = (OutInts<'py>, OutInts<'py>, OutInts<'py>, OutInts<'py>);
type Span = Option<(i64, i64)>;
type Pair<'py> = (OutInts<'py>, OutInts<'py>);

#[pyfunction]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
fn core_ops<'py>(
    py: Python<'py>,
    begin: Ints<'py>,
    duration: Ints<'py>,
    row: PyReadonlyArray1<'py, u32>,
    rows: usize,
    duty: PyReadonlyArray1<'py, u8>,
    start: PyReadonlyArray1<'py, u32>,
    key: PyReadonlyArray1<'py, u32>,
    kind: PyReadonlyArray1<'py, u8>,
    value: PyReadonlyArray1<'py, u64>,
    clock_keys: (u32, u32),
) -> PyResult<(Sums<'py>, Span, Span, Pair<'py>, Pair<'py>)> {
    let (begin, duration, row) = (begin.as_slice()?, duration.as_slice()?, row.as_slice()?);
    let (duty, start, key) = (duty.as_slice()?, start.as_slice()?, key.as_slice()?);
    let (kind, value) = (kind.as_slice()?, value.as_slice()?);
    let found = without_gil(py, || {
        // Rows are those of a table that the caller holds; the bound only stops an absurd allocation.
        if rows > (1 << 32) {
            return Err(Error::argument("too many rows"));
        }
        let line = OpLine { begin, duration, row, rows, duty };
        crate::kernels::core_ops::core_ops(&line, &ClockStats { start, key, kind, value, keys: clock_keys })
    })?;
    let arrays = |spans: Vec<(i64, i64)>| {
        let (begin, end): (Vec<i64>, Vec<i64>) = spans.into_iter().unzip();
        (begin.into_pyarray(py), end.into_pyarray(py))
    };
    let sums = (
        found.occurrences.into_pyarray(py),
        found.time.into_pyarray(py),
        found.own.into_pyarray(py),
        found.least.into_pyarray(py),
    );
    Ok((sums, found.device_span, found.host_span, arrays(found.work), arrays(found.sure)))
}

#[pyfunction]
fn line_contents<'py>(
    py: Python<'py>,
    start: Ints<'py>,
    begin: Ints<'py>,
    duration: Ints<'py>,
    row: PyReadonlyArray1<'py, u32>,
) -> PyResult<(OutInts<'py>, OutInts<'py>, OutInts<'py>, OutInts<'py>)> {
    let (start, begin, duration, row) = (start.as_slice()?, begin.as_slice()?, duration.as_slice()?, row.as_slice()?);
    let found = without_gil(py, || {
        same_length(&[begin.len(), duration.len(), row.len()])?;
        ranges(start, begin.len())?;
        Ok(sweep::contents(start, begin, duration, row))
    })?;
    let (begin, end) = (found.begin.into_pyarray(py), found.end.into_pyarray(py));
    Ok((begin, end, found.busy.into_pyarray(py), found.names.into_pyarray(py)))
}

#[pyfunction]
fn covered(py: Python<'_>, begin: Ints<'_>, duration: Ints<'_>) -> PyResult<i64> {
    let (begin, duration) = (begin.as_slice()?, duration.as_slice()?);
    without_gil(py, || {
        same_length(&[begin.len(), duration.len()])?;
        Ok(sweep::covered(begin, duration))
    })
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn priority_times<'py>(
    py: Python<'py>,
    group: Ints<'py>,
    begin: Ints<'py>,
    end: Ints<'py>,
    priority: PyReadonlyArray1<'py, u8>,
    groups: Ints<'py>,
    window_begin: Ints<'py>,
    window_end: Ints<'py>,
    slots: usize,
    instants: bool,
) -> PyResult<(OutInts<'py>, OutInts<'py>, Bound<'py, PyArray1<bool>>)> {
    let (group, begin, end) = (group.as_slice()?, begin.as_slice()?, end.as_slice()?);
    let (priority, groups) = (priority.as_slice()?, groups.as_slice()?);
    let (from, to) = (window_begin.as_slice()?, window_end.as_slice()?);
    let found = without_gil(py, || {
        same_length(&[group.len(), begin.len(), end.len(), priority.len()])?;
        same_length(&[groups.len(), from.len(), to.len()])?;
        if slots > 256 || group.len() >= u32::MAX as usize || !groups.is_sorted_by(|a, b| a < b) {
            return Err(Error::argument("groups"));
        }
        let windows: Vec<(i64, i64)> = from.iter().copied().zip(to.iter().copied()).collect();
        Ok(sweep::by_priority(sweep::Spans { group, begin, end, priority }, groups, &windows, slots, instants))
    })?;
    Ok((found.all.into_pyarray(py), found.inside.into_pyarray(py), found.present.into_pyarray(py)))
}

/// Begin, end, op and kind of runs; slot of each op; begins and ends of steps.
type PartIn<'py> =
    (Ints<'py>, Ints<'py>, PyReadonlyArray1<'py, i32>, PyReadonlyArray1<'py, u8>, Ints<'py>, (Ints<'py>, Ints<'py>));
type SumsOut<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>);
const MOST_SUMS: usize = 1 << 30;

fn check(holds: bool, what: &'static str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::argument(what)) }
}

fn fits(runs: &Runs, keys: usize) -> Result<()> {
    let length = runs.begin.len();
    check([runs.end.len(), runs.op.len(), runs.work.len()] == [length; 3], "columns of different length")?;
    check(runs.steps.0.len() == runs.steps.1.len(), "columns of different length")?;
    check(runs.op.iter().all(|&op| (op as usize) < runs.key_of_op.len()), "op")?;
    check(runs.key_of_op.iter().all(|&key| (key as u64) < keys as u64), "key")
}

#[pyfunction]
fn step_work<'py>(
    py: Python<'py>,
    parts: Vec<PartIn<'py>>,
    kind: u8,
    keys: usize,
    few: usize,
) -> PyResult<SumsOut<'py>> {
    let parts = parts
        .iter()
        .map(|(begin, end, op, work, key_of_op, (since, until))| {
            Ok(Runs {
                begin: begin.as_slice()?,
                end: end.as_slice()?,
                op: op.as_slice()?,
                work: work.as_slice()?,
                kind,
                key_of_op: key_of_op.as_slice()?,
                steps: (since.as_slice()?, until.as_slice()?),
            })
        })
        .collect::<PyResult<Vec<_>>>()?;
    let found = without_gil(py, || {
        check(keys.checked_mul(few.max(1)).is_some_and(|sums| sums <= MOST_SUMS), "too many sums")?;
        let mut sums = WorkSums::new(keys, few);
        for runs in &parts {
            fits(runs, keys)?;
            sums.add(runs);
        }
        Ok(sums)
    })?;
    Ok((found.time.into_pyarray(py), found.by_step.into_pyarray(py), found.runs.into_pyarray(py)))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(self_times, module)?)?;
    module.add_function(wrap_pyfunction!(nested_times, module)?)?;
    module.add_function(wrap_pyfunction!(activity_self_times, module)?)?;
    module.add_function(wrap_pyfunction!(totals_by_key, module)?)?;
    module.add_function(wrap_pyfunction!(core_ops, module)?)?;
    module.add_function(wrap_pyfunction!(line_contents, module)?)?;
    module.add_function(wrap_pyfunction!(covered, module)?)?;
    module.add_function(wrap_pyfunction!(priority_times, module)?)?;
    module.add_function(wrap_pyfunction!(step_work, module)?)
}
