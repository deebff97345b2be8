//! The arguments of events for Python: where they are, and as JSON.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::trace::{Array, Read, Trace, TraceNames, optional};
use crate::python::calls::{guarded, without_gil};
use crate::timeline::answer::arguments::{self, Args, Extra, Sheet, Stats, Values};
use crate::timeline::answer::hits;
use crate::timeline::model::trace::NO_GROUP;

/// Attributes of `ArgSheet` objects; stats are (start, key, kind, value).
#[derive(FromPyObject)]
struct SheetIn<'py> {
    metadata: Read<'py, u32>,
    long_name: Read<'py, u32>,
    metadata_stats: StatsIn<'py>,
    metadata_row: Option<Read<'py, i64>>,
    event_stats: StatsIn<'py>,
    event_row: Option<Read<'py, i64>>,
    keys: Read<'py, u32>,
    refs: Read<'py, u32>,
    integers: Vec<(u32, Read<'py, u32>, Read<'py, i64>)>,
    texts: Vec<(u32, Read<'py, u32>, Read<'py, u32>)>,
}

#[derive(FromPyObject)]
struct StatsIn<'py> {
    start: Read<'py, u32>,
    key: Read<'py, u32>,
    kind: Read<'py, u8>,
    value: Read<'py, u64>,
}

impl StatsIn<'_> {
    fn view(&self) -> PyResult<Stats<'_>> {
        Ok(Stats {
            start: self.start.as_slice()?,
            key: self.key.as_slice()?,
            kind: self.kind.as_slice()?,
            value: self.value.as_slice()?,
        })
    }
}

impl SheetIn<'_> {
    fn view(&self) -> PyResult<Sheet<'_>> {
        let mut extras = Vec::new();
        for (key, events, values) in &self.integers {
            extras.push(Extra { key: *key, events: events.as_slice()?, values: Values::Ints(values.as_slice()?) });
        }
        for (key, events, values) in &self.texts {
            extras.push(Extra { key: *key, events: events.as_slice()?, values: Values::Texts(values.as_slice()?) });
        }
        Ok(Sheet {
            metadata: self.metadata.as_slice()?,
            long_name: self.long_name.as_slice()?,
            metadata_stats: self.metadata_stats.view()?,
            metadata_row: optional(&self.metadata_row)?,
            event_stats: self.event_stats.view()?,
            event_row: optional(&self.event_row)?,
            keys: self.keys.as_slice()?,
            refs: self.refs.as_slice()?,
            extras,
        })
    }
}

/// Attributes of `TraceArgs` objects; `keys` are ascending.
#[derive(FromPyObject)]
pub(super) struct ArgsIn<'py> {
    data: Read<'py, u8>,
    sheets: Vec<SheetIn<'py>>,
    keys: Py<TraceNames>,
    texts: Py<TraceNames>,
    long_name: u32,
    group_id: u32,
    flow: u32,
}

impl ArgsIn<'_> {
    pub(super) fn view(&self) -> PyResult<Args<'_>> {
        let sheets = self.sheets.iter().map(SheetIn::view).collect::<PyResult<Vec<_>>>()?;
        let mut base = Vec::with_capacity(sheets.len());
        let mut total = 0;
        for sheet in &sheets {
            base.push(total);
            total += sheet.metadata.len();
        }
        Ok(Args {
            data: self.data.as_slice()?,
            sheets,
            keys: &self.keys.get().inner,
            texts: &self.texts.get().inner,
            long_name: self.long_name,
            group_id: self.group_id,
            flow: self.flow,
            base,
        })
    }
}

/// JSON of the arguments of one source event, as an object.
#[pyfunction]
fn trace_args<'py>(py: Python<'py>, args: ArgsIn<'py>, source: usize) -> PyResult<Bound<'py, PyBytes>> {
    let args = args.view()?;
    guarded(|| {
        let mut list = Vec::new();
        args.collect(source, &mut list);
        let mut out = Vec::new();
        arguments::typed(&mut out, &args, &list, NO_GROUP, &[], true);
        Ok(PyBytes::new(py, out.strip_prefix(b"\"args\":").unwrap_or(&out)))
    })
}

/// One flag per source event: whether an argument's `key: value` contains the text (lower case when `fold`).
#[pyfunction]
fn trace_args_matching<'py>(
    py: Python<'py>,
    trace: Py<Trace>,
    args: ArgsIn<'py>,
    text: &str,
    fold: bool,
) -> PyResult<Array<u8>> {
    let args = args.view()?;
    let flags = without_gil(py, || Ok(hits::in_args(&trace.get().timeline.trace, &args, text, fold)))?;
    Ok(flags.into_pyarray(py).unbind())
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_args, module)?)?;
    module.add_function(wrap_pyfunction!(trace_args_matching, module)?)
}
