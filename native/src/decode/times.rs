//! Impossible times of a profile, found in one pass over its events.
//!
//! Columns for XProf's own readings keep them; everything else is made of columns without.

use std::cmp::Reverse;

use super::xspace::{LARGEST_NS, outline};
use crate::error::Result;
use crate::kernels::possible::{Possible, verdicts};
use crate::system::parallel;
use crate::wire::tags::xplane::{XEvent, XLine};
use crate::wire::{NO_TEXT, Reader, Span, text};

const SECOND: i64 = 1_000_000_000;
const PS_IN_NS: i64 = 1000;
/// Planes whose streams run one event after the other, and how the lines of streams are called.
pub const GPU: &[u8] = b"/device:GPU:";
pub const STREAM: &[u8] = b"Stream";

/// The possible times of a profile with events that have others.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// What begins are counted from, in ns: 0 unless timestamps are too large for picoseconds.
    pub origin_ns: i64,
    /// Timestamps of two epochs: large ones count from the origin, others from 0.
    pub mixed: bool,
    /// In ps since the origin.
    pub possible: Possible,
    pub losses: Vec<Loss>,
}

/// Events of a line with impossible times; the names of plane and line are text values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    pub plane: u64,
    pub line: u64,
    /// How many are left out, and how many end earlier than recorded.
    pub left_out: u64,
    pub shortened: u64,
}

/// A line, its plane's name, and whether the plane is a GPU.
#[derive(Clone, Copy)]
struct Source {
    plane: u64,
    on_gpu: bool,
    span: Span,
}

/// The events of a line that have times of their own: ps since its timestamp.
#[derive(Default)]
struct Queue {
    begin: Vec<i64>,
    duration: Vec<i64>,
    name: Vec<u32>,
}

/// What one pass over a line tells, in ns.
struct Extent {
    source: Source,
    timestamp: i64,
    events: usize,
    first: i64,
    last: i64,
    end: i64,
    /// Whether some duration is impossible.
    odd: bool,
    far: bool,
}

impl Extent {
    fn is_within(&self, possible: Possible) -> bool {
        !self.odd && possible.begins(self.first) && possible.begins(self.last) && self.end <= possible.end
    }
}

/// The possible times, if some event has others.
pub fn survey(data: &[u8], threads: usize) -> Result<Option<Times>> {
    let sources = sources(data)?;
    let whole = Reader::new(data, 0, "XSpace");
    survey_from(whole, &sources, threads, None)
}

/// `epoch`: what large timestamps are counted from, others from 0.
fn survey_from(whole: Reader, sources: &[Source], threads: usize, epoch: Option<i64>) -> Result<Option<Times>> {
    // A line that does not decode is an error where its plane is used.
    let lines = parallel::run(threads, sources.to_vec(), |source| Ok(extent(whole, source, epoch).ok()))?;
    let lines: Vec<Extent> = lines.into_iter().flatten().filter(|line| line.events > 0).collect();
    let first = lines.iter().map(|line| line.first).min().unwrap_or(0);
    let end = lines.iter().map(|line| line.end).max().unwrap_or(0);
    let count = lines.iter().map(|line| line.events).sum();
    let possible = Possible::of_recording(count, (first, end), SECOND, |stride| {
        let sources = lines.iter().map(|line| line.source).collect();
        Ok(parallel::run(threads, sources, |source| spans(whole, source, epoch, stride))?.concat())
    })?;
    if epoch.is_none() && lines.iter().any(|line| !line.far && possible.begins(line.last)) {
        let far = lines.iter().filter(|line| line.far && possible.begins(line.last));
        if let Some(epoch) = far.map(|line| line.timestamp).min() {
            return survey_from(whole, sources, threads, Some(epoch));
        }
    }
    let doubtful = lines.iter().filter(|line| !line.is_within(possible)).map(|line| line.source).collect();
    let losses = parallel::run(threads, doubtful, |source| loss(whole, source, epoch, possible))?;
    let losses: Vec<Loss> = losses.into_iter().flatten().collect();
    if losses.is_empty() {
        return Ok(None);
    }
    let far = lines.iter().filter(|line| line.far && possible.begins(line.first));
    let first_far = far.map(|line| line.first).min().unwrap_or(0);
    let (origin_ns, counted_from) = epoch.map_or((first_far, first_far), |epoch| (epoch, 0));
    let possible = possible.scaled(counted_from, PS_IN_NS);
    Ok(Some(Times { origin_ns, mixed: epoch.is_some(), possible, losses }))
}

/// The lines of all planes, the largest first, so that threads end together.
fn sources(data: &[u8]) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    for plane in outline(data, 0)?.limited().planes {
        let on_gpu = text::slice(data, plane.name)?.starts_with(GPU);
        found.extend(plane.lines.into_iter().map(|span| Source { plane: plane.name, on_gpu, span }));
    }
    found.sort_by_key(|source| Reverse(source.span.len()));
    Ok(found)
}

/// Calls `event` with metadata id, offset and duration in ps of each event that has times of its own; the line's name and
/// timestamp.
fn read(whole: Reader, span: Span, mut event: impl FnMut(i64, i64, i64)) -> Result<(u64, i64)> {
    let mut line = whole.within(span, "XLine");
    let (mut name, mut since) = (NO_TEXT, 0);
    while let Some(tag) = line.tag()? {
        match tag {
            XLine::NAME => name = line.text()?,
            XLine::TIMESTAMP_NS => since = line.int64()?,
            XLine::EVENTS => {
                if let Some((id, offset_ps, duration_ps)) = times(line.message("XEvent")?)? {
                    event(id, offset_ps, duration_ps);
                }
            }
            _ => line.skip(tag)?,
        }
    }
    Ok((name, since))
}

