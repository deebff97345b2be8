//! The buffer assignment of an HLO program, handed over as columns.

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::buffers::{self, Assignment};

use super::without_gil;

#[pyfunction]
fn hlo_buffers<'py>(py: Python<'py>, data: PyReadonlyArray1<'py, u8>, proto: u64) -> PyResult<Bound<'py, PyDict>> {
    let data = data.as_slice()?;
    let Assignment { buffers, allocations, traces } = without_gil(py, || buffers::decode(data, proto))?;
    let out = PyDict::new(py);
    macro_rules! columns {
        ($($key:literal: $column:expr),* $(,)?) => { $(out.set_item($key, $column.into_pyarray(py))?;)* };
    }
    columns!(
        "id": buffers.id, "size": buffers.size, "color": buffers.color, "instruction": buffers.instruction,
        "instruction_name": buffers.instruction_name, "index_start": buffers.index_start, "index": buffers.index,
        "allocation_index": allocations.index, "allocation_size": allocations.size,
        "allocation_color": allocations.color, "allocation_flags": allocations.flags,
        "assigned_start": allocations.assigned_start, "assigned_buffer": allocations.assigned_buffer,
        "assigned_offset": allocations.assigned_offset, "assigned_size": allocations.assigned_size,
        "trace_allocation": traces.allocation, "event_start": traces.event_start, "event_kind": traces.kind,
        "event_buffer": traces.buffer, "event_canonical": traces.canonical,
        "event_instruction": traces.instruction_name,
    );
    Ok(out)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(hlo_buffers, module)?)
}
