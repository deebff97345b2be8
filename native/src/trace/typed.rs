//! The events of a trace viewer as JSON with all their arguments.

use super::args::{self, Args};
use super::json::{Host, Plain};
use super::order::decode_flow;
use super::script::{Script, Words};
use super::select::Run;
use super::text::Sink;
use crate::parallel;

/// Events with all their arguments, each behind a comma; `frames` is the stack frame per text.
pub fn typed(host: &Host, args: &Args, frames: &[u32]) -> Vec<u8> {
    let (trace, serial) = (host.trace, &host.trace.order(host.threads).serial);
    let script = Script::new(host);
    let write = |(run, events): (Run, &[u32])| {
        let (mut out, mut list) = (Vec::new(), Vec::new());
        for &event in events {
            let event = event as usize;
            out.put(script.pieces.text(script.tracks[run.track as usize]));
            out.put(trace.names.quoted(trace.name[event]));
            out.put(b",\"ts\":");
            out.micro(trace.begin[event]);
            out.put(b",\"dur\":");
            out.micro(trace.duration[event].max(1));
            if let Some(value) = trace.flow.get(event) {
                let flow = decode_flow(value);
                Words::exact(&script.pieces, script.words.flow, flow.id, &mut Plain { out: &mut out });
                out.put(script.pieces.text(script.words.shape(Some(&flow)).flow));
            }
            out.put(b",\"ph\":\"X\",");
            args.collect(trace.source[event] as usize, &mut list);
            args::typed(&mut out, args, &list, trace.group_of(event), frames, false);
            if serial[event] > 0 {
                out.put(b",\"z\":");
                out.uint(u64::from(serial[event]));
            }
            out.put(b"}");
        }
        Ok(out)
    };
    parallel::run(host.threads, host.chosen.chunks(4096), write).unwrap_or_default().concat()
}
