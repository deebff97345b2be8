//! Finds single events by process, time and name.

use crate::timeline::model::trace::Trace;

/// Where events are; the columns are of equal length.
#[derive(Default, Debug, PartialEq)]
pub struct Found {
    /// -1 for events that are not there; their other columns are 0.
    pub track: Vec<i64>,
    /// Number of the event on its track.
    pub index: Vec<u32>,
    pub row: Vec<u32>,
}

/// The event of a process with a begin and a duration: that with the name id if there is one, else the first.
///
/// The slices are of equal length.
pub fn find(trace: &Trace, pid: &[u32], begin: &[i64], duration: &[i64], name: &[u32]) -> Found {
    let mut found = Found::default();
    for (i, &process) in pid.iter().enumerate() {
        let place = one(trace, process, (begin[i], duration[i]), name[i]);
        found.track.push(place.map_or(-1, |(track, ..)| track as i64));
        found.index.push(place.map_or(0, |(_, index, _)| index));
        found.row.push(place.map_or(0, |(.., row)| row as u32));
    }
    found
}

fn one(trace: &Trace, pid: u32, (begin, duration): (i64, i64), name: u32) -> Option<(usize, u32, usize)> {
    let mut other = None;
    let first = trace.tracks.partition_point(|track| track.pid < pid);
    for (track, _) in trace.tracks.iter().enumerate().skip(first).take_while(|(_, id)| id.pid == pid) {
        let rows = trace.track_rows[track] as usize..trace.track_rows[track + 1] as usize;
        for (depth, row) in trace.rows[rows].iter().enumerate() {
            let (from, to) = (row.first as usize, row.last as usize);
            let since = from + trace.begin[from..to].partition_point(|&b| b < begin);
            for event in (since..to).take_while(|&e| trace.begin[e] == begin) {
                if trace.duration(event) != duration {
                    continue;
                }
                let place = (track, event as u32 - trace.track_events[track], depth);
                if trace.name[event] == name {
                    return Some(place);
                }
                other = other.or(Some(place));
            }
        }
    }
    other
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::model::build::tests::trace_of;

    #[test]
    fn events_are_found_by_time_and_the_name_decides() {
        // Processes 1 and 2 with one track each; an event within another of the same time.
        let trace = trace_of(&[(0, 0, 9, 1), (0, 20, 5, 2), (0, 20, 5, 3), (1, 20, 5, 3)]);
        let found =
            find(&trace, &[1, 1, 1, 2, 1, 7], &[0, 20, 20, 20, 20, 0], &[9, 5, 5, 5, 4, 9], &[1, 3, 2, 9, 2, 1]);
        assert_eq!(found.track, [0, 0, 0, 1, -1, -1]);
        assert_eq!(found.index, [0, 2, 1, 0, 0, 0]);
        assert_eq!(found.row, [0, 1, 0, 0, 0, 0]);
    }
}
