//! Call stacks of a snapshot as texts: the line of the program itself, the op that asks for memory, all lines of Python.

use super::pickle::{Pickle, Value};
use crate::kineto::names::{Texts, begin_of};

/// Frames of a stack that are kept, and its longest text in bytes.
const MOST_FRAMES: usize = 64;
const MOST_STACK: usize = 4 << 10;
const MOST_NAME: usize = 512;
/// Bytes of the texts of all stacks, beyond those of the file; later stacks have no text.
const FREE_BYTES: usize = 64 << 20;

/// Parts of the paths of files that are not the program's own.
const LIBRARY: [&str; 6] = ["site-packages/", "dist-packages/", "/lib/python", "/torch/", "<frozen ", "<string>"];

/// Numbers of texts, 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// `file:line` of the innermost function outside of libraries.
    pub source: u32,
    /// Lines `file:line (function)`, innermost first.
    pub lines: u32,
    /// The op as other profiles of PyTorch name it: `forward/aten::addmm:PyTorch`.
    pub op: u32,
}

pub struct Stacks {
    pub texts: Texts,
    /// Bytes that texts may still take.
    left: usize,
    pub left_out: u64,
}

struct Frame<'p> {
    file: std::borrow::Cow<'p, str>,
    line: i64,
    name: std::borrow::Cow<'p, str>,
}

impl Frame<'_> {
    fn is_python(&self) -> bool {
        self.file.ends_with(".py") || self.file.starts_with('<')
    }

    fn is_own(&self) -> bool {
        let file = self.file.replace('\\', "/");
        !LIBRARY.iter().any(|part| file.contains(part))
    }
}

impl Stacks {
    pub fn new(length: usize) -> Stacks {
        Stacks { texts: Texts::default(), left: length.saturating_add(FREE_BYTES), left_out: 0 }
    }

    /// The stack of a list of frames, innermost first.
    pub fn read(&mut self, pickle: &Pickle, frames: &[Value]) -> Stack {
        let frame = |value: &Value| {
            let fields = pickle.fields(*value)?;
            let text = |key: &[u8]| {
                let bytes = fields.text(key)?.1;
                Some(String::from_utf8_lossy(&bytes[..bytes.len().min(MOST_NAME)]))
            };
            Some(Frame {
                file: text(b"filename")?,
                line: fields.integer(b"line").unwrap_or(0),
                name: text(b"name").unwrap_or_default(),
            })
        };
        let (mut op, mut python) = ("", Vec::new());
        let mut native = Vec::new();
        for frame in frames.iter().filter_map(frame) {
            if frame.is_python() {
                python.push(frame);
                if python.len() == MOST_FRAMES {
                    break;
                }
            } else if python.is_empty() && native.len() < MOST_FRAMES {
                native.push(frame);
            }
        }
        let mut backward = "";
        for frame in &native {
            op = dispatched(&frame.name).unwrap_or(op); // the outermost one counts
            backward = derivative(&frame.name).unwrap_or(backward);
        }
        let own = python.iter().find(|frame| frame.is_own());
        let function = own.map_or("", |frame| &frame.name);
        let path = match op {
            "" => String::new(),
            op => format!("aten::{op}"),
        };
        let path: Vec<&str> = [function, backward, &path].into_iter().filter(|part| !part.is_empty()).collect();
        let lines: Vec<String> =
            python.iter().map(|frame| format!("{}:{} ({})", frame.file, frame.line, frame.name)).collect();
        let lines = lines.join("\n");
        let op = if path.is_empty() { String::new() } else { format!("{}:PyTorch", path.join("/")) };
        let kept = self.text(begin_of(&lines, MOST_STACK));
        self.left_out += u64::from(kept == 0 && !lines.is_empty());
        Stack {
            source: own.map_or(0, |frame| self.text(&format!("{}:{}", frame.file, frame.line))),
            lines: kept,
            op: self.text(&op),
        }
    }

    /// The number of a text; 0 if there is no room for it.
    fn text(&mut self, text: &str) -> u32 {
        if let Some(known) = self.texts.known(text) {
            return known;
        }
        match self.left.checked_sub(text.len() + 64) {
            Some(left) => self.left = left,
            None => return 0,
        }
        self.texts.number(text)
    }
}

/// The op that `at::_ops::addmm::call(...)` dispatches.
fn dispatched(function: &str) -> Option<&str> {
    let (op, _) = function.split_once("at::_ops::")?.1.split_once("::")?;
    (!op.is_empty() && op.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')).then_some(op)
}

/// The function of the backward pass that `torch::autograd::generated::AddmmBackward0::apply(...)` is.
fn derivative(function: &str) -> Option<&str> {
    Some(function.split_once("torch::autograd::generated::")?.1.split_once("::apply")?.0)
}
