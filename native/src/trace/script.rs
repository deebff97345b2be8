//! The texts between the numbers of a trace viewer's events, and the fields that are made of them.

use super::json::Host;
use super::order::{FLOW_IN, FLOW_OUT, Flow};
use super::pieces::{Pieces, Writer};

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

/// The texts that all events have in common.
#[derive(Default)]
pub struct Words {
    pub duration: u32,
    pub z: u32,
    pub phase: u32,
    pub tail: u32,
    pub with_group: u32,
    pub group: u32,
    pub group_tail: u32,
    pub more: u32,
    pub serial: u32,
    pub next_serial: u32,
    pub close: u32,
    pub flow: u32,
    pub quote: u32,
    pub minus: u32,
    pub flow_in: u32,
    pub flow_out: u32,
    pub categories: Vec<u32>,
    pub id: u32,
    pub pair_begin: u32,
    pub pair_end: u32,
    pub pair_category: Vec<u32>,
}

/// All texts of one host's events.
pub struct Script {
    pub pieces: Pieces,
    pub words: Words,
    /// By track: what stands before a name; by name: the name and what follows it.
    pub tracks: Vec<u32>,
    pub processes: Vec<u32>,
    pub names: Vec<u32>,
    /// By track: the end of a plain event and the beginning of the next one on the same track, without and with a group.
    pub links: Vec<[u32; 2]>,
}

const UNUSED: u32 = u32::MAX;
const TAIL: &[u8] = b",\"ph\":\"X\",\"args\":{\"uid\":0}}";
const GROUP_TAIL: &[u8] = b",\"uid\":0}}";

impl Script {
    pub fn new(host: &Host) -> Self {
        let trace = host.trace;
        let mut pieces = Pieces::default();
        let words = Words::new(&mut pieces);
        let mut script = Script {
            pieces,
            words,
            tracks: vec![UNUSED; trace.tracks.len()],
            processes: vec![UNUSED; trace.tracks.len()],
            names: vec![UNUSED; trace.names.len()],
            links: vec![[UNUSED; 2]; trace.tracks.len()],
        };
        for run in &host.chosen.runs {
            if script.tracks[run.track as usize] == UNUSED {
                script.add_track(host, run.track as usize);
            }
        }
        for &event in &host.chosen.events {
            let name = trace.name[event as usize];
            if script.names.get(name as usize) == Some(&UNUSED) {
                script.names[name as usize] = script.pieces.add(&[trace.names.quoted(name), b",\"ts\":"].concat());
            }
        }
        script
    }

    fn add_track(&mut self, host: &Host, track: usize) {
        let id = host.trace.tracks[track];
        let pid = id.pid.wrapping_add(host.pid_offset);
        let prefix = format!(",{{\"pid\":{pid},\"tid\":{},\"name\":", id.tid);
        self.tracks[track] = self.pieces.add(prefix.as_bytes());
        self.processes[track] = self.pieces.add(format!(",{{\"pid\":{pid},\"name\":").as_bytes());
        self.links[track] = [TAIL, GROUP_TAIL].map(|tail| self.pieces.add(&[tail, prefix.as_bytes()].concat()));
    }
}

impl Words {
    fn new(pieces: &mut Pieces) -> Self {
        let named = |pieces: &mut Pieces, always: bool| -> Vec<u32> {
            let text = |name: &&str| {
                if name.is_empty() && !always { String::new() } else { format!(",\"cat\":\"{name}\"") }
            };
            CATEGORIES.iter().map(|name| pieces.add(text(name).as_bytes())).collect()
        };
        Words {
            duration: pieces.add(b",\"dur\":"),
            z: pieces.add(b"\"z\":"),
            phase: pieces.add(b",\"ph\":\"X\",\"args\":{"),
            tail: pieces.add(TAIL),
            with_group: pieces.add(b",\"ph\":\"X\",\"args\":{\"group_id\":"),
            group: pieces.add(b"\"group_id\":"),
            group_tail: pieces.add(GROUP_TAIL),
            more: pieces.add(b","),
            serial: pieces.add(b"\"uid\":"),
            next_serial: pieces.add(b"},\"z\":"),
            close: pieces.add(b"}"),
            flow: pieces.add(b",\"bind_id\":"),
            quote: pieces.add(b"\""),
            minus: pieces.add(b"-"),
            flow_in: pieces.add(b",\"flow_in\":true"),
            flow_out: pieces.add(b",\"flow_out\":true"),
            categories: named(pieces, false),
            id: pieces.add(b",\"id\":"),
            pair_begin: pieces.add(b",\"ph\":\"b\",\"args\":{"),
            pair_end: pieces.add(b",\"ph\":\"e\",\"args\":{"),
            pair_category: named(pieces, true),
        }
    }
}

/// What an event says about its flow.
pub fn flow_fields(script: &Script, flow: &Flow, out: &mut impl Writer) {
    let (pieces, words) = (&script.pieces, &script.words);
    out.piece(pieces, words.flow);
    exact(script, flow.id, out);
    out.piece(pieces, words.categories.get(flow.category as usize).copied().unwrap_or(words.categories[0]));
    if flow.direction & FLOW_IN != 0 {
        out.piece(pieces, words.flow_in);
    }
    if flow.direction & FLOW_OUT != 0 {
        out.piece(pieces, words.flow_out);
    }
}

/// The serial as `uid`, the end of the args, and as `z` when there is one.
pub fn serials(script: &Script, serial: u8, out: &mut impl Writer) {
    let (pieces, words) = (&script.pieces, &script.words);
    out.piece(pieces, words.serial);
    out.uint(u64::from(serial));
    if serial > 0 {
        out.piece(pieces, words.next_serial);
        out.uint(u64::from(serial));
    } else {
        out.piece(pieces, words.close);
    }
    out.piece(pieces, words.close);
}

/// A number with its sign.
pub fn signed(script: &Script, value: i64, out: &mut impl Writer) {
    if value < 0 {
        out.piece(&script.pieces, script.words.minus);
    }
    out.uint(value.unsigned_abs());
}

/// An integer, quoted where JavaScript would lose digits.
pub fn exact(script: &Script, value: u64, out: &mut impl Writer) {
    let quoted = value > EXACT;
    if quoted {
        out.piece(&script.pieces, script.words.quote);
    }
    out.uint(value);
    if quoted {
        out.piece(&script.pieces, script.words.quote);
    }
}
