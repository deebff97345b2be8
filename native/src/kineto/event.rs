//! One event of the text: its fields, with texts as numbers of `Texts`.

use jiter::{Jiter, JiterResult, Peek};

use super::names::Texts;

/// What an event is, from its category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Flows, counters, spans of the profiler itself.
    Ignored,
}

impl Kind {
    fn of(category: &str) -> Kind {
        match category {
            "cpu_op" | "Operator" | "operator" => Kind::Op,
            "python_function" => Kind::Frame,
            "user_annotation" => Kind::Annotation,
            "kernel" | "Kernel" | "concurrent_kernel" => Kind::Kernel,
            "gpu_memcpy" | "Memcpy" => Kind::Memcpy,
            "gpu_memset" | "Memset" => Kind::Memset,
            "gpu_user_annotation" | "cuda_sync" => Kind::DeviceNote,
            "Trace" | "ac2g" | "fwdbwd" | "async_cpu_to_gpu" | "async_gpu" | "forward_backward" => Kind::Ignored,
            _ if category.ends_with("_runtime") || category.ends_with("_driver") || category == "Runtime" => Kind::Call,
            _ => Kind::Other,
        }
    }

    /// Whether it runs on a stream.
    pub fn on_stream(self) -> bool {
        matches!(self, Kind::Kernel | Kind::Memcpy | Kind::Memset)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Int(i64),
    Double(f64),
    /// Number of a text.
    Text(u32),
}

/// A moment in ns, with what is left in ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    pub ns: i64,
    pub ps: i64,
}

/// The fields of an event; `args` are by number of the key's text.
#[derive(Debug, Default)]
pub struct Fields {
    pub phase: u8,
    pub kind: Kind,
    pub category: u32,
    pub name: u32,
    pub pid: Option<i64>,
    pub tid: Option<i64>,
    pub begin: Moment,
    pub duration_ps: i64,
    pub args: Vec<(u32, Value)>,
}

/// Reads the next event into `fields`, whose memory is used again.
pub fn read(json: &mut Jiter, texts: &mut Texts, fields: &mut Fields) -> JiterResult<()> {
    let mut args = std::mem::take(&mut fields.args);
    args.clear();
    *fields = Fields { args, ..Fields::default() };
    let mut category_kind = Kind::default();
    let mut key = json.next_object()?.map(Field::of);
    while let Some(field) = key {
        let peek = json.peek()?;
        match (field, peek) {
            (Field::Name, Peek::String) => fields.name = texts.number(json.known_str()?),
            (Field::Phase, Peek::String) => fields.phase = json.known_str()?.bytes().next().unwrap_or(0),
            (Field::Category, Peek::String) => {
                let category = json.known_str()?;
                category_kind = Kind::of(category);
                fields.category = texts.number(category);
            }
            (Field::Process, _) => fields.pid = integer(raw(json)?),
            (Field::Thread, _) => fields.tid = integer(raw(json)?),
            (Field::Time, _) => fields.begin = moment(raw(json)?),
            (Field::Duration, _) => {
                let length = moment(raw(json)?);
                fields.duration_ps = length.ns.saturating_mul(1000).saturating_add(length.ps).max(0);
            }
            (Field::Args, Peek::Object) => read_args(json, texts, &mut fields.args)?,
            _ => json.known_skip(peek)?,
        }
        key = json.next_key()?.map(Field::of);
    }
    // Ranges that PyTorch itself marks around the launch of a collective say what it sends, as ops do.
    let is_collective = category_kind == Kind::Annotation && texts.get(fields.name).starts_with("nccl:");
    fields.kind = if is_collective { Kind::Op } else { category_kind };
    Ok(())
}

fn read_args(json: &mut Jiter, texts: &mut Texts, args: &mut Vec<(u32, Value)>) -> JiterResult<()> {
    let mut key = json.known_object()?.map(|key| texts.key(key));
    while let Some(known) = key {
        let peek = json.peek()?;
        match known {
            None => json.known_skip(peek)?,
            Some(number) => {
                if let Some(value) = value(json, peek, texts)? {
                    args.push((number, value));
                }
            }
        }
        key = json.next_key()?.map(|key| texts.key(key));
    }
    Ok(())
}

/// A value of the arguments; empty texts and null are none, lists and objects become their text.
fn value(json: &mut Jiter, peek: Peek, texts: &mut Texts) -> JiterResult<Option<Value>> {
    Ok(match peek {
        Peek::String => match json.known_str()? {
            "" => None,
            text => Some(Value::Text(texts.number(text))),
        },
        Peek::Null => json.known_null().map(|()| None)?,
        Peek::True | Peek::False => Some(Value::Int(i64::from(json.known_bool(peek)?))),
        Peek::Array | Peek::Object => Some(Value::Text(texts.number(raw(json)?))),
        _ => {
            let text = raw(json)?;
            let number = integer(text).map(Value::Int);
            number.or_else(|| text.parse().ok().filter(|value: &f64| value.is_finite()).map(Value::Double))
        }
    })
}

enum Field {
    Name,
    Phase,
    Category,
    Process,
    Thread,
    Time,
    Duration,
    Args,
    Other,
}

impl Field {
    fn of(key: &str) -> Self {
        match key {
            "name" => Field::Name,
            "ph" => Field::Phase,
            "cat" => Field::Category,
            "pid" => Field::Process,
            "tid" => Field::Thread,
            "ts" => Field::Time,
            "dur" => Field::Duration,
            "args" => Field::Args,
            _ => Field::Other,
        }
    }
}

/// The text of the next value.
fn raw<'j>(json: &mut Jiter<'j>) -> JiterResult<&'j str> {
    json.peek()?;
    let from = json.current_index();
    json.next_skip()?;
    Ok(std::str::from_utf8(json.slice_to_current(from)).unwrap_or_default())
}

/// An integer, quoted or not; unsigned 64-bit numbers keep their bits.
pub fn integer(text: &str) -> Option<i64> {
    let text = text.trim_matches('"');
    text.parse().ok().or_else(|| text.parse::<u64>().ok().map(|value| value as i64))
}

/// Microseconds as ns and ps, exact for up to six digits behind the point.
pub fn moment(text: &str) -> Moment {
    let text = text.trim_matches('"');
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let plain = rest.len() <= 6 && rest.bytes().all(|byte| byte.is_ascii_digit());
    if let (Ok(whole), true) = (whole.parse::<i64>(), plain && !whole.starts_with('-')) {
        let rest = rest.parse::<i64>().unwrap_or(0) * 10i64.pow(6 - rest.len() as u32);
        return Moment { ns: whole.saturating_mul(1000).saturating_add(rest / 1000), ps: rest % 1000 };
    }
    let ns = text.parse::<f64>().unwrap_or(0.0) * 1e3;
    let ns = if ns.is_finite() { ns } else { 0.0 };
    Moment { ns: ns.floor() as i64, ps: ((ns - ns.floor()) * 1e3) as i64 }
}
