//! The arguments of events: stats of the event and of its metadata, and derived ones, read when they are needed.

use crate::json::text::{Sink, quote};
use crate::timeline::model::names::Names;
use crate::timeline::model::order::Flow;
use crate::timeline::model::trace::{HIDDEN, NO_GROUP};
use crate::wire::text;

/// Stats in compressed rows, as the columns hold them.
#[derive(Clone, Copy, Default)]
pub struct Stats<'a> {
    pub start: &'a [u32],
    pub key: &'a [u32],
    pub kind: &'a [u8],
    pub value: &'a [u64],
}

impl<'a> Stats<'a> {
    fn of(&self, owner: usize) -> impl Iterator<Item = (u32, u8, u64)> + 'a {
        let bound = |i: usize| self.start.get(i).map_or(0, |&s| s as usize);
        let last = bound(owner + 1).min(self.key.len()).min(self.kind.len()).min(self.value.len());
        let first = bound(owner).min(last);
        let stats = *self;
        (first..last).map(move |i| (stats.key[i], stats.kind[i], stats.value[i]))
    }
}

/// Values of one argument for some events of a table, ascending by event.
pub struct Extra<'a> {
    pub key: u32,
    pub events: &'a [u32],
    pub values: Values<'a>,
}

pub enum Values<'a> {
    Ints(&'a [i64]),
    /// Ids of texts.
    Texts(&'a [u32]),
}

/// Where the arguments of one table's events are.
#[derive(Default)]
pub struct Sheet<'a> {
    /// Metadata row per event.
    pub metadata: &'a [u32],
    /// Text id of the full name per metadata row, `HIDDEN` when it is the shown one.
    pub long_name: &'a [u32],
    pub metadata_stats: Stats<'a>,
    /// Row in `metadata_stats` per metadata row; empty: the same row; negative: none.
    pub metadata_row: &'a [i64],
    pub event_stats: Stats<'a>,
    /// Row in `event_stats` per event; empty: the same row; negative: none.
    pub event_row: &'a [i64],
    /// Key per stat-metadata row, `HIDDEN` for those not to be shown.
    pub keys: &'a [u32],
    /// Text id per stat-metadata row, for values that refer to one.
    pub refs: &'a [u32],
    pub extras: Vec<Extra<'a>>,
}

/// Arguments of a whole trace. Keys are ascending names, so a key's number orders it.
pub struct Args<'a> {
    /// The profile's bytes, in which texts live.
    pub data: &'a [u8],
    pub sheets: Vec<Sheet<'a>>,
    pub keys: &'a Names,
    pub texts: &'a Names,
    /// Key of the full name, of the group and of the flow.
    pub long_name: u32,
    pub group_id: u32,
    pub flow: u32,
    /// First source number per sheet.
    pub base: Vec<usize>,
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(&'a [u8]),
    /// Id of a text.
    Known(u32),
    Opaque,
}

/// Longer full names are cut.
pub const LONGEST_NAME: usize = 10_000;

/// Full names longer than this go into the table of stack frames.
pub const SHORTEST_FRAME: usize = 16;

