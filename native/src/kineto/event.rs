//! One event of the text: its kind, its fields with texts as numbers of `Texts`, and the arguments that are read here.

use jiter::{Jiter, JiterResult};

use super::names::Texts;
use super::places::{Places, last_number};
use crate::json::trace_event::{self, Head, Plain};

/// What an event is, from its category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A Python function or module.
    Frame,
    /// A range that the program marks, or a step.
    Annotation,
    /// An op of PyTorch.
    Op,
    /// A call of the runtime or driver.
    Call,
    /// An allocation or release.
    Memory,
    Kernel,
    Memcpy,
    Memset,
    /// Ranges and synchronisation that Kineto repeats beside a stream.
    DeviceNote,
    /// Any other event of a host thread.
    #[default]
    Other,
    /// An event of a category that is not known: its place and arguments tell what it is.
    Unknown,
    /// Flows, counters, spans of the profiler itself.
    Ignored,
}

impl Kind {
    fn of(category: &str) -> Kind {
        match category {
            "cpu_op" | "operator" => Kind::Op,
            "python_function" | "python" => Kind::Frame,
            "user_annotation" => Kind::Annotation,
            "kernel" | "concurrent_kernel" => Kind::Kernel,
            "gpu_memcpy" | "memcpy" => Kind::Memcpy,
            "gpu_memset" | "memset" => Kind::Memset,
            "cuda_sync" | "cuda_event" => Kind::DeviceNote,
            "cpu_instant_event" | "overhead" => Kind::Other,
            "trace" | "ac2g" | "fwdbwd" | "async_cpu_to_gpu" | "async_gpu" | "forward_backward" => Kind::Ignored,
            _ if category.ends_with("_runtime") || category.ends_with("_driver") || category == "runtime" => Kind::Call,
            _ if NOTES.iter().any(|end| category.ends_with(end)) => Kind::DeviceNote,
            _ if category.bytes().any(|byte| byte.is_ascii_uppercase() || byte == b' ') => {
                // As the first versions called them: `Operator`, `User Annotation`.
                Kind::of(&category.to_ascii_lowercase().replace(' ', "_"))
            }
            _ => Kind::Unknown,
        }
    }

    /// Whether it runs on a stream.
    pub fn on_stream(self) -> bool {
        matches!(self, Kind::Kernel | Kind::Memcpy | Kind::Memset)
    }
}

/// Ends of the categories of ranges beside streams.
const NOTES: [&str; 4] = ["_user_annotation", "_sync", "_profiler_range", "_scope_profiler"];
/// Begin of the name of a step.
const STEP: &str = "ProfilerStep#";

/// The number of a step, from its name.
pub fn step_number(name: &str) -> Option<i64> {
    name.strip_prefix(STEP)?.parse().ok()
}

/// File, line and function of a frame's name: `train.py(12): step`.
pub fn source_of(frame: &str) -> Option<(&str, &str, &str)> {
    let (head, function) = frame.split_once("): ")?;
    let (file, line) = head.rsplit_once('(')?;
    (!line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())).then_some((file, line, function))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Int(i64),
    Double(f64),
    /// Number of a text.
    Text(u32),
}

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
        Value::Text(text) => last_number(texts.get(text)),
        _ => None,
    })
}

/// The fields of an event; `args` are by number of the key's text.
#[derive(Debug, Default)]
pub struct Fields {
    pub head: Head,
    pub kind: Kind,
    /// The text of the category; 0 for none.
    pub category: u32,
    pub name: u32,
    /// Whether it is named as a step.
    pub is_step: bool,
    pub args: Vec<(u32, Value)>,
}

/// Reads the next event into `fields`, whose memory is used again.
pub fn read(
    json: &mut Jiter,
    keys: &Keys,
    texts: &mut Texts,
    places: &mut Places,
    fields: &mut Fields,
) -> JiterResult<()> {
    let mut args = std::mem::take(&mut fields.args);
    args.clear();
    *fields = Fields { args, kind: Kind::Unknown, ..Fields::default() };
    let head = trace_event::read(json, &mut Reading { keys, texts, places, fields, key: 0 })?;
    fields.head = head;
    if fields.is_step && matches!(fields.kind, Kind::Op | Kind::Other | Kind::Unknown) {
        fields.kind = Kind::Annotation;
    }
    // Ranges that PyTorch itself marks around the launch of a collective say what it sends, as ops do.
    if fields.kind == Kind::Annotation && texts.get(fields.name).starts_with("nccl:") {
        fields.kind = Kind::Op;
    }
    Ok(())
}

/// Gives texts their numbers.
struct Reading<'t> {
    keys: &'t Keys,
    texts: &'t mut Texts,
    places: &'t mut Places,
    fields: &'t mut Fields,
    key: u32,
}

impl trace_event::Texts for Reading<'_> {
    fn name(&mut self, text: &str) {
        self.fields.name = self.texts.number(text);
        self.fields.is_step = text.starts_with(STEP);
    }

    fn category(&mut self, text: &str) {
        self.fields.kind = Kind::of(text);
        if self.fields.kind == Kind::Unknown {
            self.fields.category = self.texts.number(text);
        }
    }

    fn place(&mut self, text: &str) -> i64 {
        self.places.number(text)
    }

    fn key(&mut self, key: &str) -> bool {
        let known = self.texts.key(key);
        self.key = known.unwrap_or(0);
        known.is_some()
    }

    /// Empty texts are none, lists and objects are their text, on one line.
    fn value(&mut self, value: Plain) {
        let value = match value {
            Plain::Text("") => return,
            Plain::Json(text) if text.contains('\n') => Value::Text(self.texts.number(&on_one_line(text))),
            Plain::Text(text) | Plain::Json(text) => Value::Text(self.texts.number(text)),
            Plain::Bool(_) if self.keys.are_numbers(self.key) => return,
            Plain::Bool(value) => Value::Int(value.into()),
            Plain::Int(value) => Value::Int(value),
            Plain::Uint(value) => Value::Int(value as i64),
            Plain::Double(value) if value.is_finite() => Value::Double(value),
            Plain::Double(_) => return,
        };
        self.fields.args.push((self.key, value));
    }
}

/// JSON without the line breaks and indents of some writers, as the others write it.
fn on_one_line(json: &str) -> String {
    let mut line = String::with_capacity(json.len() / 2);
    let (mut quoted, mut escaped) = (false, false);
    for one in json.chars() {
        if quoted {
            quoted = escaped || one != '"';
            escaped = !escaped && one == '\\';
            line.push(one);
        } else if !one.is_whitespace() {
            quoted = one == '"';
            line.push(one);
            if matches!(one, ',' | ':') {
                line.push(' ');
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_on_one_line() {
        let indented = "[\n  [\n    30522,\n    512\n  ],\n  [],\n  \"long int\",\n  \"a\\\", b\"\n]";
        assert_eq!(on_one_line(indented), r#"[[30522, 512], [], "long int", "a\", b"]"#);
        assert_eq!(on_one_line("{\n \"a\": 1\n}"), r#"{"a": 1}"#);
    }
}
