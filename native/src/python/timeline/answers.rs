//! The answers of the timeline for Python: JSON forms and binary forms, as bytes.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arguments::ArgsIn;
use super::trace::{Array, Read, Trace, TraceSelection};
use crate::python::calls::without_gil;
use crate::system::parallel;
use crate::timeline::answer::payload::{self, Container, Strings};
use crate::timeline::answer::{counter, hits, legacy, series, typed};
use crate::timeline::packed::gzip::{self, Part};
use crate::timeline::packed::{Source, pack};
use crate::timeline::query::{lod, search, select};

/// A text, and its raw deflate form that ends at a byte.
type Text<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// A host's timeline, the events to write, and the number added to its process ids.
#[derive(FromPyObject)]
struct Host(Py<Trace>, Py<TraceSelection>, u32);

impl Host {
    fn source(&self) -> Source<'_> {
        Source { timeline: &self.0.get().timeline, selection: &self.1.get().inner, pid_offset: self.2 }
    }
}

/// JSON of the chosen events of hosts, each behind a comma, between `head` and `tail`: a gzip file.
#[pyfunction]
fn trace_json<'py>(
    py: Python<'py>,
    hosts: Vec<Host>,
    head: Vec<Text<'py>>,
    tail: Text<'py>,
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let part = |(text, blocks): &Text<'py>| Part::new(text.as_bytes(), blocks.as_bytes());
    let mut parts: Vec<Part> = head.iter().map(part).collect();
    parts.extend(without_gil(py, || {
        let sources: Vec<_> = hosts.iter().map(Host::source).collect();
        pack(&sources, threads)
    })?);
    parts.push(part(&tail));
    PyBytes::new_with(py, gzip::size(&parts), |file| {
        gzip::write(&parts, file);
        Ok(())
    })
}

/// JSON of the chosen events of a host, each behind a comma: raw deflate blocks, CRC-32 and length of the text.
#[pyfunction]
fn trace_json_part<'py>(py: Python<'py>, host: Host, threads: usize) -> PyResult<(Bound<'py, PyBytes>, u32, u64)> {
    let part = without_gil(py, || Ok(gzip::joined(pack(&[host.source()], threads)?)))?;
    Ok((PyBytes::new(py, &part.blocks), part.crc.finalize(), part.length))
}

/// A gzip file of parts as `trace_json_part` gives them: blocks, CRC-32 and length of the text.
#[pyfunction]
fn gzip_of<'py>(py: Python<'py>, parts: Vec<(Bound<'py, PyBytes>, u32, u64)>) -> PyResult<Bound<'py, PyBytes>> {
    let parts: Vec<Part> =
        parts.iter().map(|(blocks, crc, length)| Part::known(blocks.as_bytes(), *crc, *length)).collect();
    PyBytes::new_with(py, gzip::size(&parts), |file| {
        gzip::write(&parts, file);
        Ok(())
    })
}

/// JSON of selected events with all arguments, each behind a comma; `frames` is the stack frame per text (0: none).
#[pyfunction]
fn trace_typed<'py>(
    py: Python<'py>,
    trace: Py<Trace>,
    selection: Py<TraceSelection>,
    pid_offset: u32,
    args: ArgsIn<'py>,
    frames: Read<'py, u32>,
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let (args, frames) = (args.view()?, frames.as_slice()?);
    let host = typed::Host { timeline: &trace.get().timeline, selection: &selection.get().inner, pid_offset, threads };
    let bytes = without_gil(py, || Ok(typed::typed(&host, &args, frames)))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Selected events in the older form from chunk `part.0` on, about `part.1` of them, between `head` and `tail`; and the
/// next chunk, 0 at the end.
#[pyfunction]
#[pyo3(signature = (trace, selection, args, pid_offset, part, head, tail, threads))]
#[expect(clippy::too_many_arguments, reason = "one call per answer")]
fn trace_legacy<'py>(
    py: Python<'py>,
    trace: Py<Trace>,
    selection: Py<TraceSelection>,
    args: ArgsIn<'py>,
    pid_offset: u32,
    part: (usize, usize),
    head: &[u8],
    tail: &[u8],
    threads: usize,
) -> PyResult<(Bound<'py, PyBytes>, usize)> {
    let args = args.view()?;
    let (timeline, selection) = (&trace.get().timeline, &selection.get().inner);
    let (parts, next) = without_gil(py, || Ok(legacy::events(timeline, selection, &args, pid_offset, part, threads)))?;
    let size = head.len() + tail.len() + parts.iter().map(Vec::len).sum::<usize>();
    let bytes = PyBytes::new_with(py, size, |mut memory| {
        for part in std::iter::once(head).chain(parts.iter().map(Vec::as_slice)).chain(std::iter::once(tail)) {
            let (place, rest) = std::mem::take(&mut memory).split_at_mut(part.len());
            place.copy_from_slice(part);
            memory = rest;
        }
        Ok(())
    })?;
    Ok((bytes, next))
}

