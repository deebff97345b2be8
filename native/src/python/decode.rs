//! Decoding for Python: columns become NumPy arrays without a copy; texts and first stats by vectors.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::calls::{guarded, without_gil};
use crate::decode::columns::{Columns, EventColumns, LineColumns, Options, PlaneColumns, decode};
use crate::decode::filter::{self, EventFilter, PlaneFilter, StatFilter};
use crate::decode::metadata::{EventMetadata, StatMetadata};
use crate::decode::stats::{self, StatColumns};
use crate::decode::times::{self, Times};
use crate::decode::xspace;
use crate::records::{self, Limit};
use crate::wire::tags::hlo::{HloModuleProto, HloProto};
use crate::wire::text;

type Array<T> = Py<PyArray1<T>>;

fn array<T: numpy::Element>(py: Python<'_>, column: Vec<T>) -> Array<T> {
    column.into_pyarray(py).unbind()
}

/// A plane without its contents.
#[pyclass(frozen, get_all, module = "tpu_profile_plugin._native")]
pub struct PlaneSummary {
    id: i64,
    name: u64,
    lines: usize,
    bytes: usize,
}

#[pyclass(frozen, get_all, module = "tpu_profile_plugin._native")]
pub struct SpaceColumns {
    planes: Vec<Py<PlaneArrays>>,
    errors: Array<u64>,
    warnings: Array<u64>,
    hostnames: Array<u64>,
    origin_ns: i64,
}

#[pyclass(frozen, get_all, module = "tpu_profile_plugin._native")]
pub struct PlaneArrays {
    index: usize,
    id: i64,
    name: u64,
    lines: Py<LineArrays>,
    events: Py<EventArrays>,
    event_metadata: Py<EventMetadataArrays>,
    stat_metadata: Py<StatMetadataArrays>,
    stats: Py<StatArrays>,
    partial: bool,
}

#[pyclass(frozen, get_all, module = "tpu_profile_plugin._native")]
pub struct LineArrays {
    id: Array<i64>,
    display_id: Array<i64>,
    name: Array<u64>,
    display_name: Array<u64>,
    timestamp_ns: Array<i64>,
    duration_ps: Array<i64>,
    filled: Array<bool>,
    event_start: Array<i64>,
}

#[pyclass(frozen, get_all, module = "tpu_profile_plugin._native")]
pub struct EventArrays {
    metadata: Array<u32>,
    begin_ps: Array<i64>,
    duration_ps: Array<i64>,
    occurrences: Option<Array<i64>>,
    stats: Py<StatArrays>,
}

#[pyclass(frozen, get_all, module = "tpu_profile_plugin._native")]
pub struct EventMetadataArrays {
    id: Array<i64>,
    name: Array<u64>,
    display_name: Array<u64>,
    bytes: Array<u64>,
    child_start: Array<u32>,
    child_id: Array<i64>,
    stats: Py<StatArrays>,
}

#[pyclass(frozen, get_all, module = "tpu_profile_plugin._native")]
pub struct StatMetadataArrays {
    id: Array<i64>,
    name: Array<u64>,
    description: Array<u64>,
}

#[pyclass(frozen, get_all, module = "tpu_profile_plugin._native")]
pub struct StatArrays {
    start: Array<u32>,
    key: Array<u32>,
    kind: Array<u8>,
    value: Array<u64>,
}

fn stat_arrays(py: Python<'_>, stats: StatColumns) -> PyResult<Py<StatArrays>> {
    let StatColumns { start, key, kind, value } = stats;
    let arrays =
        StatArrays { start: array(py, start), key: array(py, key), kind: array(py, kind), value: array(py, value) };
    Py::new(py, arrays)
}

fn line_arrays(py: Python<'_>, lines: LineColumns) -> PyResult<Py<LineArrays>> {
    let arrays = LineArrays {
        id: array(py, lines.id),
        display_id: array(py, lines.display_id),
        name: array(py, lines.name),
        display_name: array(py, lines.display_name),
        timestamp_ns: array(py, lines.timestamp_ns),
        duration_ps: array(py, lines.duration_ps),
        filled: array(py, lines.filled),
        event_start: array(py, lines.event_start),
    };
    Py::new(py, arrays)
}

