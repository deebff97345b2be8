//! The buffer assignment of one HLO program as columns: logical buffers, allocations, and the heap simulator's events.
//!
//! Texts are text values of the profile's bytes. Numbers are unchecked: ids may refer to nothing.

use crate::error::{Error, Problem, Result};
use crate::hlo::instructions::message_at;
use crate::wire::tags::hlo::BufferAllocationProto::{self, Assigned};
use crate::wire::tags::hlo::HeapSimulatorTrace::{self, Event};
use crate::wire::tags::hlo::LogicalBufferProto::{self, Location};
use crate::wire::tags::hlo::{BufferAssignmentProto, HloProto};
use crate::wire::text;
use crate::wire::{NO_TEXT, Reader};

pub const THREAD_LOCAL: u8 = 1;
pub const PARAMETER: u8 = 2;
pub const LIVE_OUT: u8 = 4;
pub const CONSTANT: u8 = 8;
pub const TUPLE: u8 = 16;

/// Values that the program computes: buffer i is defined by an instruction, at the shape index
/// `index[index_start[i]..index_start[i + 1]]` of its result.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    pub id: Vec<i64>,
    pub size: Vec<i64>,
    pub color: Vec<i64>,
    pub instruction: Vec<i64>,
    pub instruction_name: Vec<u64>,
    pub index_start: Vec<u32>,
    pub index: Vec<i64>,
}

/// Blocks of memory; `assigned_start` bounds the buffers that live in each.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Allocations {
    pub index: Vec<i64>,
    pub size: Vec<i64>,
    pub color: Vec<i64>,
    pub flags: Vec<u8>,
    pub assigned_start: Vec<u32>,
    pub assigned_buffer: Vec<i64>,
    pub assigned_offset: Vec<i64>,
    pub assigned_size: Vec<i64>,
}

/// Heap simulator traces; the events of trace i are `event_start[i]..event_start[i + 1]`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Traces {
    pub allocation: Vec<i64>,
    pub event_start: Vec<u32>,
    pub kind: Vec<u8>,
    pub buffer: Vec<i64>,
    pub canonical: Vec<i64>,
    pub instruction_name: Vec<u64>,
}

/// The buffer assignment of a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Assignment {
    pub buffers: Buffers,
    pub allocations: Allocations,
    pub traces: Traces,
}

/// Decodes the buffer assignment of the HloProto that is the text value `proto`; an empty one where there is none.
pub fn decode(data: &[u8], proto: u64) -> Result<Assignment> {
    let mut out = Assignment {
        buffers: Buffers { index_start: vec![0], ..Buffers::default() },
        allocations: Allocations { assigned_start: vec![0], ..Allocations::default() },
        traces: Traces { event_start: vec![0], ..Traces::default() },
    };
    let mut message =
        message_at(data, text::nested(data, proto, &[HloProto::BUFFER_ASSIGNMENT])?, "BufferAssignmentProto")?;
    while let Some(next) = message.tag()? {
        match next {
            BufferAssignmentProto::LOGICAL_BUFFERS => {
                buffer(data, message.message("LogicalBufferProto")?, &mut out.buffers)?
            }
            BufferAssignmentProto::BUFFER_ALLOCATIONS => {
                allocation(message.message("BufferAllocationProto")?, &mut out.allocations)?
            }
            BufferAssignmentProto::HEAP_SIMULATOR_TRACES => {
                trace(message.message("HeapSimulatorTrace")?, &mut out.traces)?
            }
            _ => message.skip(next)?,
        }
    }
    Ok(out)
}

fn count(length: usize, message: &Reader) -> Result<u32> {
    u32::try_from(length).map_err(|_| Error::new(Problem::TooMany, "buffer assignment", message.offset()))
}

