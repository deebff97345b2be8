//! The timeline of a host for Python: built once, then queried for single events, selections and levels.

use std::cmp::Reverse;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::Error;
use crate::python::calls::without_gil;
use crate::timeline::answer::{arguments, legacy};
use crate::timeline::model::build::build;
use crate::timeline::model::names::Names;
use crate::timeline::model::order::decode_flow;
use crate::timeline::model::timeline::Timeline;
use crate::timeline::model::trace::{Sample, TrackId};
use crate::timeline::model::track::{Segment, Table};
use crate::timeline::packed::flow;
use crate::timeline::query::find::find;
use crate::timeline::query::select::{self, Query, Selection};
use crate::timeline::query::sums::{self, Area};

pub(super) type Read<'py, T> = PyReadonlyArray1<'py, T>;
pub(super) type Array<T> = Py<PyArray1<T>>;

/// Columns of `Trace.sums`.
type NameSums = (Array<u32>, Array<i64>, Array<i64>, Array<i64>, Array<i64>, Array<i64>);

/// One host's timeline.
#[pyclass(frozen, module = "tpu_profile_plugin._native")]
pub struct Trace {
    pub(super) timeline: Timeline,
}

/// Selected events, by track and time.
#[pyclass(frozen, module = "tpu_profile_plugin._native")]
pub struct TraceSelection {
    pub(super) inner: Selection,
}

#[pymethods]
impl TraceSelection {
    fn __len__(&self) -> usize {
        self.inner.events.len()
    }
}

/// Texts with numbers, ascending where they order something.
#[pyclass(frozen, module = "tpu_profile_plugin._native")]
pub struct TraceNames {
    pub(super) inner: Names,
}

#[pymethods]
impl TraceNames {
    #[new]
    fn new(names: Vec<String>) -> Self {
        TraceNames { inner: Names::new(names.iter().map(String::as_str)) }
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }
}

/// Attributes of `TraceTable` objects.
#[derive(FromPyObject)]
struct TableIn<'py> {
    begin_ps: Read<'py, i64>,
    duration_ps: Read<'py, i64>,
    metadata: Read<'py, u32>,
    names: Read<'py, u32>,
    removed: Option<Read<'py, u8>>,
    group_id: Option<Read<'py, i64>>,
    renamed_event: Read<'py, u32>,
    renamed_name: Read<'py, u32>,
    flow_event: Read<'py, u32>,
    flow_value: Read<'py, u64>,
    async_event: Read<'py, u32>,
}

impl TableIn<'_> {
    fn view(&self) -> PyResult<Table<'_>> {
        let table = Table {
            begin: self.begin_ps.as_slice()?,
            duration: self.duration_ps.as_slice()?,
            metadata: self.metadata.as_slice()?,
            names: self.names.as_slice()?,
            removed: optional(&self.removed)?,
            group: optional(&self.group_id)?,
            renamed: (self.renamed_event.as_slice()?, self.renamed_name.as_slice()?),
            flow: (self.flow_event.as_slice()?, self.flow_value.as_slice()?),
            asynchronous: self.async_event.as_slice()?,
        };
        let n = table.begin.len();
        let fits = |len: usize| len == 0 || len == n;
        if table.duration.len() != n
            || table.metadata.len() != n
            || !fits(table.removed.len())
            || !fits(table.group.len())
        {
            return Err(Error::argument("columns of a table differ in length").into());
        }
        Ok(table)
    }
}

pub(super) fn optional<'a, T: numpy::Element>(array: &'a Option<Read<'_, T>>) -> PyResult<&'a [T]> {
    Ok(match array {
        Some(array) => array.as_slice()?,
        None => &[],
    })
}

/// The lengths of the ranges between ascending starts.
pub(super) fn sizes(py: Python<'_>, starts: &[u32]) -> Array<u32> {
    starts.windows(2).map(|w| w[1] - w[0]).collect::<Vec<u32>>().into_pyarray(py).unbind()
}