fn event_arrays(py: Python<'_>, events: EventColumns) -> PyResult<Py<EventArrays>> {
    let arrays = EventArrays {
        metadata: array(py, events.metadata),
        begin_ps: array(py, events.begin_ps),
        duration_ps: array(py, events.duration_ps),
        occurrences: events.occurrences.map(|column| array(py, column)),
        stats: stat_arrays(py, events.stats)?,
    };
    Py::new(py, arrays)
}

fn event_metadata_arrays(py: Python<'_>, table: EventMetadata) -> PyResult<Py<EventMetadataArrays>> {
    let arrays = EventMetadataArrays {
        id: array(py, table.id),
        name: array(py, table.name),
        display_name: array(py, table.display_name),
        bytes: array(py, table.bytes),
        child_start: array(py, table.child_start),
        child_id: array(py, table.child_id),
        stats: stat_arrays(py, table.stats)?,
    };
    Py::new(py, arrays)
}

fn stat_metadata_arrays(py: Python<'_>, table: StatMetadata) -> PyResult<Py<StatMetadataArrays>> {
    let StatMetadata { id, name, description } = table;
    Py::new(py, StatMetadataArrays { id: array(py, id), name: array(py, name), description: array(py, description) })
}

fn plane_arrays(py: Python<'_>, plane: PlaneColumns) -> PyResult<Py<PlaneArrays>> {
    let arrays = PlaneArrays {
        index: plane.index,
        id: plane.id,
        name: plane.name,
        lines: line_arrays(py, plane.lines)?,
        events: event_arrays(py, plane.events)?,
        event_metadata: event_metadata_arrays(py, plane.event_metadata)?,
        stat_metadata: stat_metadata_arrays(py, plane.stat_metadata)?,
        stats: stat_arrays(py, plane.stats)?,
        partial: plane.partial,
    };
    Py::new(py, arrays)
}

/// A plane by position; names of its lines; ids of the metadata and stats of its events; names of the lines that keep
/// their stats, and of those that make all lines keep theirs. None: all.
type FilterArguments = (usize, Option<Vec<String>>, Option<(Vec<i64>, Vec<i64>)>, Option<(Vec<String>, Vec<String>)>);

/// The possible times of a profile that has events with others.
#[pyclass(frozen, module = "tpu_profile_plugin._native")]
pub struct PossibleTimes(Times);

#[pymethods]
impl PossibleTimes {
    /// Per line with impossible times: the names of plane and line as text values, how many events are left out, and how
    /// many end earlier than recorded.
    #[getter]
    fn losses(&self) -> Vec<(u64, u64, u64, u64)> {
        self.0.losses.iter().map(|loss| (loss.plane, loss.line, loss.left_out, loss.shortened)).collect()
    }
}

/// The possible times, if some event of the profile has others.
#[pyfunction]
fn possible_times(py: Python<'_>, data: PyReadonlyArray1<'_, u8>, threads: usize) -> PyResult<Option<PossibleTimes>> {
    let bytes = data.as_slice()?;
    Ok(without_gil(py, || times::survey(bytes, threads))?.map(PossibleTimes))
}

/// Decodes a profile. `keep[i]` says whether plane i is decoded (None: all); without `events` planes have no lines; events
/// that have none of the possible `times` are left out.
#[pyfunction]
#[pyo3(signature = (data, threads, keep, events, filters, times=None))]
fn decode_space(
    py: Python<'_>,
    data: PyReadonlyArray1<'_, u8>,
    threads: usize,
    keep: Option<Vec<bool>>,
    events: bool,
    filters: Vec<FilterArguments>,
    times: Option<PyRef<'_, PossibleTimes>>,
) -> PyResult<SpaceColumns> {
    let bytes = data.as_slice()?;
    let names = |names: Vec<String>| names.into_iter().map(String::into_bytes).collect();
    let filters: Vec<PlaneFilter> = filters
        .into_iter()
        .map(|(plane, lines, events, stats)| PlaneFilter {
            plane,
            lines: lines.map(names),
            events: events.map(|(ids, stats)| EventFilter::new(&ids, &stats)),
            stats: stats.map(|(lines, unless)| StatFilter { lines: names(lines), unless: names(unless) }),
        })
        .collect();
    let times = times.as_ref().map(|times| &times.0);
    let options = Options { threads, keep: keep.as_deref(), events, filters: &filters, times };
    let Columns { planes, errors, warnings, hostnames, origin_ns } = without_gil(py, || decode(bytes, 0, options))?;
    let planes = planes.into_iter().map(|plane| plane_arrays(py, plane)).collect::<PyResult<Vec<_>>>()?;
    Ok(SpaceColumns {
        planes,
        errors: array(py, errors),
        warnings: array(py, warnings),
        hostnames: array(py, hostnames),
        origin_ns,
    })
}

