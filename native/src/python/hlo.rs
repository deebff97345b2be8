//! The instructions of an HLO program and its buffer assignment, handed over as columns, and the replay of its heap.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Error;
use crate::hlo::buffers::{self, Assignment};
use crate::hlo::heap;
use crate::hlo::instructions;

use super::calls::without_gil;

/// The columns of one HLO program by name; see the stub.
#[pyfunction]
fn hlo_program<'py>(py: Python<'py>, data: PyReadonlyArray1<'py, u8>, proto: u64) -> PyResult<Bound<'py, PyDict>> {
    let data = data.as_slice()?;
    let instructions::Program { name, entry_id, instructions, computations, frames } =
        without_gil(py, || instructions::decode(data, proto))?;
    let out = PyDict::new(py);
    out.set_item("module_name", name)?;
    out.set_item("entry_id", entry_id)?;
    macro_rules! columns {
        ($($key:literal: $column:expr),* $(,)?) => { $(out.set_item($key, $column.into_pyarray(py))?;)* };
    }
    columns!(
        "name": instructions.name, "opcode": instructions.opcode, "op_type": instructions.op_type,
        "op_name": instructions.op_name, "source_file": instructions.source_file,
        "source_line": instructions.source_line, "stack_frame": instructions.stack_frame, "id": instructions.id,
        "message": instructions.message, "shape": instructions.shape, "operand_start": instructions.operand_start, "operand": instructions.operand,
        "called_start": instructions.called_start, "called": instructions.called,
        "computation_name": computations.name, "computation_id": computations.id, "computation_root": computations.root,
        "computation_is_fusion": computations.is_fusion, "computation_start": computations.start,
        "frame_file": frames.file, "frame_function": frames.function, "frame_line": frames.line,
        "frame_column": frames.column, "frame_parent": frames.parent,
    );
    Ok(out)
}

/// The buffer assignment by name; see the stub.
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

type Column<'py, T> = Bound<'py, PyArray1<T>>;

#[pyfunction]
#[expect(clippy::type_complexity, reason = "columns of three tables")]
fn heap_replay<'py>(
    py: Python<'py>,
    buffers: usize,
    kind: PyReadonlyArray1<'py, u8>,
    buffer: PyReadonlyArray1<'py, i64>,
    canonical: PyReadonlyArray1<'py, i64>,
) -> PyResult<(Column<'py, u32>, Column<'py, i8>, [Column<'py, u32>; 3], [Column<'py, u32>; 3])> {
    let (kind, buffer, canonical) = (kind.as_slice()?, buffer.as_slice()?, canonical.as_slice()?);
    let heap::Replay { storage, change, held, spans } = without_gil(py, || {
        if buffer.len() != kind.len() || canonical.len() != kind.len() {
            return Err(Error::argument("columns of different length"));
        }
        if buffers.max(kind.len()) >= u32::MAX as usize {
            return Err(Error::argument("too many buffers"));
        }
        Ok(heap::replay(buffers, kind, buffer, canonical))
    })?;
    macro_rules! column {
        ($list:ident, $field:ident) => {
            $list.iter().map(|one| one.$field).collect::<Vec<u32>>().into_pyarray(py)
        };
    }
    let held = [column!(held, shown), column!(held, begin), column!(held, end)];
    let spans = [column!(spans, buffer), column!(spans, first), column!(spans, last)];
    Ok((storage.into_pyarray(py), change.into_pyarray(py), held, spans))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(hlo_program, module)?)?;
    module.add_function(wrap_pyfunction!(hlo_buffers, module)?)?;
    module.add_function(wrap_pyfunction!(heap_replay, module)?)
}
