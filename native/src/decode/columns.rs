//! Second pass: XSpace bytes into the columns of each plane, chunks of events in parallel into exact arrays.

use std::cmp::Reverse;

use crate::decode::chunks::{ChunkMissing, Job, decode_chunk};
use crate::decode::filter::PlaneFilter;
use crate::decode::metadata::{self, EventMetadata, PlaneMetadata, StatMetadata};
use crate::decode::stats::{self, StatColumns, retain};
use crate::decode::times::{GPU, STREAM, Times};
use crate::decode::xspace::{LARGEST_NS, LineOutline, outline, scan_line, total};
use crate::error::Result;
use crate::kernels::possible::{Possible, verdicts};
use crate::system::memory::zeros;
use crate::system::parallel;
use crate::wire::text;
use crate::wire::{Reader, Span};

/// What to decode and on how many threads.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    pub threads: usize,
    /// Whether the plane at each position of the file is decoded; None: all are.
    pub keep: Option<&'a [bool]>,
    /// False: metadata and plane stats only; planes then have no lines.
    pub events: bool,
    /// Planes of which only some events or stats are decoded.
    pub filters: &'a [PlaneFilter],
    /// Events with other times are left out; None: all are decoded as they are.
    pub times: Option<&'a Times>,
}

impl Options<'_> {
    /// Everything, on one thread.
    pub const ALL: Options<'static> = Options { threads: 1, keep: None, events: true, filters: &[], times: None };
}

/// A decoded profile. Text values count from the start of the profile.
#[derive(Debug, Default, PartialEq)]
pub struct Columns {
    pub planes: Vec<PlaneColumns>,
    pub errors: Vec<u64>,
    pub warnings: Vec<u64>,
    pub hostnames: Vec<u64>,
    pub origin_ns: i64,
}

#[derive(Debug, Default, PartialEq)]
pub struct PlaneColumns {
    /// Position among the planes of the file.
    pub index: usize,
    pub id: i64,
    pub name: u64,
    pub lines: LineColumns,
    pub events: EventColumns,
    pub event_metadata: EventMetadata,
    pub stat_metadata: StatMetadata,
    pub stats: StatColumns,
    /// Whether stats of some events were left out.
    pub partial: bool,
}

/// Lines in file order; the events of line `i` are `event_start[i]..event_start[i + 1]`.
#[derive(Debug, Default, PartialEq)]
pub struct LineColumns {
    pub id: Vec<i64>,
    pub display_id: Vec<i64>,
    pub name: Vec<u64>,
    pub display_name: Vec<u64>,
    pub timestamp_ns: Vec<i64>,
    pub duration_ps: Vec<i64>,
    /// Whether the line has events in the file, decoded or not.
    pub filled: Vec<bool>,
    pub event_start: Vec<i64>,
}

#[derive(Debug, Default, PartialEq)]
pub struct EventColumns {
    /// Row of the event metadata.
    pub metadata: Vec<u32>,
    pub begin_ps: Vec<i64>,
    pub duration_ps: Vec<i64>,
    /// None if no event of the plane is aggregated.
    pub occurrences: Option<Vec<i64>>,
    pub stats: StatColumns,
}

/// Decodes the bytes of a profile; `data` begins at byte `base` of it (0 except in tests).
pub fn decode(data: &[u8], base: u64, options: Options) -> Result<Columns> {
    let outline = outline(data, base)?.limited();
    let kept: Vec<_> = outline
        .planes
        .into_iter()
        .filter(|plane| options.keep.is_none_or(|keep| keep.get(plane.index) == Some(&true)))
        .collect();
    let whole = Reader::new(data, base, "XSpace");
    let tables = parallel::run(options.threads, kept.iter().collect(), |plane| {
        metadata::read(whole.within(plane.body, "XPlane")).map_err(|error| error.in_plane(plane.index))
    })?;
    let mut planes: Vec<Plane> = kept
        .iter()
        .zip(tables)
        .map(|(plane, tables)| Plane {
            index: plane.index,
            id: plane.id,
            name: plane.name,
            tables,
            lines: Vec::new(),
            partial: false,
        })
        .collect();
    if options.events {
        scan_lines(whole, options, kept.iter().map(|plane| plane.lines.as_slice()), &mut planes)?;
    }
    let origin_ns = options.times.map_or_else(|| origin(&planes), |times| times.origin_ns);
    let planes = decode_events(whole, options, planes, origin_ns)?;
    let (errors, warnings, hostnames) = (outline.errors, outline.warnings, outline.hostnames);
    Ok(Columns { planes, errors, warnings, hostnames, origin_ns })
}

