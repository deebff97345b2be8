//! XSpace profiles from the wire into columns, and the sequential kernels behind the analyses.
//!
//! Pure functions on slices: no files, no globals, no I/O, no panic on any input. Only the `python`
//! module knows that Python exists.

pub mod columns;
pub mod error;
mod ids;
pub mod metadata;
mod parallel;
pub mod stats;
pub mod text;
pub mod wire;
pub mod xspace;

/// Profiles over 4 GiB are ordinary here; positions are `usize`.
const _: () = assert!(usize::BITS >= 64);

#[cfg(feature = "python")]
mod python;
