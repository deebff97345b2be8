//! The plain values of a pickle: lists, dicts, texts and numbers. Nothing is run, imported or looked up.
//!
//! Every other opcode is refused by name and byte. Values refer to containers by number, so that shared ones are kept
//! once, nothing recurses, and a list that contains itself is harmless. Memory: at most eight bytes per byte of the file.

use crate::error::{Error, Problem, Result};

/// Read of any pickle, however short.
const FREE_VALUES: usize = 1 << 20;
/// Bytes of an integer that is read as one.
const LONGEST: usize = 9;
const DEEPEST: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// None, bytes, and integers of more than 64 bits.
    None,
    Bool(bool),
    /// 64 bits: an address may take all of them.
    Int(i64),
    Float(f64),
    /// Number of a text.
    Text(u32),
    /// Number of a list or tuple.
    List(u32),
    /// Number of a dict.
    Dict(u32),
}

#[derive(Debug, Default)]
pub struct Pickle<'a> {
    pub root: Option<Value>,
    pub texts: Vec<&'a [u8]>,
    pub lists: Vec<Vec<Value>>,
    pub dicts: Vec<Vec<(Value, Value)>>,
}

/// Reads a pickle of protocol 2 or later.
pub fn read(data: &[u8]) -> Result<Pickle<'_>> {
    let mut reader = Reader {
        data,
        at: 0,
        op: 0,
        made: 0,
        most: data.len() / 2 + FREE_VALUES,
        pickle: Pickle::default(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
    };
    while !reader.step()? {}
    reader.pickle.root = Some(reader.pop()?);
    Ok(reader.pickle)
}

struct Reader<'a> {
    data: &'a [u8],
    at: usize,
    /// Where the current opcode is.
    op: usize,
    made: usize,
    most: usize,
    pickle: Pickle<'a>,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: Vec<Value>,
}

impl<'a> Reader<'a> {
    fn fail<T>(&self, problem: Problem, what: &'static str) -> Result<T> {
        Err(Error::new(problem, what, self.op as u64))
    }

    fn out_of_place<T>(&self) -> Result<T> {
        self.fail(Problem::Syntax, "pickle")
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.data.get(self.at..).and_then(|rest| rest.get(..count)) {
            Some(taken) => {
                self.at += count;
                Ok(taken)
            }
            None => self.fail(Problem::Truncated, "pickle"),
        }
    }