/// A plane between the two passes.
struct Plane {
    index: usize,
    id: i64,
    name: u64,
    tables: PlaneMetadata,
    lines: Vec<LineOutline>,
    /// Whether stats of some events are left out.
    partial: bool,
}

/// First pass over all lines, the longest first, so that the threads end together.
fn scan_lines<'a>(
    whole: Reader,
    options: Options,
    spans: impl Iterator<Item = &'a [Span]>,
    planes: &mut [Plane],
) -> Result<()> {
    let mut jobs: Vec<(usize, usize, Span)> = spans
        .enumerate()
        .flat_map(|(plane, lines)| lines.iter().enumerate().map(move |(line, &span)| (plane, line, span)))
        .collect();
    jobs.sort_by_key(|job| Reverse(job.2.len()));
    let indices: Vec<usize> = planes.iter().map(|plane| plane.index).collect();
    let filter_of = |plane: &usize| options.filters.iter().find(|filter| filter.plane == *plane);
    let filters: Vec<Option<&PlaneFilter>> = indices.iter().map(filter_of).collect();
    let text = |name: u64| text::slice(whole.rest(), name.wrapping_sub(whole.offset())).unwrap_or_default();
    let mut scanned = parallel::run(options.threads, jobs, |(plane, line, span)| {
        let reader = whole.within(span, "XLine");
        let outline = filters[plane].map_or_else(|| scan_line(reader), |filter| filter.scan_line(reader, text));
        Ok((plane, line, outline.map_err(|error| error.in_line(line).in_plane(indices[plane]))?))
    })?;
    scanned.sort_unstable_by_key(|&(plane, line, _)| (plane, line));
    for (plane, _, outline) in scanned {
        planes[plane].lines.push(outline);
    }
    for (plane, filter) in planes.iter_mut().zip(filters) {
        plane.partial =
            filter.and_then(|filter| filter.stats.as_ref()).is_some_and(|some| some.apply(&mut plane.lines, text));
    }
    Ok(())
}

/// The smallest timestamp among the lines whose picoseconds would overflow; 0 without such lines.
fn origin(planes: &[Plane]) -> i64 {
    let lines = planes.iter().flat_map(|plane| &plane.lines);
    lines.map(|line| line.timestamp_ns).filter(|ns| ns.unsigned_abs() > LARGEST_NS).min().unwrap_or(0)
}

fn decode_events(whole: Reader, options: Options, mut planes: Vec<Plane>, origin_ns: i64) -> Result<Vec<PlaneColumns>> {
    let mut columns = planes.iter().map(|plane| allocate(plane, whole)).collect::<Result<Vec<_>>>()?;
    let one_epoch = options.times.is_some_and(|times| !times.mixed);
    let mut jobs = Vec::new();
    for (plane, events) in planes.iter().zip(&mut columns) {
        share(plane, events, |timestamp_ns| since(timestamp_ns, origin_ns, one_epoch), &mut jobs);
    }
    let owners: Vec<usize> = jobs.iter().map(|job| job.plane).collect();
    let missing = parallel::run(options.threads, jobs, |job| {
        let (plane, line) = (job.plane, job.line);
        decode_chunk(whole, job).map_err(|error| error.in_line(line).in_plane(plane))
    })?;
    let mut per_plane: Vec<ChunkMissing> = Vec::new();
    per_plane.resize_with(planes.last().map_or(0, |plane| plane.index + 1), ChunkMissing::default);
    for (plane, mut chunk) in owners.into_iter().zip(missing) {
        let all = &mut per_plane[plane];
        all.events.append(&mut chunk.events);
        all.stats.keys.append(&mut chunk.stats.keys);
        all.stats.refs.append(&mut chunk.stats.refs);
    }
    let finished = planes.drain(..).zip(columns).map(|(plane, events)| {
        let missing = std::mem::take(&mut per_plane[plane.index]);
        let mut made = finish(plane, events, missing);
        if let Some(times) = options.times {
            leave_out(whole, made.name, &mut made.events, &mut made.lines, times.possible);
        }
        made
    });
    Ok(finished.collect())
}

