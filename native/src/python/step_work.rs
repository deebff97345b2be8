//! The work of steps by op.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::kernels::step_work::{Runs, Sums};

use super::calls::without_gil;

type Ints<'py> = PyReadonlyArray1<'py, i64>;
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
        let mut sums = Sums::new(keys, few);
        for runs in &parts {
            fits(runs, keys)?;
            sums.add(runs);
        }
        Ok(sums)
    })?;
    Ok((found.time.into_pyarray(py), found.by_step.into_pyarray(py), found.runs.into_pyarray(py)))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(step_work, module)?)
}
