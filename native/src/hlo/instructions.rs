//! The instructions of one HLO program as columns: names, framework names, source locations.
//!
//! Only what is needed of every instruction; the other fields are read by message, in the package's `analysis/hlo/instructions.py`.
//! `analysis/hlo/programs.py` names the columns.
//!
//! Texts and whole messages are text values of the profile's bytes (offset of the length prefix).

use crate::error::{Error, Problem, Result};
use crate::wire::tags::hlo::StackFrameIndexProto::{self, FileLocation, StackFrame};
use crate::wire::tags::hlo::{HloComputationProto, HloInstructionProto, HloModuleProto, HloProto};
use crate::wire::tags::xla_data::OpMetadata;
use crate::wire::text;
use crate::wire::{NO_TEXT, Reader};

/// Instructions of all computations, one after the other, in the order of the program.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    pub name: Vec<u64>,
    pub opcode: Vec<u64>,
    pub op_type: Vec<u64>,
    pub op_name: Vec<u64>,
    pub source_file: Vec<u64>,
    pub source_line: Vec<i32>,
    pub stack_frame: Vec<i32>,
    pub id: Vec<i64>,
    /// The whole instruction message, and the shape in it.
    pub message: Vec<u64>,
    pub shape: Vec<u64>,
    pub operand_start: Vec<u32>,
    pub operand: Vec<i64>,
    pub called_start: Vec<u32>,
    pub called: Vec<i64>,
}

/// Computations; the instructions of computation i are `start[i]..start[i + 1]`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Computations {
    pub name: Vec<u64>,
    pub id: Vec<i64>,
    pub root: Vec<i64>,
    pub is_fusion: Vec<u8>,
    pub start: Vec<u32>,
}

/// The table that stack frame numbers (from 1) point into: source file, line and column, and the frame around it (0 none).
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Frames {
    pub file: Vec<u64>,
    pub function: Vec<u64>,
    pub line: Vec<i32>,
    pub column: Vec<i32>,
    pub parent: Vec<i32>,
}

/// One program.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    pub name: u64,
    pub entry_id: i64,
    pub instructions: Instructions,
    pub computations: Computations,
    pub frames: Frames,
}

/// Decodes the HloProto that is the text value `proto` of the profile.
pub fn decode(data: &[u8], proto: u64) -> Result<Program> {
    let mut program = Program {
        name: NO_TEXT,
        entry_id: 0,
        instructions: Instructions { operand_start: vec![0], called_start: vec![0], ..Instructions::default() },
        computations: Computations { start: vec![0], ..Computations::default() },
        frames: Frames::default(),
    };
    let module = text::nested(data, proto, &[HloProto::HLO_MODULE])?;
    let mut frames = NO_TEXT;
    let mut message = message_at(data, module, "HloModuleProto")?;
    while let Some(next) = message.tag()? {
        match next {
            HloModuleProto::NAME => program.name = message.text()?,
            HloModuleProto::COMPUTATIONS => computation(data, message.text()?, &mut program)?,
            HloModuleProto::ENTRY_COMPUTATION_ID => program.entry_id = message.int64()?,
            HloModuleProto::STACK_FRAME_INDEX => frames = message.text()?,
            _ => message.skip(next)?,
        }
    }
    program.frames = stack_frames(data, frames)?;
    Ok(program)
}

/// A reader of the message at a text value, empty if it is missing.
pub(crate) fn message_at<'a>(data: &'a [u8], value: u64, what: &'static str) -> Result<Reader<'a>> {
    let body = text::slice(data, value)?;
    let start = if value == NO_TEXT { 0 } else { body.as_ptr() as usize - data.as_ptr() as usize };
    Ok(Reader::new(body, start as u64, what))
}

fn computation(data: &[u8], value: u64, program: &mut Program) -> Result<()> {
    let mut message = message_at(data, value, "HloComputationProto")?;
    let (mut name, mut id, mut root, mut is_fusion) = (NO_TEXT, 0, 0, 0);
    while let Some(next) = message.tag()? {
        match next {
            HloComputationProto::NAME => name = message.text()?,
            HloComputationProto::INSTRUCTIONS => instruction(data, message.text()?, &mut program.instructions)?,
            HloComputationProto::ID => id = message.int64()?,
            HloComputationProto::ROOT_ID => root = message.int64()?,
            HloComputationProto::IS_FUSION_COMPUTATION => is_fusion = u8::from(message.varint()? != 0),
            _ => message.skip(next)?,
        }
    }
    let out = &mut program.computations;
    out.name.push(name);
    out.id.push(id);
    out.root.push(root);
    out.is_fusion.push(is_fusion);
    out.start.push(count(program.instructions.id.len(), message.offset())?);
    Ok(())
}