/// Metadata id, offset and duration of an event; None for a sum over events without times of their own.
///
/// Stats are not walked through where a time stands before them, as all writers put it: only sums have none.
#[inline(always)]
fn times(mut event: Reader) -> Result<Option<(i64, i64, i64)>> {
    let (mut id, mut offset_ps, mut duration_ps, mut timed, mut sum) = (0, 0, 0, false, false);
    let mut tag = event.tag_or_zero()?;
    while tag != 0 {
        if tag == XEvent::METADATA_ID {
            id = event.int64()?;
            tag = event.tag_or_zero()?;
        }
        if tag == XEvent::OFFSET_PS {
            (offset_ps, timed, sum) = (event.int64()?, true, false);
            tag = event.tag_or_zero()?;
        }
        if tag == XEvent::DURATION_PS {
            duration_ps = event.int64()?;
            tag = event.tag_or_zero()?;
        }
        if tag == XEvent::STATS && timed {
            break;
        }
        if tag == XEvent::NUM_OCCURRENCES {
            (offset_ps, sum) = (0, event.int64()? != 0);
            tag = event.tag_or_zero()?;
        } else if !matches!(tag, 0 | XEvent::METADATA_ID | XEvent::OFFSET_PS | XEvent::DURATION_PS) {
            event.skip(tag)?;
            tag = event.tag_or_zero()?;
        }
    }
    Ok((!sum).then_some((id, offset_ps, duration_ps)))
}

impl Queue {
    fn read(whole: Reader, source: Source) -> Result<(Queue, u64, i64)> {
        let mut queue = Queue::default();
        let (name, since) = read(whole, source.span, |id, offset_ps, duration_ps| {
            queue.begin.push(offset_ps);
            queue.duration.push(duration_ps);
            queue.name.push(id as u32);
        })?;
        Ok((queue, name, since))
    }

    fn verdicts(&self, possible: Possible, stream: bool) -> Vec<(usize, Option<i64>)> {
        verdicts(&self.begin, &self.duration, &self.name, possible, stream)
    }
}

fn is_stream(whole: Reader, source: Source, name: u64) -> bool {
    source.on_gpu && text::slice(whole.whole(), name).is_ok_and(|name| name.starts_with(STREAM))
}

fn extent(whole: Reader, source: Source, epoch: Option<i64>) -> Result<Extent> {
    let (mut events, mut first, mut last, mut end, mut odd) = (0, i64::MAX, i64::MIN, i64::MIN, false);
    let mut keep = |_, offset_ps: i64, duration_ps: i64| {
        events += 1;
        (first, last) = (first.min(offset_ps), last.max(offset_ps));
        end = end.max(offset_ps.saturating_add(duration_ps));
        odd |= duration_ps < 0;
    };
    let since = if source.on_gpu {
        let (queue, name, since) = Queue::read(whole, source)?;
        (0..queue.begin.len()).for_each(|i| keep(0, queue.begin[i], queue.duration[i]));
        odd |= is_stream(whole, source, name) && !queue.verdicts(Possible::ALL, true).is_empty();
        since
    } else {
        read(whole, source.span, keep)?.1
    };
    let far = since.unsigned_abs() > LARGEST_NS;
    let timestamp = since;
    let since = counted_from(epoch, since);
    let at = |ps: i64| since.saturating_add(ps.div_euclid(PS_IN_NS));
    Ok(Extent { source, timestamp, events, first: at(first), last: at(last), end: at(end), odd, far })
}

/// A line's timestamp, of large ones the time since the epoch.
fn counted_from(epoch: Option<i64>, timestamp_ns: i64) -> i64 {
    match epoch {
        Some(epoch) if timestamp_ns.unsigned_abs() > LARGEST_NS => timestamp_ns.saturating_sub(epoch),
        _ => timestamp_ns,
    }
}

/// Begin and duration in ns of some events of a line, one of `stride`.
fn spans(whole: Reader, source: Source, epoch: Option<i64>, stride: usize) -> Result<Vec<(i64, i64)>> {
    let mut line = whole.within(source.span, "XLine");
    let (mut found, mut number, mut since) = (Vec::new(), 0, 0);
    while let Some(tag) = line.tag()? {
        match tag {
            XLine::TIMESTAMP_NS => since = line.int64()?,
            XLine::EVENTS => {
                let event = line.message("XEvent")?;
                number += 1;
                if number % stride == 1 % stride {
                    let times = times(event)?;
                    found.extend(
                        times.map(|(_, offset_ps, duration_ps)| {
                            (offset_ps.div_euclid(PS_IN_NS), duration_ps / PS_IN_NS)
                        }),
                    );
                }
            }
            _ => line.skip(tag)?,
        }
    }
    let since = counted_from(epoch, since);
    found.iter_mut().for_each(|span| span.0 = since.saturating_add(span.0));
    Ok(found)
}

fn loss(whole: Reader, source: Source, epoch: Option<i64>, possible: Possible) -> Result<Option<Loss>> {
    let (queue, name, since) = Queue::read(whole, source)?;
    let stream = is_stream(whole, source, name);
    let wrong = queue.verdicts(possible.scaled(counted_from(epoch, since), PS_IN_NS), stream);
    let shortened = wrong.iter().filter(|(_, verdict)| verdict.is_some()).count() as u64;
    let left_out = wrong.len() as u64 - shortened;
    Ok((!wrong.is_empty()).then_some(Loss { plane: source.plane, line: name, left_out, shortened }))
}