/// Samples of a counter: process, name, name of the value, times, values, whether they are written as integers.
type Counter<'py> = (u32, String, String, Read<'py, i64>, Read<'py, f64>, bool);

/// The fields of a `TraceDataResponse` that hold events, samples and texts.
#[pyfunction]
fn trace_series<'py>(
    py: Python<'py>,
    hosts: Vec<Host>,
    counters: Vec<Counter<'py>>,
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut values = Vec::new();
    for (pid, name, series, begin, value, whole) in &counters {
        let (begin, value) = (begin.as_slice()?, value.as_slice()?);
        values.push(series::Samples { pid: *pid, name, series, begin, value, whole: *whole });
    }
    let bytes = without_gil(py, || {
        let sources: Vec<_> = hosts.iter().map(Host::source).collect();
        Ok(series::fields(&sources, &values, threads))
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// Positions of the samples that a window (ps) shows; see `select::visible_samples`.
#[pyfunction]
fn visible_samples(py: Python<'_>, begin: Read<'_, i64>, window: (i64, i64), step: i64) -> PyResult<Array<u32>> {
    let begin = begin.as_slice()?;
    let shown = without_gil(py, || Ok(select::visible_samples(begin, window, step)))?;
    Ok(shown.into_pyarray(py).unbind())
}

/// Further arrays of an answer: numbers, words, and texts that become numbers of its strings.
type Further<'py> = (Vec<(String, Read<'py, f64>)>, Vec<(String, Read<'py, u32>)>, Vec<(String, Vec<String>)>);

/// JSON of the samples of a counter; see `counter::json`.
#[pyfunction]
fn trace_counter<'py>(
    py: Python<'py>,
    pid: u32,
    name: &str,
    series: &str,
    begin: Read<'py, i64>,
    value: Read<'py, f64>,
    legacy: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let (begin, value) = (begin.as_slice()?, value.as_slice()?);
    let bytes = without_gil(py, || Ok(counter::json(pid, name, series, begin, value, legacy)))?;
    Ok(PyBytes::new(py, &bytes))
}

/// The binary answer for a window (ps); `head` holds further members of the header, each followed by a comma.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one call per answer")]
fn trace_columns<'py>(
    py: Python<'py>,
    traces: Vec<Py<Trace>>,
    window: (i64, i64),
    columns: u32,
    limit: usize,
    head: &[u8],
    further: Further<'py>,
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut container = Container::default();
    let mut strings = Strings::default();
    for (name, values) in &further.0 {
        container.f64s(name, values.as_slice()?);
    }
    for (name, values) in &further.1 {
        container.u32s(name, values.as_slice()?);
    }
    for (name, labels) in &further.2 {
        let numbers: Vec<u32> = labels.iter().map(|label| strings.number(label.as_bytes())).collect();
        container.u32s(name, &numbers);
    }
    let traces: Vec<_> = traces.iter().map(|t| &t.get().timeline.trace).collect();
    let bytes = without_gil(py, || {
        let share = limit / traces.len().max(1);
        // One trace is shared out within, several are one by one.
        let within = if traces.len() == 1 { threads } else { 1 };
        let boxes = parallel::run(threads, traces.clone(), |trace| {
            Ok(lod::boxes(trace, window.0, window.1, columns, share, within))
        })?;
        Ok(payload::columns(&traces, boxes, head, strings, container))
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// The binary answer of a search; traces are (trace, flag per name id, flag per source event or empty).
#[pyfunction]
fn trace_search<'py>(
    py: Python<'py>,
    traces: Vec<(Py<Trace>, Read<'py, u8>, Read<'py, u8>)>,
    limit: usize,
    head: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let mut parts = Vec::new();
    for (trace, names, sources) in &traces {
        parts.push((&trace.get().timeline.trace, names.as_slice()?, sources.as_slice()?));
    }
    let bytes = without_gil(py, || {
        let hits = parts
            .iter()
            .map(|(trace, names, sources)| (*trace, search::search(trace, names, sources, limit)))
            .collect::<Vec<_>>();
        Ok(hits::answer(&hits, limit, head, Strings::default(), Container::default()))
    })?;
    Ok(PyBytes::new(py, &bytes))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_json, module)?)?;
    module.add_function(wrap_pyfunction!(trace_json_part, module)?)?;
    module.add_function(wrap_pyfunction!(gzip_of, module)?)?;
    module.add_function(wrap_pyfunction!(trace_typed, module)?)?;
    module.add_function(wrap_pyfunction!(trace_legacy, module)?)?;
    module.add_function(wrap_pyfunction!(trace_counter, module)?)?;
    module.add_function(wrap_pyfunction!(trace_series, module)?)?;
    module.add_function(wrap_pyfunction!(visible_samples, module)?)?;
    module.add_function(wrap_pyfunction!(trace_columns, module)?)?;
    module.add_function(wrap_pyfunction!(trace_search, module)?)
}
