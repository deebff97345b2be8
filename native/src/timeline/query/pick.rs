//! Events that are picked out of the whole trace: by name, one by all that is known of it, the earliest.

use crate::system::parallel;
use crate::timeline::model::ties::{Kind, before};
use crate::timeline::model::timeline::Timeline;
use crate::timeline::model::together;
use crate::timeline::query::select::{Place, Selection};

/// Events of the whole trace whose name is marked (one flag per name id), also near ones; `middles`: see `Query`.
pub fn named(timeline: &Timeline, wanted: &[u8], middles: bool, threads: usize) -> Selection {
    let (trace, facts) = (&timeline.trace, timeline.facts(threads));
    let marked = |event: usize, track: usize| {
        let is_wanted = wanted.get(trace.name[event] as usize).is_some_and(|&wanted| wanted != 0);
        is_wanted && (middles || !facts.is_hidden(trace, event, track))
    };
    let of_track = |track: usize| {
        let events = trace.in_time(track);
        let on_track = |event: &usize| matches!(facts.kind(trace, *event), Some(Kind::Plain | Kind::Flow));
        let own = (0..events.len()).map(|place| events.at(place)).filter(|&event| marked(event, track));
        Ok(own.filter(on_track).map(|event| event as u32).collect())
    };
    let of_tracks = parallel::run(threads, (0..trace.tracks.len()).collect(), of_track).unwrap_or_default();
    let asynchronous = facts.flows.asynchronous.iter().map(|one| (one.event, one.track));
    let asynchronous: Vec<Place> = asynchronous.filter(|one| marked(one.0 as usize, one.1 as usize)).collect();
    Selection::new(trace, &of_tracks, &asynchronous, i64::MIN)
}

/// The event with exactly this name, begin, duration and serial.
pub fn exactly(timeline: &Timeline, name: u32, begin: i64, duration: i64, serial: u8, threads: usize) -> Selection {
    let (trace, facts) = (&timeline.trace, timeline.facts(threads));
    let found = together::equal_to(trace, &[begin]).into_iter().map(|(_, event)| event);
    let fits = |event: &u32| trace.name[*event as usize] == name && trace.duration(*event as usize).max(1) == duration;
    let mut found: Vec<Place> = found.filter(fits).map(|event| (event, trace.track_of(event) as u32)).collect();
    found.sort_by(|&a, &b| before(trace, a, b).then(a.0.cmp(&b.0)));
    let mut of_tracks = vec![Vec::new(); trace.tracks.len()];
    let mut asynchronous = Vec::new();
    if let Some(&(event, track)) = found.iter().find(|one| together::serial_of(trace, one.0) == serial) {
        if facts.kind(trace, event as usize) == Some(Kind::Async) {
            asynchronous.push((event, track));
        } else {
            of_tracks[track as usize].push(event);
        }
    }
    Selection::new(trace, &of_tracks, &asynchronous, begin)
}

/// The earliest events, at most `cap`, by track and time, without asynchronous ones.
pub fn earliest(timeline: &Timeline, cap: usize, threads: usize) -> Selection {
    let (trace, facts) = (&timeline.trace, timeline.facts(threads));
    let synchronous = |event: usize| facts.kind(trace, event) != Some(Kind::Async);
    let mut begins: Vec<i64> = (0..trace.len()).filter(|&event| synchronous(event)).map(|e| trace.begin[e]).collect();
    // Events that begin before this time, and of those that begin then the first ones.
    let mut last = i64::MAX;
    let mut kept: Vec<Place> = Vec::new();
    let all = cap >= begins.len();
    if !all {
        last = *begins.select_nth_unstable(cap).1;
        let earlier = begins.iter().filter(|&&begin| begin < last).count();
        let found = together::equal_to(trace, &[last]).into_iter().filter(|one| synchronous(one.1 as usize));
        kept = found.map(|(_, event)| (event, trace.track_of(event) as u32)).collect();
        kept.sort_by(|&a, &b| before(trace, a, b).then(a.0.cmp(&b.0)));
        kept.truncate(cap - earlier);
        kept.sort_unstable();
    }
    let of_track = |track: usize| {
        let events = trace.in_time(track);
        let own = (0..events.len()).map(|place| events.at(place)).filter(|&event| synchronous(event));
        let is_kept = |event: &usize| {
            all || trace.begin[*event] < last || kept.binary_search(&(*event as u32, track as u32)).is_ok()
        };
        Ok(own.filter(is_kept).map(|event| event as u32).collect())
    };
    let of_tracks = parallel::run(threads, (0..trace.tracks.len()).collect(), of_track).unwrap_or_default();
    Selection::new(trace, &of_tracks, &[], i64::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::model::build::tests::trace_of;

    #[test]
    fn the_earliest_events_are_whole_or_cut_at_equal_begins() {
        let timeline: Timeline = trace_of(&[(0, 5, 1, 0), (1, 5, 9, 1), (0, 0, 1, 2), (1, 7, 1, 3)]).into();
        let names = |cap| -> Vec<u32> {
            earliest(&timeline, cap, 1).events.iter().map(|&event| timeline.trace.name[event as usize]).collect()
        };
        assert_eq!([0, 1, 2, 3].map(names), [vec![], vec![2], vec![2, 1], vec![2, 0, 1]]);
        assert_eq!([4, 9].map(names), [vec![2, 0, 1, 3], vec![2, 0, 1, 3]]);
    }
}
