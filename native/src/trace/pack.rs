//! The events of a trace viewer's answer as parts of a compressed stream, written while they are still being chosen.

use super::Trace;
use super::deflate::{self, Packed, Packer};
use super::json::emit;
use super::script::Script;
use super::select::{self, Query, Run, Selection};
use crate::parallel;

/// Events that a thread writes at once; the texts begin anew in each part.
const SHARE: usize = 8192;

/// What one host contributes to a body.
pub struct Source<'a> {
    pub trace: &'a Trace,
    pub wanted: Wanted<'a>,
    /// Added to every process id.
    pub pid_offset: u32,
}

/// Which events.
pub enum Wanted<'a> {
    These(&'a Selection),
    Window(Query),
}

enum Job<'a> {
    Runs(Vec<(Run, &'a [u32])>),
    /// Places in the order.
    Places(Vec<u32>),
}

/// Number of events, and the events of all hosts, each behind a comma.
pub fn pack<'a>(sources: &'a [Source<'a>], threads: usize) -> (usize, Vec<Packed>) {
    let produce = |put: &mut dyn FnMut((usize, Job<'a>))| {
        for (host, source) in sources.iter().enumerate() {
            match &source.wanted {
                Wanted::These(selection) => shares(selection, &mut |runs| put((host, Job::Runs(runs)))),
                Wanted::Window(query) => {
                    select::places(source.trace, query, SHARE, &mut |places| put((host, Job::Places(places))));
                }
            }
        }
    };
    let scripts = || sources.iter().map(|_| None).collect::<Vec<Option<Script>>>();
    let work = |scripts: &mut Vec<Option<Script>>, (host, job): (usize, Job<'a>)| {
        let (trace, pid_offset) = (sources[host].trace, sources[host].pid_offset);
        let order = trace.order(threads);
        let script = scripts[host].get_or_insert_with(|| Script::new(trace, pid_offset));
        let chosen;
        let runs = match job {
            Job::Runs(runs) => runs,
            Job::Places(places) => {
                chosen = select::by_track(trace, order, &places);
                chosen.chunks(usize::MAX)
            }
        };
        let mut packer = Packer::new();
        emit(script, trace, &order.serial, &runs, &mut packer);
        (runs.iter().map(|(_, events)| events.len()).sum::<usize>(), packer.finish())
    };
    let (counts, parts): (Vec<_>, Vec<_>) = parallel::pipe(threads, produce, scripts, work).into_iter().unzip();
    (counts.iter().sum(), parts)
}

/// The runs of a selection in shares.
fn shares<'a>(selection: &'a Selection, put: &mut dyn FnMut(Vec<(Run, &'a [u32])>)) {
    let (mut runs, mut size) = (Vec::new(), 0);
    for run in selection.chunks(SHARE) {
        size += run.1.len();
        runs.push(run);
        if size >= SHARE {
            put(std::mem::take(&mut runs));
            size = 0;
        }
    }
    put(runs);
}

/// A text as a part of a compressed stream, as it is or (`packed`) compressed already, ending at a byte.
pub fn part(text: &[u8], packed: Option<&[u8]>) -> Packed {
    Packed {
        pages: vec![packed.map_or_else(|| deflate::stored(text), <[u8]>::to_vec)],
        length: text.len() as u64,
        register: super::checksum::update(0, text),
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::tests::trace_of;
    use super::super::checksum;
    use super::super::json::tests::plain;
    use super::*;

    #[test]
    fn a_window_is_written_as_it_is_chosen() {
        let events: Vec<_> =
            (0..20_000).map(|i| (i % 3, i as i64 * 1_234_567, i as i64 * 17, (i % 10) as u32)).collect();
        let trace = trace_of(&events);
        let query = Query { begin: 0, end: i64::MAX, resolution: 0, asynchronous: false, threads: 2 };
        let selection = select::select(&trace, &query);
        let length = plain(&trace, &selection, 0).len() as u64;
        let of = |wanted: Wanted, threads| {
            let (count, parts) = pack(&[Source { trace: &trace, wanted, pid_offset: 0 }], threads);
            let register = parts.iter().fold(0, |r, part| checksum::join(r, part.register, part.length));
            assert_eq!((count, parts.iter().map(|part| part.length).sum::<u64>()), (20_000, length));
            (parts.len(), register)
        };
        let register = checksum::update(0, &plain(&trace, &selection, 0));
        assert_eq!(of(Wanted::These(&selection), 1), (2, register));
        assert_eq!(of(Wanted::These(&selection), 4), (2, register));
        // By time first, then by track, therefore with another checksum; but the same for any number of threads.
        assert_eq!(of(Wanted::Window(query), 4), of(Wanted::Window(query), 1));
        assert_eq!(of(Wanted::Window(query), 1).0, 3);
    }
}
