//! Answers as bytes: JSON and protobuf messages of trace viewers, arrays for the canvas, the arguments of events.

pub mod arguments;
pub mod counter;
pub mod hits;
pub mod legacy;
pub mod payload;
pub mod series;
pub mod typed;
