//! Category and arguments of events: those that events with the same metadata share are encoded once.

use std::collections::HashMap;

use crate::kernels::rows::Seeded;
use crate::timeline::answer::arguments::{Args, Value};
use crate::timeline::perfetto::interned::{Interned, shown};
use crate::timeline::perfetto::packets::fixed;
use crate::wire::tags::perfetto::{DebugAnnotation, TrackEvent};
use crate::wire::write::{message, number};

/// An event has at most this many arguments of its own, and as many of its metadata.
const MOST_ARGS: usize = 64;

/// Name of the argument with the duration in ps where times in ns do not give it.
const EXACT: &[u8] = b"duration_ps";

/// The argument that is the category of an event.
const CATEGORY: &[u8] = b"hlo_category";

/// Arguments that events with the same metadata share, as fields of a `TrackEvent`.
#[derive(Clone, Copy)]
struct Shared {
    first: usize,
    last: usize,
    /// Number of the category; 0: that of the table.
    category: u64,
    keys: (usize, usize),
}

/// Keys with a meaning.
pub struct Known {
    category: Option<u32>,
    /// Whether stats have the name of the exact duration.
    has_exact: bool,
}

impl Known {
    pub fn of(args: &Args) -> Known {
        let find = |name: &[u8]| (0..args.keys.len() as u32).find(|&key| args.keys.text(key) == name);
        Known { category: find(CATEGORY), has_exact: find(EXACT).is_some() }
    }
}

/// Encodes the arguments of one host's events.
#[derive(Default)]
pub struct Annotations {
    pub texts: Interned,
    /// Category of the events of each table.
    categories: Vec<String>,
    shared: HashMap<u64, Shared, Seeded>,
    encoded: Vec<u8>,
    keys: Vec<u32>,
    scratch: Vec<u8>,
}

impl Annotations {
    pub fn new(categories: Vec<String>) -> Annotations {
        Annotations { categories, ..Annotations::default() }
    }

    /// Group of an event.
    pub fn group(&mut self, args: &Args, group: i64, out: &mut Vec<u8>) {
        self.annotation(args, (args.group_id, Value::Int(group)), false, out);
    }

    /// Duration of an event in ps; nothing where a stat has the name.
    pub fn exact(&mut self, args: &Args, known: &Known, duration: i64, out: &mut Vec<u8>) {
        if !known.has_exact {
            // The number behind those of the profile's keys.
            self.annotation(args, (args.keys.len() as u32, Value::Int(duration)), false, out);
        }
    }

    /// Category and arguments of an event; each key once, that of the event before that of its metadata.
    pub fn stats<'a>(
        &mut self,
        args: &Args<'a>,
        known: &Known,
        source: usize,
        list: &mut Vec<(u32, Value<'a>)>,
        out: &mut Vec<u8>,
    ) {
        let Some(place) = args.locate(source) else { return };
        let key = (place.sheet as u64) << 32 | u64::from(place.row);
        let shared = match self.shared.get(&key) {
            Some(&shared) => shared,
            None => {
                list.clear();
                args.of_metadata(&place, list);
                let shared = self.share(args, known.category, list);
                self.shared.insert(key, shared);
                shared
            }
        };
        let category_iid = if shared.category != 0 {
            shared.category
        } else {
            let name = self.categories.get(place.sheet).map_or("", String::as_str);
            self.texts.category(name.as_bytes())
        };
        number(out, TrackEvent::CATEGORY_IIDS, category_iid as i64);
        list.clear();
        args.of_event(&place, list);
        let taken = &self.keys[shared.keys.0..shared.keys.1];
        if list.iter().any(|(key, _)| taken.contains(key)) {
            args.collect(source, list);
            list.retain(|(key, _)| Some(*key) != known.category);
        } else {
            out.extend_from_slice(&self.encoded[shared.first..shared.last]);
        }
        for &argument in list.iter().filter(|(key, _)| *key != args.group_id).take(MOST_ARGS) {
            self.annotation(args, argument, false, out);
        }
    }

    /// Keeps the encoded arguments that all events with one metadata have.
    fn share(&mut self, args: &Args, category: Option<u32>, list: &[(u32, Value)]) -> Shared {
        let (first, first_key) = (self.encoded.len(), self.keys.len());
        let mut encoded = std::mem::take(&mut self.encoded);
        let mut number = 0;
        for &(key, value) in list.iter().filter(|(key, _)| *key != args.group_id).take(MOST_ARGS) {
            self.keys.push(key);
            match args.text(value) {
                Some(text) if Some(key) == category && !text.is_empty() => number = self.texts.category(text),
                _ => self.annotation(args, (key, value), true, &mut encoded),
            }
        }
        self.encoded = encoded;
        Shared { first, last: self.encoded.len(), category: number, keys: (first_key, self.keys.len()) }
    }

    /// One argument; texts that many events may have (`shared`) are numbered.
    fn annotation(&mut self, args: &Args, (key, value): (u32, Value), shared: bool, out: &mut Vec<u8>) {
        if value == Value::Opaque || key == args.flow {
            return;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let name = self.texts.key(key, || if key as usize == args.keys.len() { EXACT } else { args.keys.text(key) });
        number(&mut scratch, DebugAnnotation::NAME_IID, name as i64);
        match value {
            Value::Int(value) => number(&mut scratch, DebugAnnotation::INT_VALUE, value),
            Value::Uint(value) => number(&mut scratch, DebugAnnotation::UINT_VALUE, value as i64),
            Value::Double(value) => fixed(&mut scratch, DebugAnnotation::DOUBLE_VALUE, value.to_bits()),
            Value::Known(id) => {
                let id = self.texts.known(id, || args.texts.text(id));
                number(&mut scratch, DebugAnnotation::STRING_VALUE_IID, id as i64);
            }
            Value::Text(text) if shared => {
                let id = self.texts.placed(text);
                number(&mut scratch, DebugAnnotation::STRING_VALUE_IID, id as i64);
            }
            Value::Text(text) => message(&mut scratch, DebugAnnotation::STRING_VALUE, &shown(text)),
            Value::Opaque => {}
        }
        message(out, TrackEvent::DEBUG_ANNOTATIONS, &scratch);
        self.scratch = scratch;
    }
}
