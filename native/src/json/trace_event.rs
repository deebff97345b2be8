//! Reading one event of a Chrome trace: the fields that every writer of such traces has, and its arguments.

use jiter::{Jiter, JiterResult, Peek};

/// A moment or length in ns, with what is left in ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    pub ns: i64,
    pub ps: i64,
}

impl Moment {
    pub fn in_ps(self) -> i64 {
        self.ns.saturating_mul(1000).saturating_add(self.ps)
    }
}

/// The value of an argument; lists and objects are their text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plain<'j> {
    Text(&'j str),
    Json(&'j str),
    Bool(bool),
    Int(i64),
    /// Larger than any `Int`.
    Uint(u64),
    Double(f64),
}

/// A time of an event as it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    #[default]
    Missing,
    /// Another value, infinite or not a number.
    NoNumber,
    At(Moment),
}

impl Time {
    /// The time, 0 for none.
    pub fn or_zero(self) -> Moment {
        match self {
            Time::At(moment) => moment,
            Time::Missing | Time::NoNumber => Moment::default(),
        }
    }
}

/// Where the texts of an event go; other fields are in `Head`.
pub trait Texts {
    fn name(&mut self, text: &str);

    fn category(&mut self, _text: &str) {}

    /// A number for a process or thread whose number is a text.
    fn place(&mut self, text: &str) -> i64;

    /// The name of an argument; whether its value is wanted.
    fn key(&mut self, key: &str) -> bool;

    /// The value of the argument named last.
    fn value(&mut self, value: Plain);
}

/// Phase, place and time of an event; a phase of 0 is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head {
    pub phase: u8,
    pub pid: Option<i64>,
    pub tid: Option<i64>,
    pub begin: Time,
    pub duration: Time,
}

/// Reads the next event.
pub fn read(json: &mut Jiter, texts: &mut impl Texts) -> JiterResult<Head> {
    let mut head = Head::default();
    let mut key = json.next_object()?.map(Field::of);
    while let Some(field) = key {
        let peek = json.peek()?;
        match (field, peek) {
            (Field::Name, Peek::String) => texts.name(json.known_str()?),
            (Field::Phase, Peek::String) => head.phase = json.known_str()?.bytes().next().unwrap_or(0),
            (Field::Category, Peek::String) => texts.category(json.known_str()?),
            (Field::Process, _) => head.pid = place(json, peek, texts)?,
            (Field::Thread, _) => head.tid = place(json, peek, texts)?,
            (Field::Time | Field::Duration, Peek::Null) => json.known_null()?,
            (Field::Time, _) => head.begin = time(bytes(json, peek)?),
            (Field::Duration, _) => head.duration = time(bytes(json, peek)?),
            (Field::Args, Peek::Object) => read_args(json, texts)?,
            _ => json.known_skip(peek)?,
        }
        key = json.next_key()?.map(Field::of);
    }
    Ok(head)
}

/// A process or thread: a number, quoted or not, or another value by its text; null is none.
fn place(json: &mut Jiter, peek: Peek, texts: &mut impl Texts) -> JiterResult<Option<i64>> {
    let text = match peek {
        Peek::Null => return json.known_null().map(|()| None),
        Peek::String => json.known_str()?,
        _ => {
            let bytes = bytes(json, peek)?;
            if let Some(value) = digits(bytes) {
                return Ok(Some(value));
            }
            text(bytes)
        }
    };
    Ok(Some(integer(text).unwrap_or_else(|| texts.place(text))))
}

fn read_args(json: &mut Jiter, texts: &mut impl Texts) -> JiterResult<()> {
    let mut wanted = json.known_object()?.map(|key| texts.key(key));
    while let Some(is_wanted) = wanted {
        let peek = json.peek()?;
        if is_wanted {
            read_value(json, peek, texts)?;
        } else {
            json.known_skip(peek)?;
        }
        wanted = json.next_key()?.map(|key| texts.key(key));
    }
    Ok(())
}

/// A value of the arguments; null is none.
fn read_value(json: &mut Jiter, peek: Peek, texts: &mut impl Texts) -> JiterResult<()> {
    match peek {
        Peek::String => texts.value(Plain::Text(json.known_str()?)),
        Peek::Null => json.known_null()?,
        Peek::True | Peek::False => texts.value(Plain::Bool(json.known_bool(peek)?)),
        Peek::Array | Peek::Object => texts.value(Plain::Json(raw(json, peek)?)),
        _ => {
            let bytes = bytes(json, peek)?;
            if let Some(number) = digits(bytes).map(Plain::Int).or_else(|| number(text(bytes))) {
                texts.value(number);
            }
        }
    }
    Ok(())
}