/// Builds a trace; `segments` are (table, first, last, track) columns sorted by track.
///
/// `tpus` are the processes of TPUs. `samples` are (begin, duration, process, name id) columns of the samples of counters.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one call per host")]
fn build_trace(
    py: Python<'_>,
    tables: Vec<TableIn<'_>>,
    segments: (Read<'_, u32>, Read<'_, i64>, Read<'_, i64>, Read<'_, u32>),
    tracks: (Read<'_, u32>, Read<'_, u32>),
    names: Vec<String>,
    tpus: Vec<u32>,
    samples: (Read<'_, i64>, Read<'_, i64>, Read<'_, u32>, Read<'_, u32>),
    threads: usize,
) -> PyResult<Trace> {
    let views = tables.iter().map(TableIn::view).collect::<PyResult<Vec<_>>>()?;
    if views.iter().map(|t| t.begin.len()).sum::<usize>() > u32::MAX as usize {
        return Err(Error::argument("more than 2^32 events").into());
    }
    let (table, first, last, track) =
        (segments.0.as_slice()?, segments.1.as_slice()?, segments.2.as_slice()?, segments.3.as_slice()?);
    let segments: Vec<Segment> = (0..table.len().min(first.len()).min(last.len()).min(track.len()))
        .map(|i| Segment {
            table: table[i] as usize,
            first: first[i].max(0) as usize,
            last: last[i].max(0) as usize,
            track: track[i] as usize,
        })
        .collect();
    let ids = tracks.0.as_slice()?.iter().zip(tracks.1.as_slice()?).map(|(&pid, &tid)| TrackId { pid, tid }).collect();
    let mut samples: Vec<Sample> = {
        let (begin, duration) = (samples.0.as_slice()?, samples.1.as_slice()?);
        let (pid, name) = (samples.2.as_slice()?, samples.3.as_slice()?);
        let columns = begin.iter().zip(duration).zip(pid.iter().zip(name));
        columns.map(|((&begin, &duration), (&pid, &name))| (begin, Reverse(duration), pid, name)).collect()
    };
    let trace = without_gil(py, || {
        let mut trace = build(&views, &segments, ids, names.iter().map(String::as_str), threads);
        samples.sort_unstable();
        trace.samples = samples;
        trace.tpus = tpus;
        trace.tpus.sort_unstable();
        Ok(trace)
    })?;
    Ok(Trace { timeline: trace.into() })
}

#[pymethods]
impl Trace {
    /// Events that are shown.
    fn __len__(&self) -> usize {
        self.timeline.trace.len()
    }

    fn __sizeof__(&self) -> usize {
        self.timeline.bytes()
    }

    /// First begin and last end in ps.
    #[getter]
    fn span(&self) -> (i64, i64) {
        self.timeline.trace.span
    }

    /// Number of events per track.
    fn track_sizes(&self, py: Python<'_>) -> Array<u32> {
        sizes(py, &self.timeline.trace.track_events)
    }

    /// Number of rows per track.
    fn track_rows(&self, py: Python<'_>) -> Array<u32> {
        sizes(py, &self.timeline.trace.track_rows)
    }

    /// Whether every event of the track is an asynchronous flow event.
    fn is_async(&self, track: usize) -> bool {
        self.timeline.trace.is_async(track)
    }

    /// (name id, begin, duration, source number, group or -1, row) of one event of a track; None when there is none.
    fn event(&self, track: usize, index: u32) -> Option<(u32, i64, i64, u32, i64, usize)> {
        let trace = &self.timeline.trace;
        let event = trace.track_events.get(track)?.checked_add(index)?;
        if event >= *trace.track_events.get(track + 1)? {
            return None;
        }
        let rows = &trace.rows[trace.track_rows[track] as usize..trace.track_rows[track + 1] as usize];
        let row = rows.iter().position(|r| event < r.last)?;
        let at = event as usize;
        Some((trace.name[at], trace.begin[at], trace.duration(at), trace.source[at], trace.group_of(at), row))
    }

    /// Enclosing events of an event, outermost first: (index within the track, row).
    fn ancestors(&self, track: usize, index: u32) -> Vec<(u32, usize)> {
        self.timeline.trace.ancestors(track, index)
    }

    /// (id, category, direction) of the flow of an event of a track.
    fn flow(&self, track: usize, index: u32) -> Option<(u64, &'static str, &'static str)> {
        let event = self.timeline.trace.track_events.get(track)?.checked_add(index)?;
        let flow = decode_flow(self.timeline.trace.flow.get(event as usize)?);
        Some((flow.id, flow::category(&flow), arguments::direction(&flow)))
    }

