//! Which samples of a counter a window shows at a resolution.

use crate::timeline::model::levels::{LEVELS, of_resolution, resolution};

/// Positions of the shown ones among samples in the order of time.
///
/// Samples outside of the window (ps, both ends inside) are not shown. `step` ps lie between two that are; 0 shows all.
/// As for events, a sample is first given a level: the coarsest at which it is far enough from the one before it.
pub fn visible(begin: &[i64], window: (i64, i64), step: i64) -> Vec<u32> {
    let first = begin.partition_point(|&at| at < window.0);
    let last = begin.partition_point(|&at| at <= window.1).max(first);
    if step <= 0 {
        return (first as u32..last as u32).collect();
    }
    let deepest = usize::from(of_resolution(step));
    // Time of the last sample of each level. The finest level takes what is left.
    let mut latest = [None::<i64>; LEVELS as usize];
    let (mut shown, mut before) = (Vec::new(), None::<i64>);
    let far = |at: i64, last: Option<i64>, step: i64| last.is_none_or(|last| at.saturating_sub(last) >= step);
    for (place, &at) in begin[..last].iter().enumerate() {
        let finest = usize::from(LEVELS) - 1;
        let level = (0..finest).find(|&level| far(at, latest[level], resolution(level as u8))).unwrap_or(finest);
        latest[level..].fill(Some(at));
        if place >= first && level <= deepest && far(at, before, step) {
            before = Some(at);
            shown.push(place as u32);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_closed() {
        assert_eq!(visible(&[1, 3, 3, 5, 7], (3, 5), 0), [1, 2, 3]);
        assert_eq!(visible(&[1, 3], (4, 9), 0), [0u32; 0]);
        assert_eq!(visible(&[1, 3], (9, 4), 0), [0u32; 0]);
    }

    #[test]
    fn near_samples_are_left_out() {
        assert_eq!(visible(&[0, 4, 9, 10, 19, 20], (0, 30), 10), [0, 3, 5]);
    }

    #[test]
    fn what_is_shown_depends_on_what_came_before_the_window() {
        // 12 is too near to 5 for the level of 10 ps, and 15 is not.
        assert_eq!(visible(&[5, 12, 15, 26], (10, 30), 10), [2, 3]);
    }
}