fn buffer(data: &[u8], mut message: Reader, out: &mut Buffers) -> Result<()> {
    let (mut id, mut size, mut color, mut place) = (0, 0, 0, NO_TEXT);
    while let Some(next) = message.tag()? {
        match next {
            LogicalBufferProto::ID => id = message.int64()?,
            LogicalBufferProto::SIZE => size = message.int64()?,
            LogicalBufferProto::DEFINED_AT => place = message.text()?,
            LogicalBufferProto::COLOR => color = message.int64()?,
            _ => message.skip(next)?,
        }
    }
    let (mut instruction, mut name) = (-1, NO_TEXT);
    let mut at = message_at(data, place, "LogicalBufferProto.Location")?;
    while let Some(next) = at.tag()? {
        match next {
            Location::INSTRUCTION_NAME => name = at.text()?,
            Location::SHAPE_INDEX | Location::SHAPE_INDEX_PACKED => at.int64s(next, &mut out.index)?,
            Location::INSTRUCTION_ID => instruction = at.int64()?,
            _ => at.skip(next)?,
        }
    }
    out.id.push(id);
    out.size.push(size);
    out.color.push(color);
    out.instruction.push(instruction);
    out.instruction_name.push(name);
    out.index_start.push(count(out.index.len(), &message)?);
    Ok(())
}

fn allocation(mut message: Reader, out: &mut Allocations) -> Result<()> {
    let (mut index, mut size, mut color, mut flags) = (0, 0, 0, 0);
    while let Some(next) = message.tag()? {
        match next {
            BufferAllocationProto::INDEX => index = message.int64()?,
            BufferAllocationProto::SIZE => size = message.int64()?,
            BufferAllocationProto::IS_THREAD_LOCAL => mark(&mut message, THREAD_LOCAL, &mut flags)?,
            BufferAllocationProto::IS_ENTRY_COMPUTATION_PARAMETER => mark(&mut message, PARAMETER, &mut flags)?,
            BufferAllocationProto::MAYBE_LIVE_OUT => mark(&mut message, LIVE_OUT, &mut flags)?,
            BufferAllocationProto::COLOR => color = message.int64()?,
            BufferAllocationProto::ASSIGNED => {
                let [buffer, offset, size] = assigned(message.message("BufferAllocationProto.Assigned")?)?;
                out.assigned_buffer.push(buffer);
                out.assigned_offset.push(offset);
                out.assigned_size.push(size);
            }
            BufferAllocationProto::IS_TUPLE => mark(&mut message, TUPLE, &mut flags)?,
            BufferAllocationProto::IS_CONSTANT => mark(&mut message, CONSTANT, &mut flags)?,
            _ => message.skip(next)?,
        }
    }
    out.index.push(index);
    out.size.push(size);
    out.color.push(color);
    out.flags.push(flags);
    out.assigned_start.push(count(out.assigned_buffer.len(), &message)?);
    Ok(())
}

fn mark(message: &mut Reader, flag: u8, flags: &mut u8) -> Result<()> {
    let set = message.varint()? != 0;
    *flags = if set { *flags | flag } else { *flags & !flag };
    Ok(())
}

/// Buffer id, offset and size.
fn assigned(mut message: Reader) -> Result<[i64; 3]> {
    let (mut buffer, mut offset, mut size) = (0, 0, 0);
    while let Some(next) = message.tag()? {
        match next {
            Assigned::LOGICAL_BUFFER_ID => buffer = message.int64()?,
            Assigned::OFFSET => offset = message.int64()?,
            Assigned::SIZE => size = message.int64()?,
            _ => message.skip(next)?,
        }
    }
    Ok([buffer, offset, size])
}

fn trace(mut message: Reader, out: &mut Traces) -> Result<()> {
    let mut allocation = 0;
    while let Some(next) = message.tag()? {
        match next {
            HeapSimulatorTrace::EVENTS => event(message.message("HeapSimulatorTrace.Event")?, out)?,
            HeapSimulatorTrace::BUFFER_ALLOCATION_INDEX => allocation = message.int64()?,
            _ => message.skip(next)?,
        }
    }
    out.allocation.push(allocation);
    out.event_start.push(count(out.kind.len(), &message)?);
    Ok(())
}