/// A line's timestamp in ps since the origin. Where only possible times count, those far from it stay far: all are counted from
/// it, and none turns into another one by an overflow.
fn since(timestamp_ns: i64, origin_ns: i64, one_epoch: bool) -> i64 {
    if one_epoch {
        return timestamp_ns.saturating_sub(origin_ns).saturating_mul(1000);
    }
    let large = timestamp_ns.unsigned_abs() > LARGEST_NS;
    timestamp_ns.wrapping_sub(if large { origin_ns } else { 0 }).wrapping_mul(1000)
}

/// Zeroed columns of the exact size; the pages are touched first by the threads that fill them.
fn allocate(plane: &Plane, whole: Reader) -> Result<EventColumns> {
    let chunks = || plane.lines.iter().flat_map(|line| &line.chunks);
    let events = total(chunks().map(|chunk| chunk.events), "XEvent", whole.offset())?;
    let stats = total(chunks().map(|chunk| chunk.stats), "XStat", whole.offset())?;
    let aggregated = plane.lines.iter().any(|line| line.aggregated);
    let mut columns = EventColumns {
        metadata: zeros(events),
        begin_ps: zeros(events),
        duration_ps: zeros(events),
        occurrences: aggregated.then(|| zeros(events)),
        stats: StatColumns::sized(events, stats),
    };
    columns.stats.start[events] = stats as u32;
    Ok(columns)
}

/// Gives every chunk of a plane its own part of the columns.
fn share<'a>(plane: &'a Plane, columns: &'a mut EventColumns, since: impl Fn(i64) -> i64, jobs: &mut Vec<Job<'a>>) {
    let (mut first_event, mut first_stat) = (0, 0);
    let (mut metadata, mut begin, mut duration) =
        (&mut columns.metadata[..], &mut columns.begin_ps[..], &mut columns.duration_ps[..]);
    let mut occurrences = columns.occurrences.as_deref_mut().unwrap_or_default();
    let StatColumns { start, key, kind, value } = &mut columns.stats;
    let (mut start, mut key, mut kind, mut value) = (&mut start[..], &mut key[..], &mut kind[..], &mut value[..]);
    for (line_index, line) in plane.lines.iter().enumerate() {
        for chunk in &line.chunks {
            jobs.push(Job {
                plane: plane.index,
                line: line_index,
                place: &chunk.place,
                bare: chunk.bare,
                begin_ps: since(line.timestamp_ns),
                event_ids: &plane.tables.event_ids,
                stat_ids: &plane.tables.stat_ids,
                first_event,
                first_stat,
                metadata: take(&mut metadata, chunk.events),
                begin: take(&mut begin, chunk.events),
                duration: take(&mut duration, chunk.events),
                occurrences: take(&mut occurrences, chunk.events),
                stat_start: take(&mut start, chunk.events),
                key: take(&mut key, chunk.stats),
                kind: take(&mut kind, chunk.stats),
                value: take(&mut value, chunk.stats),
            });
            first_event += chunk.events;
            first_stat += chunk.stats;
        }
    }
}

/// Cuts up to `count` items off the front of `rest`.
fn take<'a, T>(rest: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let count = count.min(rest.len());
    let (head, tail) = std::mem::take(rest).split_at_mut(count);
    *rest = tail;
    head
}

