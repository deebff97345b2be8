//! XSpace profiles from the wire into columns, and the sequential kernels behind the analyses.
//!
//! Pure functions on slices: no files, no globals (but for `sigbus`), no I/O, no panic on any input. Only the
//! `python` module knows that Python exists.

/// Profiles over 4 GiB are ordinary here; positions are `usize`.
const _: () = assert!(usize::BITS >= 64);

pub mod buffers;
pub mod columns;
pub mod contents;
pub mod core_ops;
pub mod cover;
pub mod data_forest;
pub mod error;
pub mod expand;
pub mod fast;
pub mod forest;
pub mod gather;
pub mod heap;
pub mod hlo;
mod ids;
pub mod memory;
pub mod metadata;
pub mod nesting;
pub mod offload;
pub mod order;
mod parallel;
pub mod pick;
#[cfg(feature = "python")]
mod python;
pub mod rows;
pub mod self_time;
#[cfg(unix)]
pub mod sigbus;
pub mod stats;
pub mod sweep;
pub mod text;
pub mod trace;
pub mod trace_events;
pub mod wire;
pub mod xspace;