fn event(mut message: Reader, out: &mut Traces) -> Result<()> {
    let (mut kind, mut buffer, mut canonical, mut name) = (0, 0, 0, NO_TEXT);
    while let Some(next) = message.tag()? {
        match next {
            Event::KIND => kind = u8::try_from(message.varint()?).unwrap_or(u8::MAX),
            Event::BUFFER_ID => buffer = message.int64()?,
            Event::INSTRUCTION_NAME => name = message.text()?,
            Event::SHARE_WITH_CANONICAL_ID => canonical = message.int64()?,
            _ => message.skip(next)?,
        }
    }
    out.kind.push(kind);
    out.buffer.push(buffer);
    out.canonical.push(canonical);
    out.instruction_name.push(name);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(tag: u32, parts: &[Vec<u8>]) -> Vec<u8> {
        let body = parts.concat();
        assert!(tag < 0x80 && body.len() < 0x80);
        [vec![tag as u8, body.len() as u8], body].concat()
    }

    fn number(tag: u32, value: u8) -> Vec<u8> {
        assert!(tag < 0x80);
        vec![tag as u8, value]
    }

    /// A profile that consists of one length-prefixed HloProto at offset 0.
    fn profile(assignment: &[Vec<u8>]) -> Vec<u8> {
        let proto = bytes(HloProto::BUFFER_ASSIGNMENT, assignment);
        [vec![proto.len() as u8], proto].concat()
    }

    #[test]
    fn reads_buffers_allocations_and_traces() {
        let place = bytes(
            LogicalBufferProto::DEFINED_AT,
            &[number(Location::INSTRUCTION_ID, 9), bytes(Location::SHAPE_INDEX_PACKED, &[vec![1, 0]])],
        );
        let logical = [
            number(LogicalBufferProto::ID, 7),
            number(LogicalBufferProto::SIZE, 64),
            place,
            number(LogicalBufferProto::COLOR, 5),
        ];
        let assigned = bytes(
            BufferAllocationProto::ASSIGNED,
            &[number(Assigned::LOGICAL_BUFFER_ID, 7), number(Assigned::SIZE, 64)],
        );
        let block = [
            number(BufferAllocationProto::INDEX, 2),
            number(BufferAllocationProto::SIZE, 100),
            number(BufferAllocationProto::IS_ENTRY_COMPUTATION_PARAMETER, 1),
            number(BufferAllocationProto::IS_TUPLE, 1),
            assigned,
        ];
        let shared = [number(Event::KIND, 2), number(Event::BUFFER_ID, 8), number(Event::SHARE_WITH_CANONICAL_ID, 7)];
        let heap = [
            bytes(HeapSimulatorTrace::EVENTS, &[number(Event::BUFFER_ID, 7)]),
            bytes(HeapSimulatorTrace::EVENTS, &shared),
            number(HeapSimulatorTrace::BUFFER_ALLOCATION_INDEX, 2),
        ];
        let data = profile(&[
            bytes(BufferAssignmentProto::LOGICAL_BUFFERS, &logical),
            bytes(BufferAssignmentProto::BUFFER_ALLOCATIONS, &block),
            bytes(BufferAssignmentProto::HEAP_SIMULATOR_TRACES, &heap),
        ]);
        let Assignment { buffers, allocations, traces } = decode(&data, 0).unwrap();
        assert_eq!(
            (buffers.id, buffers.size, buffers.color, buffers.instruction),
            (vec![7], vec![64], vec![5], vec![9])
        );
        assert_eq!((buffers.index, buffers.index_start), (vec![1, 0], vec![0, 2]));
        assert_eq!(
            (allocations.index, allocations.size, allocations.flags),
            (vec![2], vec![100], vec![PARAMETER | TUPLE])
        );
        assert_eq!((allocations.assigned_buffer, allocations.assigned_size), (vec![7], vec![64]));
        assert_eq!((traces.kind, traces.buffer, traces.canonical), (vec![0, 2], vec![7, 8], vec![0, 7]));
        assert_eq!((traces.allocation, traces.event_start), (vec![2], vec![0, 2]));
    }

    #[test]
    fn none_is_empty_and_broken_says_where() {
        assert_eq!(decode(&[0], 0).unwrap().buffers.index_start, [0]);
        let mut data = profile(&[bytes(BufferAssignmentProto::LOGICAL_BUFFERS, &[number(LogicalBufferProto::ID, 7)])]);
        data[4] = 90;
        assert_eq!(decode(&data, 0).unwrap_err().offset, 4);
    }
}
