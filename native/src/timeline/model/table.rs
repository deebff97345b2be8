//! The inputs of a timeline: event tables, and the track of their events.

/// Events as a plane or a derived line has them; all slices of events have the same length.
pub struct Table<'a> {
    pub begin: &'a [i64],
    pub duration: &'a [i64],
    pub metadata: &'a [u32],
    /// Name id per metadata row, or `HIDDEN`.
    pub names: &'a [u32],
    /// Empty, or one flag per event that takes it out.
    pub removed: &'a [u8],
    /// Empty, or the group per event.
    pub group: &'a [i64],
    /// Events that have a name of their own.
    pub renamed: (&'a [u32], &'a [u32]),
    pub flow: (&'a [u32], &'a [u64]),
    pub asynchronous: &'a [u32],
}

/// Events `first..last` of a table belong to a track.
#[derive(Clone, Copy)]
pub struct Segment {
    pub table: usize,
    pub first: usize,
    pub last: usize,
    pub track: usize,
}