/// The planes of a profile in file order; nothing inside lines and metadata is read.
#[pyfunction]
fn outline_space(py: Python<'_>, data: PyReadonlyArray1<'_, u8>) -> PyResult<Vec<PlaneSummary>> {
    let bytes = data.as_slice()?;
    let outline = without_gil(py, || xspace::outline(bytes, 0))?;
    let summary = |plane: xspace::PlaneOutline| PlaneSummary {
        id: plane.id,
        name: plane.name,
        lines: plane.lines.len(),
        bytes: plane.body.len(),
    };
    Ok(outline.planes.into_iter().map(summary).collect())
}

/// Where a second profile begins, and the text values of the hosts of both.
type Second = (u64, Vec<u64>, Vec<u64>);

/// Where the profile of another host begins behind that of the first.
#[pyfunction]
fn second_profile(py: Python<'_>, data: PyReadonlyArray1<'_, u8>) -> PyResult<Option<Second>> {
    let bytes = data.as_slice()?;
    let second = without_gil(py, || Ok(xspace::second_profile(bytes)))?;
    Ok(second.map(|(begin, [first, others])| (begin, first, others)))
}

/// Whether some line's timestamp is so large that events can be placed only when all lines are known.
#[pyfunction]
fn has_far_line(py: Python<'_>, data: PyReadonlyArray1<'_, u8>) -> PyResult<bool> {
    let bytes = data.as_slice()?;
    without_gil(py, || filter::has_far_line(bytes))
}

/// One str per text value; bytes that are not UTF-8 are replaced.
#[pyfunction]
fn texts<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    values: PyReadonlyArray1<'py, u64>,
) -> PyResult<Bound<'py, PyList>> {
    let bytes = data.as_slice()?;
    let list = PyList::empty(py);
    let mut copy = Vec::new();
    guarded(|| {
        for &value in values.as_array() {
            list.append(PyString::new(py, &text::read(bytes, value, &mut copy)?))?;
        }
        Ok(())
    })?;
    Ok(list)
}

/// The bytes of one text value.
#[pyfunction]
fn blob<'py>(py: Python<'py>, data: PyReadonlyArray1<'py, u8>, value: u64) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = data.as_slice()?;
    guarded(|| Ok(PyBytes::new(py, text::slice(bytes, value)?)))
}

/// The text value of the module's name in the HloProto at `proto`.
#[pyfunction]
fn hlo_module_name(data: PyReadonlyArray1<'_, u8>, proto: u64) -> PyResult<u64> {
    let bytes = data.as_slice()?;
    guarded(|| Ok(text::nested(bytes, proto, &[HloProto::HLO_MODULE, HloModuleProto::NAME])?))
}

/// Equal texts get equal codes (0, 1, ... in order of appearance); second, the first text value of each code.
#[pyfunction]
fn text_codes(
    py: Python<'_>,
    data: PyReadonlyArray1<'_, u8>,
    values: PyReadonlyArray1<'_, u64>,
) -> PyResult<(Array<i32>, Array<u64>)> {
    let (bytes, values) = (data.as_slice()?, values.as_slice()?);
    let (codes, firsts) = without_gil(py, || text::codes(bytes, values))?;
    Ok((array(py, codes), array(py, firsts)))
}

/// For every owner the index of its first stat with this key, or -1.
#[pyfunction]
fn first_stats(
    py: Python<'_>,
    start: PyReadonlyArray1<'_, u32>,
    key: PyReadonlyArray1<'_, u32>,
    row: u32,
) -> PyResult<Array<i64>> {
    let (start, key) = (start.as_slice()?, key.as_slice()?);
    Ok(array(py, without_gil(py, || stats::first(start, key, row))?))
}