/// Appends rows for ids without metadata and puts the plane together.
fn finish(plane: Plane, mut events: EventColumns, missing: ChunkMissing) -> PlaneColumns {
    let Plane { index, id, name, tables, lines, partial } = plane;
    let PlaneMetadata { events: mut event_metadata, stats: mut stat_metadata, plane_stats: mut stats, .. } = tables;
    let appended = stats::distinct(missing.events.iter());
    let first = event_metadata.id.len();
    event_metadata.append_empty(&appended);
    for (slot, id) in missing.events {
        events.metadata[slot] = (first + appended.binary_search(&id).unwrap_or(0)) as u32;
    }
    let sources = [&missing.stats, &tables.event_stats_missing, &tables.plane_stats_missing];
    let appended = stats::distinct(sources.iter().flat_map(|source| source.keys.iter().chain(&source.refs)));
    let first = stat_metadata.id.len();
    stat_metadata.append_empty(&appended);
    let row = |id: i64| (first + appended.binary_search(&id).unwrap_or(0)) as u32;
    events.stats.patch(&missing.stats, row);
    event_metadata.stats.patch(&tables.event_stats_missing, row);
    stats.patch(&tables.plane_stats_missing, row);
    PlaneColumns { index, id, name, lines: line_columns(lines), events, event_metadata, stat_metadata, stats, partial }
}

fn line_columns(lines: Vec<LineOutline>) -> LineColumns {
    let mut columns = LineColumns { event_start: vec![0], ..Default::default() };
    let mut end = 0;
    for line in lines {
        columns.id.push(line.id);
        columns.display_id.push(line.display_id);
        columns.name.push(line.name);
        columns.display_name.push(line.display_name);
        columns.timestamp_ns.push(line.timestamp_ns);
        columns.duration_ps.push(line.duration_ps);
        columns.filled.push(line.filled);
        end += line.chunks.iter().map(|chunk| chunk.events as i64).sum::<i64>();
        columns.event_start.push(end);
    }
    columns
}

/// Leaves out the events of a plane that have impossible times, and gives others their possible duration.
fn leave_out(whole: Reader, plane: u64, events: &mut EventColumns, lines: &mut LineColumns, possible: Possible) {
    let named = |name: u64, begin: &[u8]| text::slice(whole.whole(), name).is_ok_and(|name| name.starts_with(begin));
    let on_gpu = named(plane, GPU);
    let mut keep = vec![true; events.begin_ps.len()];
    for (line, bounds) in lines.event_start.windows(2).enumerate() {
        let own: Vec<usize> = (bounds[0] as usize..bounds[1] as usize)
            .filter(|&i| events.occurrences.as_ref().is_none_or(|sums| sums[i] == 0))
            .collect();
        let column = |values: &[i64]| own.iter().map(|&i| values[i]).collect::<Vec<i64>>();
        let names: Vec<u32> = own.iter().map(|&i| events.metadata[i]).collect();
        let stream = on_gpu && named(lines.name[line], STREAM);
        let (begin, duration) = (column(&events.begin_ps), column(&events.duration_ps));
        for (at, instead) in verdicts(&begin, &duration, &names, possible, stream) {
            match instead {
                Some(duration) => events.duration_ps[own[at]] = duration,
                None => keep[own[at]] = false,
            }
        }
    }
    if keep.iter().all(|keep| *keep) {
        return;
    }
    let mut before = vec![0i64];
    for &keep in &keep {
        before.push(before[before.len() - 1] + i64::from(keep));
    }
    lines.event_start.iter_mut().for_each(|start| *start = before[*start as usize]);
    events.stats.retain_owners(&keep);
    retain(&mut events.metadata, &keep);
    retain(&mut events.begin_ps, &keep);
    retain(&mut events.duration_ps, &keep);
    if let Some(sums) = &mut events.occurrences {
        retain(sums, &keep);
    }
}
