//! Arguments that are read here: the numbers of their names, and their values as numbers.

use super::event::Value;
use super::names::Texts;
use super::places;

/// Numbers of the names of arguments that are read here.
#[derive(Debug)]
pub struct Keys {
    pub correlation: u32,
    pub device: u32,
    pub stream: u32,
    pub sequence: u32,
    pub forward_thread: u32,
    pub external: u32,
    pub name: u32,
    /// The kernel that a call launches, and its grid.
    pub kernel: u32,
    pub grid: u32,
    pub graph: u32,
    pub frame: u32,
    pub parent_frame: u32,
}

impl Keys {
    pub fn of(texts: &mut Texts) -> Keys {
        Keys {
            correlation: texts.number("correlation"),
            device: texts.number("device"),
            stream: texts.number("stream"),
            sequence: texts.number("Sequence number"),
            forward_thread: texts.number("Fwd thread id"),
            external: texts.number("External id"),
            name: texts.number("name"),
            kernel: texts.number("kernel"),
            grid: texts.number("grid"),
            graph: texts.number("graph id"),
            frame: texts.number("Python id"),
            parent_frame: texts.number("Python parent id"),
        }
    }

    /// Whether values of the key are numbers by which events refer to each other.
    pub fn are_numbers(&self, key: u32) -> bool {
        let ids = [self.correlation, self.sequence, self.external, self.frame, self.parent_frame];
        ids.contains(&key) || key == self.device || key == self.stream
    }
}

/// An argument that is an integer, perhaps in quotes.
pub fn integer_of(texts: &Texts, value: Option<Value>) -> Option<i64> {
    match value? {
        Value::Int(value) => Some(value),
        Value::Text(text) => texts.get(text).trim().parse().ok(),
        Value::Double(value) => (value.fract() == 0.0 && value.abs() < 9e15).then_some(value as i64),
    }
}

/// The number of a device or stream among the arguments, which may be within a text.
pub fn number_of(texts: &Texts, value: Option<Value>) -> Option<i64> {
    integer_of(texts, value).or_else(|| match value? {
        Value::Text(text) => places::last_number(texts.get(text)),
        _ => None,
    })
}