/// The owners that have a stat with this key, and the index of the first such stat of each.
#[pyfunction]
fn stat_owners(
    py: Python<'_>,
    start: PyReadonlyArray1<'_, u32>,
    key: PyReadonlyArray1<'_, u32>,
    row: u32,
) -> PyResult<(Array<i64>, Array<i64>)> {
    let (start, key) = (start.as_slice()?, key.as_slice()?);
    let (owners, indices) = without_gil(py, || stats::owners(start, key, row))?;
    Ok((array(py, owners), array(py, indices)))
}

/// For every owner the bits of its first stat with this key if its kind is in the bit set `kinds`, else 0; and whether
/// it has the stat, of any kind.
#[pyfunction]
fn stat_values(
    py: Python<'_>,
    start: PyReadonlyArray1<'_, u32>,
    key: PyReadonlyArray1<'_, u32>,
    kind: PyReadonlyArray1<'_, u8>,
    value: PyReadonlyArray1<'_, u64>,
    row: u32,
    kinds: u32,
) -> PyResult<(Array<u64>, Array<bool>)> {
    let (start, key, kind, value) = (start.as_slice()?, key.as_slice()?, kind.as_slice()?, value.as_slice()?);
    let (values, present) = without_gil(py, || stats::values(start, key, kind, value, row, kinds))?;
    Ok((array(py, values), array(py, present)))
}

/// Whether the bytes are a Riegeli/records file.
#[pyfunction]
fn is_records(data: PyReadonlyArray1<'_, u8>) -> PyResult<bool> {
    let bytes = data.as_slice()?;
    guarded(|| Ok(records::is_records(bytes)))
}

/// Offset, bytes and the reason.
type SkippedRegion = (u64, u64, String);

/// Bytes of an XSpace with the contents of all records of a file, the number of records, and the parts left out. At most
/// `most` bytes are decompressed, and at most `base` and `ratio` times the bytes of the file.
#[pyfunction]
fn space_of_records(
    py: Python<'_>,
    data: PyReadonlyArray1<'_, u8>,
    most: u64,
    base: u64,
    ratio: u64,
) -> PyResult<(Array<u8>, usize, Vec<SkippedRegion>)> {
    let bytes = data.as_slice()?;
    let limit = Limit::of(most, base, bytes.len() as u64, ratio);
    let found = without_gil(py, || Ok(records::to_space(bytes, limit)))?;
    let skipped = found.skipped.into_iter().map(|part| (part.offset, part.bytes, part.reason.to_string())).collect();
    Ok((array(py, found.space), found.records, skipped))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("MOST_LINES", xspace::MOST_LINES)?;
    module.add_class::<PlaneSummary>()?;
    module.add_class::<SpaceColumns>()?;
    module.add_class::<PlaneArrays>()?;
    module.add_class::<PossibleTimes>()?;
    module.add_class::<LineArrays>()?;
    module.add_class::<EventArrays>()?;
    module.add_class::<EventMetadataArrays>()?;
    module.add_class::<StatMetadataArrays>()?;
    module.add_class::<StatArrays>()?;
    module.add_function(wrap_pyfunction!(decode_space, module)?)?;
    module.add_function(wrap_pyfunction!(outline_space, module)?)?;
    module.add_function(wrap_pyfunction!(possible_times, module)?)?;
    module.add_function(wrap_pyfunction!(second_profile, module)?)?;
    module.add_function(wrap_pyfunction!(has_far_line, module)?)?;
    module.add_function(wrap_pyfunction!(texts, module)?)?;
    module.add_function(wrap_pyfunction!(blob, module)?)?;
    module.add_function(wrap_pyfunction!(hlo_module_name, module)?)?;
    module.add_function(wrap_pyfunction!(text_codes, module)?)?;
    module.add_function(wrap_pyfunction!(first_stats, module)?)?;
    module.add_function(wrap_pyfunction!(stat_owners, module)?)?;
    module.add_function(wrap_pyfunction!(stat_values, module)?)?;
    module.add_function(wrap_pyfunction!(is_records, module)?)?;
    module.add_function(wrap_pyfunction!(space_of_records, module)?)
}