    /// Where the events of a process with these begins and durations are, those with the name id first: (track or -1,
    /// index within the track, row).
    fn find(
        &self,
        py: Python<'_>,
        pid: Read<'_, u32>,
        begin: Read<'_, i64>,
        duration: Read<'_, i64>,
        name: Read<'_, u32>,
    ) -> PyResult<(Array<i64>, Array<u32>, Array<u32>)> {
        let (pid, begin) = (pid.as_slice()?, begin.as_slice()?);
        let (duration, name) = (duration.as_slice()?, name.as_slice()?);
        if [begin.len(), duration.len(), name.len()].iter().any(|&len| len != pid.len()) {
            return Err(Error::argument("columns of different length").into());
        }
        let found = without_gil(py, || Ok(find(&self.timeline.trace, pid, begin, duration, name)))?;
        let column = |values: Vec<u32>| values.into_pyarray(py).unbind();
        Ok((found.track.into_pyarray(py).unbind(), column(found.index), column(found.row)))
    }

    /// All events of a flow by time: (track, index within the track); at most `limit`.
    fn flow_ends(&self, py: Python<'_>, id: u64, limit: usize, threads: usize) -> PyResult<Vec<(u32, u32)>> {
        without_gil(py, || Ok(self.timeline.flow_ends(id, limit, threads)))
    }

    /// Events that stand on a track of a trace viewer: neither asynchronous nor beyond the 256th of one begin.
    fn on_tracks(&self, py: Python<'_>, threads: usize) -> PyResult<usize> {
        without_gil(py, || Ok(self.timeline.order(threads).on_tracks))
    }

    /// Computes all levels of detail; queries do not wait for it.
    fn compute_levels(&self, py: Python<'_>, threads: usize) -> PyResult<()> {
        without_gil(py, || {
            self.timeline.compute_levels(threads);
            Ok(())
        })
    }

    /// Per name with events in some rows (first to last) of tracks within a window (ps): (name id, count, wall time, time
    /// without children, shortest, longest).
    fn sums(
        &self,
        py: Python<'_>,
        areas: (Read<'_, u32>, Read<'_, u32>, Read<'_, u32>),
        begin: i64,
        end: i64,
    ) -> PyResult<NameSums> {
        let (tracks, first, last) = (areas.0.as_slice()?, areas.1.as_slice()?, areas.2.as_slice()?);
        let areas: Vec<Area> = tracks
            .iter()
            .zip(first.iter().zip(last))
            .map(|(&track, (&first, &last))| Area { track, first, last })
            .collect();
        let found = without_gil(py, || Ok(sums::sums(&self.timeline.trace, &areas, begin, end)))?;
        let column = |values: Vec<i64>| values.into_pyarray(py).unbind();
        let name = found.name.into_pyarray(py).unbind();
        let (count, wall, own) = (column(found.count), column(found.wall), column(found.own));
        Ok((name, count, wall, own, column(found.least), column(found.most)))
    }

    /// Selects the events of a window (ps) that are shown at a resolution (ps; 0: everything); `middles`: see `Query`.
    fn select(
        &self,
        py: Python<'_>,
        begin: i64,
        end: i64,
        resolution: i64,
        middles: bool,
        threads: usize,
    ) -> PyResult<TraceSelection> {
        let query = Query { begin, end, resolution, middles, threads };
        Ok(TraceSelection { inner: without_gil(py, || Ok(select::select(&self.timeline, &query)))? })
    }

    /// Selects all events whose name is marked, one flag per name id.
    fn select_named(
        &self,
        py: Python<'_>,
        wanted: Read<'_, u8>,
        middles: bool,
        threads: usize,
    ) -> PyResult<TraceSelection> {
        let wanted = wanted.as_slice()?;
        let inner = without_gil(py, || Ok(select::named(&self.timeline, wanted, middles, threads)))?;
        Ok(TraceSelection { inner })
    }

    /// Selects the events that the older form has, the earliest `cap`.
    fn select_older(&self, py: Python<'_>, cap: usize, threads: usize) -> PyResult<TraceSelection> {
        Ok(TraceSelection { inner: without_gil(py, || Ok(legacy::select(&self.timeline, cap, threads)))? })
    }

    /// Selects one event by name, begin, duration and serial.
    fn select_one(
        &self,
        py: Python<'_>,
        name: u32,
        begin: i64,
        duration: i64,
        serial: u8,
        threads: usize,
    ) -> PyResult<TraceSelection> {
        Ok(TraceSelection {
            inner: without_gil(py, || Ok(select::exactly(&self.timeline, name, begin, duration, serial, threads)))?,
        })
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Trace>()?;
    module.add_class::<TraceSelection>()?;
    module.add_class::<TraceNames>()?;
    module.add_function(wrap_pyfunction!(build_trace, module)?)
}
