//! What a window of the timeline shows: events of a trace viewer, boxes of a canvas, events found by name, sums per name.

pub mod find;
pub mod lod;
pub mod search;
pub mod select;
pub mod sums;
