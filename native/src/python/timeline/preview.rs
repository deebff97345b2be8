//! Pictures of a large file before its events are in memory.

use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::trace::{Array, Read, sizes};
use crate::python::calls::without_gil;
use crate::timeline::answer::payload::{self, Container, Strings};
use crate::timeline::model::trace::TrackId;
use crate::timeline::preview::{Line, NameTable, Preview};

/// The recorded lines of a host's file as tracks; see `preview::Preview`.
#[pyclass(frozen, module = "tpu_profile_plugin._native")]
pub struct TracePreview {
    inner: Preview,
    data: Py<numpy::PyArray1<u8>>,
}

#[pymethods]
impl TracePreview {
    /// `tables` are, by plane: its position in the file, ids of event metadata, name ids; `lines` are (table, line of
    /// its plane, track) columns sorted by track.
    #[new]
    fn new(
        py: Python<'_>,
        data: PyReadonlyArray1<'_, u8>,
        tables: Vec<(usize, Read<'_, i64>, Read<'_, u32>)>,
        lines: (Read<'_, u32>, Read<'_, u32>, Read<'_, u32>),
        tracks: (Read<'_, u32>, Read<'_, u32>),
        names: Vec<String>,
        threads: usize,
    ) -> PyResult<Self> {
        let bytes = data.as_slice()?;
        let mut made = Vec::new();
        for (plane, ids, names) in &tables {
            made.push(NameTable::new(*plane, ids.as_slice()?, names.as_slice()?));
        }
        let (table, line, track) = (lines.0.as_slice()?, lines.1.as_slice()?, lines.2.as_slice()?);
        let lines: Vec<Line> = table
            .iter()
            .zip(line.iter().zip(track))
            .map(|(&table, (&line, &track))| Line { table: table as usize, line: line as usize, track: track as usize })
            .collect();
        let ids =
            tracks.0.as_slice()?.iter().zip(tracks.1.as_slice()?).map(|(&pid, &tid)| TrackId { pid, tid }).collect();
        let inner =
            without_gil(py, || Preview::new(bytes, made, &lines, ids, names.iter().map(String::as_str), threads))?;
        Ok(TracePreview { inner, data: data.as_unbound().clone_ref(py) })
    }

    /// Events that are shown.
    fn __len__(&self) -> usize {
        self.inner.outline.track_events.last().map_or(0, |&count| count as usize)
    }

    fn __sizeof__(&self) -> usize {
        self.inner.bytes()
    }

    /// First begin and last end in ps.
    #[getter]
    fn span(&self) -> (i64, i64) {
        self.inner.outline.span
    }

    /// Number of events per track.
    fn track_sizes(&self, py: Python<'_>) -> Array<u32> {
        sizes(py, &self.inner.outline.track_events)
    }

    /// Number of rows per track.
    fn track_rows(&self, py: Python<'_>) -> Array<u32> {
        sizes(py, &self.inner.outline.track_rows)
    }

    /// False: only the whole timeline knows flows.
    fn is_async(&self, track: usize) -> bool {
        self.inner.outline.is_async(track)
    }
}

/// As `trace_columns`, of previews.
#[pyfunction]
fn preview_columns<'py>(
    py: Python<'py>,
    previews: Vec<Py<TracePreview>>,
    window: (i64, i64),
    columns: u32,
    limit: usize,
    head: &[u8],
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let arrays: Vec<_> = previews.iter().map(|preview| preview.get().data.bind(py).readonly()).collect();
    let mut jobs = Vec::new();
    for (preview, array) in previews.iter().zip(&arrays) {
        jobs.push((&preview.get().inner, array.as_slice()?));
    }
    let bytes = without_gil(py, || {
        let share = limit / jobs.len().max(1);
        let boxes = jobs.iter().map(|(preview, data)| preview.boxes(data, window, columns, share, threads));
        let boxes = boxes.collect::<crate::error::Result<Vec<_>>>()?;
        let outlines: Vec<_> = jobs.iter().map(|(preview, _)| &preview.outline).collect();
        Ok(payload::columns(&outlines, boxes, head, Strings::default(), Container::default()))
    })?;
    Ok(PyBytes::new(py, &bytes))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<TracePreview>()?;
    module.add_function(wrap_pyfunction!(preview_columns, module)?)
}
