//! The events of a trace viewer as JSON with all their arguments.

use crate::json::text::Sink;
use crate::system::parallel;
use crate::timeline::answer::arguments::{self, Args};
use crate::timeline::model::order::{FLOW_IN, FLOW_OUT, Flow, decode_flow};
use crate::timeline::model::timeline::Timeline;
use crate::timeline::model::trace::NO_GROUP;
use crate::timeline::packed::events::{phase_alone, track_text};
use crate::timeline::packed::flow::{category, flow_text, is_quoted};
use crate::timeline::query::select::{Run, Selection};

/// What one host contributes to a body.
pub struct Host<'a> {
    pub timeline: &'a Timeline,
    pub selection: &'a Selection,
    /// Added to every process id.
    pub pid_offset: u32,
    pub threads: usize,
}

/// Events with all their arguments, each behind a comma; `frames` is the stack frame per text.
pub fn typed(host: &Host, args: &Args, frames: &[u32]) -> Vec<u8> {
    let (trace, order) = (&host.timeline.trace, host.timeline.order(host.threads));
    let write = |(run, events): (Run, &[u32])| {
        let stands = track_text(trace, run.track, run.asynchronous, host.pid_offset);
        let (mut out, mut list) = (Vec::new(), Vec::new());
        for &event in events {
            let event = event as usize;
            let flow = trace.flow.get(event).map(decode_flow);
            let is_pair = run.asynchronous && flow.is_some_and(|flow| flow.direction == FLOW_IN | FLOW_OUT);
            out.put(b",{\"ts\":");
            out.micro(trace.begin[event]);
            if !run.asynchronous {
                out.put(b",\"dur\":");
                out.micro(trace.duration(event).max(1));
            }
            of_flow(&mut out, flow, run.asynchronous);
            out.put(stands.as_bytes());
            out.put(trace.names.quoted(trace.name[event]));
            out.put(match (run.asynchronous, is_pair) {
                (false, _) => b",\"ph\":\"X\"",
                (true, true) => b",\"ph\":\"b\"",
                (true, false) => phase_alone(flow.map_or(0, |flow| flow.direction)).as_bytes(),
            });
            out.put(b",");
            args.collect(trace.source[event] as usize, &mut list);
            arguments::typed(&mut out, args, &list, trace.group_of(event), frames, false);
            serial(&mut out, order.serial[event]);
            if is_pair {
                out.put(b",{\"ts\":");
                out.micro(trace.end(event));
                of_flow(&mut out, flow, true);
                out.put(stands.as_bytes());
                out.put(trace.names.quoted(trace.name[event]));
                out.put(b",\"ph\":\"e\"");
                if trace.group_of(event) != NO_GROUP {
                    out.put(b",\"args\":{\"group_id\":");
                    out.int(trace.group_of(event));
                    out.put(b"}");
                }
                serial(&mut out, order.serial[event]);
            }
        }
        Ok(out)
    };
    parallel::run(host.threads, host.selection.chunks(4096), write).unwrap_or_default().concat()
}

/// Id, category and direction of an event's flow; the phase of an asynchronous one tells its direction.
fn of_flow(out: &mut Vec<u8>, flow: Option<Flow>, asynchronous: bool) {
    let Some(flow) = flow else { return };
    let quote: &[u8] = if is_quoted(flow.id) { b"\"" } else { b"" };
    out.put(if asynchronous { b",\"id\":" } else { b",\"bind_id\":" });
    out.put(quote);
    out.uint(flow.id);
    out.put(quote);
    if asynchronous {
        out.put(format!(",\"cat\":\"{}\"", category(&flow)).as_bytes());
    } else {
        out.put(flow_text(&flow).as_bytes());
    }
}

/// The serial, if there is one, and the end of the event.
fn serial(out: &mut Vec<u8>, serial: u8) {
    if serial > 0 {
        out.put(b",\"z\":");
        out.uint(u64::from(serial));
    }
    out.put(b"}");
}