impl<'a> Args<'a> {
    /// Arguments of the event with this source number, in the order of the file; each key once, the last value wins.
    pub fn collect(&self, source: usize, out: &mut Vec<(u32, Value<'a>)>) {
        out.clear();
        if let Some(place) = self.locate(source) {
            self.of_metadata(&place, out);
            self.of_event(&place, out);
        }
    }

    /// Where the arguments of the event with this source number are.
    pub fn locate(&self, source: usize) -> Option<Place> {
        let sheet = self.base.partition_point(|&b| b <= source).checked_sub(1)?;
        let event = source - self.base[sheet];
        let row = *self.sheets.get(sheet)?.metadata.get(event)?;
        Some(Place { sheet, event, row })
    }

    /// Adds the arguments that all events with the same metadata share.
    pub fn of_metadata(&self, place: &Place, out: &mut Vec<(u32, Value<'a>)>) {
        let (sheet, row) = (&self.sheets[place.sheet], place.row as usize);
        let long_name = sheet.long_name.get(row).copied().unwrap_or(HIDDEN);
        if long_name != HIDDEN {
            put(out, self.long_name, Value::Known(long_name));
        }
        if let Some(owner) = redirect(sheet.metadata_row, row) {
            self.stats(sheet, &sheet.metadata_stats, owner, out);
        }
    }

    /// Adds the event's own arguments.
    pub fn of_event(&self, place: &Place, out: &mut Vec<(u32, Value<'a>)>) {
        let sheet = &self.sheets[place.sheet];
        if let Some(owner) = redirect(sheet.event_row, place.event) {
            self.stats(sheet, &sheet.event_stats, owner, out);
        }
        for extra in &sheet.extras {
            if let Ok(at) = extra.events.binary_search(&(place.event as u32)) {
                let value = match extra.values {
                    Values::Ints(values) => values.get(at).map(|&v| Value::Int(v)),
                    Values::Texts(ids) => ids.get(at).map(|&id| Value::Known(id)),
                };
                if let Some(value) = value {
                    put(out, extra.key, value);
                }
            }
        }
    }

    fn stats(&self, sheet: &Sheet<'a>, stats: &Stats<'a>, owner: usize, out: &mut Vec<(u32, Value<'a>)>) {
        for (row, kind, value) in stats.of(owner) {
            let key = sheet.keys.get(row as usize).copied().unwrap_or(HIDDEN);
            if key == HIDDEN {
                continue;
            }
            let value = match kind {
                2 => Value::Double(f64::from_bits(value)),
                3 => Value::Uint(value),
                4 => Value::Int(value as i64),
                5 => Value::Text(text::slice(self.data, value).unwrap_or_default()),
                6 => Value::Opaque,
                7 => Value::Known(sheet.refs.get(value as usize).copied().unwrap_or(HIDDEN)),
                8 => Value::Text(b""),
                _ => continue,
            };
            put(out, key, value);
        }
    }

    /// The text of a value that is one.
    pub fn text(&self, value: Value<'a>) -> Option<&'a [u8]> {
        match value {
            Value::Text(text) => Some(text),
            Value::Known(id) => Some(self.texts.text(id)),
            _ => None,
        }
    }
}

/// The row that holds the stats: the same one, or where `rows` leads.
fn redirect(rows: &[i64], at: usize) -> Option<usize> {
    if rows.is_empty() { Some(at) } else { rows.get(at).and_then(|&r| usize::try_from(r).ok()) }
}

/// Where the arguments of one event are: its sheet, its number there, and its metadata row.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub sheet: usize,
    pub event: usize,
    pub row: u32,
}

fn put<'a>(out: &mut Vec<(u32, Value<'a>)>, key: u32, value: Value<'a>) {
    match out.iter_mut().find(|(known, _)| *known == key) {
        Some(place) => place.1 = value,
        None => out.push((key, value)),
    }
}

/// A full name as it is shown.
pub fn cut_name(text: &[u8]) -> Vec<u8> {
    if text.len() <= LONGEST_NAME {
        return text.to_vec();
    }
    [&text[..LONGEST_NAME], b"...<truncated>"].concat()
}

/// Writes `"args":{...}` with typed values; `frames` gives the stack frame per text (0: none), of which an event has one, behind its arguments;
/// without `opaque`, values that are bytes are left out.
pub fn typed(out: &mut Vec<u8>, args: &Args, list: &[(u32, Value)], group: i64, frames: &[u32], opaque: bool) {
    out.put(b"\"args\":{");
    let mut more = false;
    let mut frame = 0;
    if group != NO_GROUP {
        out.put(b"\"group_id\":");
        out.int(group);
        more = true;
    }
    for &(key, value) in list {
        if key == args.group_id || key == args.flow || (!opaque && value == Value::Opaque) {
            continue;
        }
        if let (0, Value::Known(id)) = (frame, value) {
            frame = frames.get(id as usize).copied().unwrap_or(0);
            if frame > 0 {
                continue;
            }
        }
        if more {
            out.put(b",");
        }
        more = true;
        out.put(args.keys.quoted(key));
        out.put(b":");
        typed_value(out, args, value);
    }
    out.put(b"}");
    if frame > 0 {
        out.put(b",\"sf\":");
        out.uint(u64::from(frame));
    }
}

fn typed_value(out: &mut Vec<u8>, args: &Args, value: Value) {
    const EXACT: u64 = 1 << 53;
    match value {
        Value::Int(v) if v.unsigned_abs() <= EXACT => out.int(v),
        Value::Uint(v) if v <= EXACT => out.uint(v),
        Value::Double(v) if v.is_finite() => out.put(format!("{v}").as_bytes()),
        Value::Double(v) => quote(out, format!("{v}").as_bytes()),
        Value::Opaque => out.put(b"\"<opaque bytes>\""),
        Value::Text(text) => quote(out, text),
        Value::Known(id) => quote(out, &cut_name(args.texts.text(id))),
        Value::Int(_) | Value::Uint(_) => stringly(out, args, value),
    }
}

/// Writes any value as a JSON string.
pub fn stringly(out: &mut Vec<u8>, args: &Args, value: Value) {
    match value {
        Value::Text(_) | Value::Known(_) | Value::Opaque => typed_value(out, args, value),
        _ => {
            out.put(b"\"");
            match value {
                Value::Int(v) => out.int(v),
                Value::Uint(v) => out.uint(v),
                Value::Double(v) => out.put(crate::json::text::general(v).as_bytes()),
                _ => {}
            }
            out.put(b"\"");
        }
    }
}

/// Direction of a flow as a word.
pub fn direction(flow: &Flow) -> &'static str {
    match flow.direction {
        1 => "in",
        2 => "out",
        3 => "both",
        _ => "",
    }
}
