//! XSpace bytes into columns, in two passes: where things are (`xspace`, `filter`), then exact arrays (`columns`).

mod chunks;
pub mod columns;
pub mod filter;
pub mod ids;
pub mod metadata;
pub mod stats;
pub mod times;
pub mod trace_events;
pub mod xspace;
