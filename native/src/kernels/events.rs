//! Columns of events as rows, for those who want one event after the other.

use crate::error::{Error, Problem, Result};

/// Begin, duration and row of the metadata.
pub type Event = (i64, i64, u32);

/// Up to `most` events from `first` on, the last one first, so that they can be popped in order. Fails for columns of
/// different lengths.
pub fn backwards(columns: (&[i64], &[i64], &[u32]), first: usize, most: usize) -> Result<Vec<Event>> {
    let (begin, duration, metadata) = columns;
    if begin.len() != duration.len() || begin.len() != metadata.len() {
        return Err(Error::new(Problem::BadArgument, "events", 0));
    }
    let part = first.min(begin.len())..first.saturating_add(most).min(begin.len());
    let events = begin[part.clone()].iter().zip(&duration[part.clone()]).zip(&metadata[part]);
    Ok(events.map(|((&begin, &duration), &metadata)| (begin, duration, metadata)).rev().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_columns_backwards() {
        let columns = (&[1, 2, 3, 4][..], &[10, 20, 30, 40][..], &[5, 6, 7, 8][..]);
        assert_eq!(backwards(columns, 1, 2).unwrap(), [(3, 30, 7), (2, 20, 6)]);
        assert_eq!(backwards(columns, 3, 9).unwrap(), [(4, 40, 8)]);
        assert_eq!(backwards(columns, 4, 9).unwrap(), []);
        assert!(backwards((&[1], &[], &[2]), 0, 1).is_err());
    }
}
