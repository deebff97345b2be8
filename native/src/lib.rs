//! XSpace profiles from the wire into columns, and the sequential kernels behind the analyses.
//!
//! Pure functions on slices: no files, no globals, no I/O, no panic on any input. Only the `python`
//! module knows that Python exists.

pub mod error;

#[cfg(feature = "python")]
mod python;