fn count(length: usize, offset: u64) -> Result<u32> {
    u32::try_from(length).map_err(|_| Error::new(Problem::TooMany, "HLO instructions", offset))
}

fn instruction(data: &[u8], value: u64, out: &mut Instructions) -> Result<()> {
    let mut message = message_at(data, value, "HloInstructionProto")?;
    let (mut name, mut opcode, mut shape, mut id, mut metadata) = (NO_TEXT, NO_TEXT, NO_TEXT, 0, NO_TEXT);
    while let Some(next) = message.tag()? {
        match next {
            HloInstructionProto::NAME => name = message.text()?,
            HloInstructionProto::OPCODE => opcode = message.text()?,
            HloInstructionProto::SHAPE => shape = message.text()?,
            HloInstructionProto::METADATA => metadata = message.text()?,
            HloInstructionProto::ID => id = message.int64()?,
            HloInstructionProto::OPERAND_IDS | HloInstructionProto::OPERAND_IDS_PACKED => {
                message.int64s(next, &mut out.operand)?
            }
            HloInstructionProto::CALLED_COMPUTATION_IDS | HloInstructionProto::CALLED_COMPUTATION_IDS_PACKED => {
                message.int64s(next, &mut out.called)?
            }
            _ => message.skip(next)?,
        }
    }
    out.name.push(name);
    out.opcode.push(opcode);
    out.id.push(id);
    out.message.push(value);
    out.shape.push(shape);
    out.operand_start.push(count(out.operand.len(), message.offset())?);
    out.called_start.push(count(out.called.len(), message.offset())?);
    op_metadata(data, metadata, out)
}

fn op_metadata(data: &[u8], value: u64, out: &mut Instructions) -> Result<()> {
    let mut message = message_at(data, value, "OpMetadata")?;
    let (mut op_type, mut op_name, mut file, mut line, mut frame) = (NO_TEXT, NO_TEXT, NO_TEXT, 0, 0);
    while let Some(next) = message.tag()? {
        match next {
            OpMetadata::OP_TYPE => op_type = message.text()?,
            OpMetadata::OP_NAME => op_name = message.text()?,
            OpMetadata::SOURCE_FILE => file = message.text()?,
            OpMetadata::SOURCE_LINE => line = message.int64()? as i32,
            OpMetadata::STACK_FRAME_ID => frame = message.int64()? as i32,
            _ => message.skip(next)?,
        }
    }
    out.op_type.push(op_type);
    out.op_name.push(op_name);
    out.source_file.push(file);
    out.source_line.push(line);
    out.stack_frame.push(frame);
    Ok(())
}

/// Files, functions, places and frames refer to each other by numbers from 1; missing entries read as empty.
fn stack_frames(data: &[u8], value: u64) -> Result<Frames> {
    let mut message = message_at(data, value, "StackFrameIndexProto")?;
    let (mut files, mut functions, mut places, mut out) = (Vec::new(), Vec::new(), Vec::new(), Frames::default());
    let mut place_of = Vec::new();
    while let Some(next) = message.tag()? {
        match next {
            StackFrameIndexProto::FILE_NAMES => files.push(message.text()?),
            StackFrameIndexProto::FUNCTION_NAMES => functions.push(message.text()?),
            StackFrameIndexProto::FILE_LOCATIONS => {
                let tags = [
                    FileLocation::FILE_NAME_ID,
                    FileLocation::FUNCTION_NAME_ID,
                    FileLocation::LINE,
                    FileLocation::COLUMN,
                ];
                places.push(small_integers(message.message("FileLocation")?, tags)?);
            }
            StackFrameIndexProto::STACK_FRAMES => {
                let tags = [StackFrame::FILE_LOCATION_ID, StackFrame::PARENT_FRAME_ID];
                let [place, parent] = small_integers(message.message("StackFrame")?, tags)?;
                place_of.push(place);
                out.parent.push(parent);
            }
            _ => message.skip(next)?,
        }
    }
    let text_of = |list: &[u64], number: i32| entry(list, number).unwrap_or(NO_TEXT);
    for place in place_of {
        let [file, function, line, column] = entry(&places, place).unwrap_or_default();
        out.file.push(text_of(&files, file));
        out.function.push(text_of(&functions, function));
        out.line.push(line);
        out.column.push(column);
    }
    Ok(out)
}

fn entry<T: Copy>(list: &[T], number: i32) -> Option<T> {
    list.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
}