/// A number without quotes.
fn number(text: &str) -> Option<Plain<'_>> {
    if let Ok(value) = text.parse() {
        return Some(Plain::Int(value));
    }
    text.parse().map(Plain::Uint).ok().or_else(|| text.parse().ok().map(Plain::Double))
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
fn raw<'j>(json: &mut Jiter<'j>, peek: Peek) -> JiterResult<&'j str> {
    bytes(json, peek).map(text)
}

fn bytes<'j>(json: &mut Jiter<'j>, peek: Peek) -> JiterResult<&'j [u8]> {
    let from = json.current_index();
    json.known_skip(peek)?;
    Ok(json.slice_to_current(from))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// The number that digits alone are, as most numbers of a trace: quicker than by their text.
fn digits(bytes: &[u8]) -> Option<i64> {
    if bytes.is_empty() || bytes.len() > 18 {
        return None;
    }
    bytes.iter().try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))
}

/// An integer, quoted or not; unsigned 64-bit numbers keep their bits, of other numbers the whole part counts.
pub fn integer(text: &str) -> Option<i64> {
    let text = text.trim_matches('"');
    let large = || text.parse::<u64>().ok().map(|value| value as i64);
    let real = || text.parse::<f64>().ok().filter(|value| value.is_finite()).map(|value| value as i64);
    text.parse().ok().or_else(large).or_else(real)
}

/// Microseconds as ns and ps, quoted or not, exact for up to six digits behind the point.
pub fn time(bytes: &[u8]) -> Time {
    let bytes = bytes.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(bytes);
    let point = bytes.iter().position(|&byte| byte == b'.').unwrap_or(bytes.len());
    let rest = bytes.get(point + 1..).unwrap_or_default();
    let small = if rest.is_empty() { Some(0) } else { digits(rest).filter(|_| rest.len() <= 6) };
    if let (Some(whole), Some(small)) = (digits(&bytes[..point]), small) {
        let ps = small * 10i64.pow(6 - rest.len() as u32);
        return Time::At(Moment { ns: whole.saturating_mul(1000).saturating_add(ps / 1000), ps: ps % 1000 });
    }
    let Some(us) = text(bytes).parse::<f64>().ok().filter(|us| us.is_finite()) else { return Time::NoNumber };
    let ns = us * 1e3;
    let ns = if ns.is_finite() { ns } else { 0.0 };
    Time::At(Moment { ns: ns.floor() as i64, ps: ((ns - ns.floor()) * 1e3).round() as i64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Moment {
        time(text.as_bytes()).or_zero()
    }

    #[test]
    fn times_that_are_no_number_are_told_from_missing_ones() {
        for text in ["NaN", "null", "\"\"", "\"soon\"", "[1]", "1e400", "-Infinity", "true"] {
            assert_eq!(time(text.as_bytes()), Time::NoNumber, "{text}");
        }
        assert_eq!((time(b"0"), Time::default()), (Time::At(Moment::default()), Time::Missing));
    }

    #[test]
    fn times_are_exact() {
        assert_eq!(moment("1419247332596.028"), Moment { ns: 1_419_247_332_596_028, ps: 0 });
        assert_eq!(moment("1661938466265032"), Moment { ns: 1_661_938_466_265_032_000, ps: 0 });
        assert_eq!((moment("0.000001").in_ps(), moment("\"1e-06\"").in_ps()), (1, 1));
        assert_eq!((moment("-1.5").ns, moment("1e3").ns, moment("NaN").ns), (-1500, 1_000_000, 0));
    }

    #[test]
    fn numbers_of_any_form() {
        assert_eq!((integer("\"12\""), integer("1.9"), integer("\"Spans\"")), (Some(12), Some(1), None));
        assert_eq!(integer("18446744073709551615"), Some(-1));
        assert_eq!(number("18446744073709551615"), Some(Plain::Uint(u64::MAX)));
        assert_eq!((number("-3"), number("1.5")), (Some(Plain::Int(-3)), Some(Plain::Double(1.5))));
    }
}
