//! The texts between the numbers of a trace viewer's events, and the fields that are made of them.

use std::sync::OnceLock;

use super::Trace;
use super::order::{FLOW_IN, FLOW_OUT, Flow};
use super::pieces::{Pieces, Writer};
use super::select::Run;

/// Names of the flow categories; generic and legacy flows have none.
const CATEGORIES: [&str; 18] = [
    "",
    "",
    "tf_exec",
    "tfrt_exec",
    "batch_sched",
    "PjRt",
    "as_batch_sched",
    "tfrt_rt",
    "tpu_embed",
    "gpu_launch",
    "batcher",
    "tpu_stream",
    "tpu_launch",
    "pathways_exec",
    "pjrt_library_call",
    "threadpool_event",
    "jax_serving",
    "sparsecore_offload",
];

/// Name of a flow category, empty when it has none.
pub fn category(flow: &Flow) -> &'static str {
    CATEGORIES.get(flow.category as usize).copied().unwrap_or("")
}

/// Largest integer that JavaScript holds exactly; larger ones are quoted.
const EXACT: u64 = 1 << 53;

/// Serials below this have texts of their own; larger ones are written as numbers.
const SERIALS: u8 = 8;

/// The texts behind the duration or the flow id of an event.
#[derive(Clone, Copy)]
pub struct Shape {
    /// What it says about its flow besides the id.
    pub flow: u32,
    /// The same, up to the first argument.
    pub phase: u32,
    /// The same, up to the group.
    pub with_group: u32,
    /// The same, up to the end of an event without group and serial.
    pub tail: u32,
}

/// The texts that all events have in common.
pub struct Words {
    pub nothing: u32,
    pub duration: u32,
    pub flow: u32,
    /// Without a flow, then by category and direction.
    shapes: Vec<Shape>,
    /// Serials and the end of an event, behind nothing and behind a group.
    tails: [Vec<u32>; 2],
    serial: [u32; 2],
    next_serial: u32,
    close: u32,
    minus: u32,
    pub id: u32,
    pub group: u32,
    pub pair_begin: u32,
    pub pair_end: u32,
    pub pair_category: Vec<u32>,
}

/// The texts of one host's events, added when they are first needed.
pub struct Script {
    pub pieces: Pieces,
    pub words: &'static Words,
    pid_offset: u32,
    /// By track: what stands before a name, with and without the thread; by name: the name and what follows it.
    tracks: Vec<u32>,
    processes: Vec<u32>,
    names: Vec<u32>,
}

const UNUSED: u32 = u32::MAX;

impl Script {
    pub fn new(trace: &Trace, pid_offset: u32) -> Self {
        static WORDS: OnceLock<(Pieces, Words)> = OnceLock::new();
        let (pieces, words) = WORDS.get_or_init(|| {
            let mut pieces = Pieces::default();
            let words = Words::new(&mut pieces);
            (pieces, words)
        });
        Script {
            pieces: pieces.clone(),
            words,
            pid_offset,
            tracks: vec![UNUSED; trace.tracks.len()],
            processes: vec![UNUSED; trace.tracks.len()],
            names: vec![UNUSED; trace.names.len()],
        }
    }

    /// What stands before the names of a run.
    pub fn track(&mut self, trace: &Trace, run: &Run) -> u32 {
        let id = trace.tracks[run.track as usize];
        let pid = id.pid.wrapping_add(self.pid_offset);
        let known = if run.asynchronous { &mut self.processes } else { &mut self.tracks };
        let known = &mut known[run.track as usize];
        if *known == UNUSED {
            let thread = if run.asynchronous { String::new() } else { format!("\"tid\":{},", id.tid) };
            *known = self.pieces.add(format!(",{{\"pid\":{pid},{thread}\"name\":").as_bytes());
        }
        *known
    }

    /// A name and what follows it.
    #[inline(always)]
    pub fn name(&mut self, trace: &Trace, name: u32) -> u32 {
        let known = self.names[name as usize];
        if known == UNUSED { self.add_name(trace, name) } else { known }
    }

    #[cold]
    fn add_name(&mut self, trace: &Trace, name: u32) -> u32 {
        let number = self.pieces.add(&[trace.names.quoted(name), b",\"ts\":"].concat());
        self.names[name as usize] = number;
        number
    }
}