/// The integer fields of a message with these tags; missing fields are 0.
fn small_integers<const N: usize>(mut message: Reader, tags: [u32; N]) -> Result<[i32; N]> {
    let mut out = [0; N];
    while let Some(next) = message.tag()? {
        match tags.iter().position(|&tag| tag == next) {
            Some(place) => out[place] = message.int64()? as i32,
            None => message.skip(next)?,
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varint(mut value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
        out
    }

    fn bytes(tag: u32, body: &[u8]) -> Vec<u8> {
        [varint(tag.into()), varint(body.len() as u64), body.to_vec()].concat()
    }

    fn number(tag: u32, value: u8) -> Vec<u8> {
        [varint(tag.into()), vec![value]].concat()
    }

    /// A profile that consists of one length-prefixed HloProto at offset 0.
    fn profile(module: &[Vec<u8>]) -> Vec<u8> {
        let proto = bytes(HloProto::HLO_MODULE, &module.concat());
        [varint(proto.len() as u64), proto].concat()
    }

    #[test]
    fn reads_instructions_and_what_they_mean() {
        let metadata = [
            bytes(OpMetadata::OP_TYPE, b"MatMul"),
            bytes(OpMetadata::OP_NAME, b"a/b"),
            bytes(OpMetadata::SOURCE_FILE, b"/x/f.py"),
            number(OpMetadata::SOURCE_LINE, 7),
            number(OpMetadata::STACK_FRAME_ID, 1),
        ]
        .concat();
        let first = [
            bytes(HloInstructionProto::NAME, b"dot.1"),
            bytes(HloInstructionProto::OPCODE, b"dot"),
            bytes(HloInstructionProto::METADATA, &metadata),
            number(HloInstructionProto::ID, 5),
            bytes(HloInstructionProto::OPERAND_IDS_PACKED, &[1, 2]),
        ]
        .concat();
        let second = [
            bytes(HloInstructionProto::NAME, b"f.2"),
            number(HloInstructionProto::OPERAND_IDS, 5),
            number(HloInstructionProto::CALLED_COMPUTATION_IDS, 9),
        ]
        .concat();
        let frames = [
            bytes(StackFrameIndexProto::FILE_NAMES, b"g.py"),
            bytes(StackFrameIndexProto::FUNCTION_NAMES, b"main"),
            bytes(StackFrameIndexProto::FILE_LOCATIONS, &[8, 1, 16, 1, 24, 40]),
            bytes(StackFrameIndexProto::STACK_FRAMES, &[8, 1]),
        ]
        .concat();
        let body = [
            bytes(HloComputationProto::NAME, b"main"),
            bytes(HloComputationProto::INSTRUCTIONS, &first),
            bytes(HloComputationProto::INSTRUCTIONS, &second),
            number(HloComputationProto::ID, 3),
            number(HloComputationProto::IS_FUSION_COMPUTATION, 1),
        ]
        .concat();
        let data = profile(&[
            bytes(HloModuleProto::NAME, b"jit_f"),
            bytes(HloModuleProto::COMPUTATIONS, &body),
            number(HloModuleProto::ENTRY_COMPUTATION_ID, 3),
            bytes(HloModuleProto::STACK_FRAME_INDEX, &frames),
        ]);
        let program = decode(&data, 0).unwrap();
        let name = |value: u64| text::slice(&data, value).unwrap();
        let found = &program.instructions;
        assert_eq!((name(program.name), program.entry_id), (b"jit_f".as_slice(), 3));
        assert_eq!((name(found.name[0]), name(found.op_type[0])), (b"dot.1".as_slice(), b"MatMul".as_slice()));
        assert_eq!((name(found.op_name[0]), found.source_line[0]), (b"a/b".as_slice(), 7));
        assert_eq!((&found.operand, &found.operand_start), (&vec![1, 2, 5], &vec![0, 2, 3]));
        assert_eq!((&found.called, &found.called_start), (&vec![9], &vec![0, 0, 1]));
        assert_eq!((found.op_name[1], found.source_line[1]), (NO_TEXT, 0));
        assert_eq!((program.computations.start, program.computations.is_fusion), (vec![0, 2], vec![1]));
        assert_eq!((name(program.frames.file[0]), program.frames.line[0]), (b"g.py".as_slice(), 40));
        assert_eq!(name(found.message[1]), second);
    }

    #[test]
    fn broken_programs_say_where() {
        let instruction = bytes(HloInstructionProto::NAME, b"x");
        let computation = bytes(HloComputationProto::INSTRUCTIONS, &instruction);
        let mut data = profile(&[bytes(HloModuleProto::COMPUTATIONS, &computation)]);
        let at = data.len() - 2;
        data[at] = 90;
        assert_eq!(decode(&data, 0).unwrap_err().offset, at as u64);
        assert!(decode(&[0], 0).unwrap().instructions.id.is_empty());
    }
}