    /// An unsigned number of so many bytes, at most 8.
    fn number(&mut self, bytes: usize) -> Result<usize> {
        let taken = self.take(bytes)?;
        Ok(taken.iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte)))
    }

    fn push(&mut self, value: Value) -> Result<()> {
        self.made += 1;
        if self.made > self.most {
            return self.fail(Problem::TooMany, "pickle");
        }
        self.stack.push(value);
        Ok(())
    }

    /// The last value above the last mark.
    fn pop(&mut self) -> Result<Value> {
        if self.stack.len() <= self.marks.last().copied().unwrap_or(0) {
            return self.out_of_place();
        }
        self.stack.pop().map_or_else(|| self.out_of_place(), Ok)
    }

    fn top(&self) -> Result<Value> {
        self.stack.last().copied().map_or_else(|| self.out_of_place(), Ok)
    }

    /// Where the values above the last mark begin; the mark is removed.
    fn unmark(&mut self) -> Result<usize> {
        let mark = self.marks.pop().map_or_else(|| self.out_of_place(), Ok)?;
        Ok(mark.min(self.stack.len()))
    }

    fn text(&mut self, length: usize) -> Result<()> {
        let text = self.take(length)?;
        self.pickle.texts.push(text);
        self.push(Value::Text(self.pickle.texts.len() as u32 - 1))
    }

    fn bytes(&mut self, length: usize) -> Result<()> {
        self.take(length)?;
        self.push(Value::None)
    }

    fn list(&mut self, from: usize) -> Result<()> {
        let items = self.stack.split_off(from);
        self.pickle.lists.push(items);
        self.push(Value::List(self.pickle.lists.len() as u32 - 1))
    }

    /// A tuple of the last values.
    fn tuple(&mut self, count: usize) -> Result<()> {
        match self.stack.len().checked_sub(count) {
            Some(from) if from >= self.marks.last().copied().unwrap_or(0) => self.list(from),
            _ => self.out_of_place(),
        }
    }

    fn append(&mut self, from: usize) -> Result<()> {
        let items = self.stack.split_off(from);
        match self.top()? {
            Value::List(list) => self.pickle.lists[list as usize].extend_from_slice(&items),
            _ => return self.out_of_place(),
        }
        Ok(())
    }

    fn set(&mut self, from: usize) -> Result<()> {
        let items = self.stack.split_off(from);
        match self.top()? {
            Value::Dict(dict) if items.len() % 2 == 0 => {
                let into = &mut self.pickle.dicts[dict as usize];
                into.reserve_exact(items.len() / 2);
                into.extend(items.chunks_exact(2).map(|pair| (pair[0], pair[1])));
            }
            _ => return self.out_of_place(),
        }
        Ok(())
    }

    fn dict(&mut self) -> Result<()> {
        self.pickle.dicts.push(Vec::new());
        self.push(Value::Dict(self.pickle.dicts.len() as u32 - 1))
    }

    fn long(&mut self, length: usize) -> Result<()> {
        let bytes = self.take(length)?;
        if length > LONGEST || (length == LONGEST && bytes[LONGEST - 1] != 0) {
            return self.push(Value::None);
        }
        let fill = if bytes.last().is_some_and(|&last| last >= 0x80) { 0xff } else { 0 };
        let mut wide = [fill; 8];
        let kept = length.min(8);
        wide[..kept].copy_from_slice(&bytes[..kept]);
        self.push(Value::Int(i64::from_le_bytes(wide)))
    }

    fn put(&mut self, index: usize) -> Result<()> {
        let value = self.top()?;
        match index.cmp(&self.memo.len()) {
            std::cmp::Ordering::Less => self.memo[index] = value,
            std::cmp::Ordering::Equal if index < self.most => self.memo.push(value),
            _ => return self.fail(Problem::TooMany, "memo of pickle"),
        }
        Ok(())
    }

    fn get(&mut self, index: usize) -> Result<()> {
        match self.memo.get(index) {
            Some(&value) => self.push(value),
            None => self.out_of_place(),
        }
    }

    /// Reads the next opcode; whether it is the last.
    fn step(&mut self) -> Result<bool> {
        self.op = self.at;
        let opcode = self.number(1)? as u8;
        match opcode {
            b'.' => return Ok(true),
            0x80 => {
                self.take(1)?;
            }
            0x95 => {
                let length = self.number(8)?;
                if length > self.data.len() - self.at {
                    return self.fail(Problem::LengthPastEnd, "pickle");
                }
            }
            b'(' => {
                if self.marks.len() >= DEEPEST {
                    return self.fail(Problem::NestedTooDeep, "pickle");
                }
                self.marks.push(self.stack.len());
            }
            b'0' => {
                // As in Python, a mark is popped where no value is above it.
                if self.marks.last() == Some(&self.stack.len()) {
                    self.marks.pop();
                } else {
                    self.pop()?;
                }
            }
            b'1' => {
                let from = self.unmark()?;
                self.stack.truncate(from);
            }
            b'2' => {
                let top = self.top()?;
                self.push(top)?;
            }
            b'N' => self.push(Value::None)?,
            0x88 => self.push(Value::Bool(true))?,
            0x89 => self.push(Value::Bool(false))?,
            b'J' => {
                let value = self.number(4)? as u32 as i32;
                self.push(Value::Int(value.into()))?;
            }
            b'K' => {
                let value = self.number(1)?;
                self.push(Value::Int(value as i64))?;
            }
            b'M' => {
                let value = self.number(2)?;
                self.push(Value::Int(value as i64))?;
            }
            0x8a => {
                let length = self.number(1)?;
                self.long(length)?;
            }
            0x8b => {
                let length = self.number(4)?;
                self.long(length)?;
            }
            b'G' => {
                let bytes = self.take(8)?;
                let bits = bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
                self.push(Value::Float(f64::from_bits(bits)))?;
            }
            0x8c | b'U' => {
                let length = self.number(1)?;
                self.text(length)?;
            }
            b'X' | b'T' => {
                let length = self.number(4)?;
                self.text(length)?;
            }
            0x8d => {
                let length = self.number(8)?;
                self.text(length)?;
            }
            b'C' => {
                let length = self.number(1)?;
                self.bytes(length)?;
            }
            b'B' => {
                let length = self.number(4)?;
                self.bytes(length)?;
            }
            0x8e => {
                let length = self.number(8)?;
                self.bytes(length)?;
            }
            b']' | b')' => self.list(self.stack.len())?,
            b'l' | b't' => {
                let from = self.unmark()?;
                self.list(from)?;
            }
            0x85..=0x87 => self.tuple(usize::from(opcode - 0x84))?,
            b'a' => {
                let from = self.stack.len().saturating_sub(1);
                self.append(from)?;
            }
            b'e' => {
                let from = self.unmark()?;
                self.append(from)?;
            }
            b'}' => self.dict()?,
            b'd' => {
                let from = self.unmark()?;
                let items = self.stack.split_off(from);
                self.dict()?;
                self.stack.extend_from_slice(&items);
                self.set(from + 1)?;
            }
            b's' => {
                let from = self.stack.len().saturating_sub(2);
                self.set(from)?;
            }
            b'u' => {
                let from = self.unmark()?;
                self.set(from)?;
            }
            0x94 => self.put(self.memo.len())?,
            b'q' => {
                let index = self.number(1)?;
                self.put(index)?;
            }
            b'r' => {
                let index = self.number(4)?;
                self.put(index)?;
            }
            b'h' => {
                let index = self.number(1)?;
                self.get(index)?;
            }
            b'j' => {
                let index = self.number(4)?;
                self.get(index)?;
            }
            _ => return self.fail(Problem::NotPlain, refused(opcode)),
        }
        Ok(false)
    }
}

/// The name of an opcode that is not read.
fn refused(opcode: u8) -> &'static str {
    match opcode {
        b'R' => "opcode REDUCE",
        b'c' => "opcode GLOBAL",
        0x93 => "opcode STACK_GLOBAL",
        b'b' => "opcode BUILD",
        b'i' => "opcode INST",
        b'o' => "opcode OBJ",
        0x81 => "opcode NEWOBJ",
        0x92 => "opcode NEWOBJ_EX",
        0x82..=0x84 => "opcode EXT",
        b'P' => "opcode PERSID",
        b'Q' => "opcode BINPERSID",
        0x8f => "opcode EMPTY_SET",
        0x90 => "opcode ADDITEMS",
        0x91 => "opcode FROZENSET",
        0x96 => "opcode BYTEARRAY8",
        0x97 => "opcode NEXT_BUFFER",
        0x98 => "opcode READONLY_BUFFER",
        b'I' | b'L' | b'F' | b'S' | b'V' | b'p' | b'g' => "opcode of protocol 0",
        _ => "unknown opcode",
    }
}