impl Words {
    fn new(pieces: &mut Pieces) -> Self {
        let mut shapes = vec![Shape::new(pieces, "")];
        for name in CATEGORIES {
            let category = if name.is_empty() { String::new() } else { format!(",\"cat\":\"{name}\"") };
            for direction in 0..4 {
                let into = if direction & FLOW_IN != 0 { ",\"flow_in\":true" } else { "" };
                let out = if direction & FLOW_OUT != 0 { ",\"flow_out\":true" } else { "" };
                shapes.push(Shape::new(pieces, &format!("{category}{into}{out}")));
            }
        }
        let tail = |serial: u8| match serial {
            0 => "\"uid\":0}}".to_string(),
            _ => format!("\"uid\":{serial}}},\"z\":{serial}}}"),
        };
        let tails = ["", ","].map(|before| {
            (0..SERIALS).map(|serial| pieces.add((before.to_string() + &tail(serial)).as_bytes())).collect()
        });
        Words {
            nothing: pieces.add(b""),
            duration: pieces.add(b",\"dur\":"),
            flow: pieces.add(b",\"bind_id\":"),
            shapes,
            tails,
            serial: [pieces.add(b"\"uid\":"), pieces.add(b",\"uid\":")],
            next_serial: pieces.add(b"},\"z\":"),
            close: pieces.add(b"}"),
            minus: pieces.add(b"-"),
            id: pieces.add(b",\"id\":"),
            group: pieces.add(b"\"group_id\":"),
            pair_begin: pieces.add(b",\"ph\":\"b\",\"args\":{"),
            pair_end: pieces.add(b",\"ph\":\"e\",\"args\":{"),
            pair_category: CATEGORIES
                .iter()
                .map(|name| pieces.add(format!(",\"cat\":\"{name}\"").as_bytes()))
                .collect(),
        }
    }

    /// What stands behind an event's duration.
    #[inline(always)]
    pub fn shape(&self, flow: Option<&Flow>) -> &Shape {
        let number = flow.map_or(0, |flow| {
            let category = if (flow.category as usize) < CATEGORIES.len() { flow.category as usize } else { 0 };
            1 + 4 * category + (flow.direction & 3) as usize
        });
        &self.shapes[number]
    }

    /// Writes the serial of an event, behind a group or not, up to the text with which the event ends; gives that.
    #[inline(always)]
    pub fn serial(&self, pieces: &Pieces, serial: u8, behind_group: bool, out: &mut impl Writer) -> u32 {
        if let Some(&tail) = self.tails[usize::from(behind_group)].get(usize::from(serial)) {
            return tail;
        }
        for text in [self.serial[usize::from(behind_group)], self.next_serial] {
            out.piece(pieces, text);
            out.uint(u64::from(serial));
        }
        self.close
    }

    /// The same for the end of a pair, which has the serial only outside of its arguments.
    pub fn serial_of_end(&self, pieces: &Pieces, serial: u8, out: &mut impl Writer) -> u32 {
        if serial == 0 {
            out.piece(pieces, self.close);
        } else {
            out.piece(pieces, self.next_serial);
            out.uint(u64::from(serial));
        }
        self.close
    }

    /// Writes a number with its sign behind a text.
    #[inline(always)]
    pub fn signed(&self, pieces: &Pieces, text: u32, value: i64, out: &mut impl Writer) {
        out.piece(pieces, text);
        if value < 0 {
            out.piece(pieces, self.minus);
        }
        out.uint(value.unsigned_abs());
    }

    /// Writes a flow id behind a text, quoted where JavaScript would lose digits.
    #[inline(always)]
    pub fn exact(pieces: &Pieces, text: u32, value: u64, out: &mut impl Writer) {
        out.piece(pieces, text);
        if value > EXACT {
            out.quote();
            out.uint(value);
            out.quote();
        } else {
            out.uint(value);
        }
    }
}

impl Shape {
    fn new(pieces: &mut Pieces, flow: &str) -> Self {
        let mut add = |end: &str| pieces.add(format!("{flow}{end}").as_bytes());
        Shape {
            flow: add(""),
            phase: add(",\"ph\":\"X\",\"args\":{"),
            with_group: add(",\"ph\":\"X\",\"args\":{\"group_id\":"),
            tail: add(",\"ph\":\"X\",\"args\":{\"uid\":0}}"),
        }
    }
}
