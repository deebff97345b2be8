//! XSpace profiles from the wire into columns, and the sequential kernels behind the analyses.
//!
//! Pure functions on slices: no files, no globals (except in `system::mapped`), no I/O, no panic on any input. Only the
//! `python` module depends on Python.

/// Profiles over 4 GiB are ordinary here; positions are `usize`.
const _: () = assert!(usize::BITS >= 64);

pub mod decode;
pub mod error;
pub mod grouping;
pub mod hlo;
pub mod json;
pub mod kernels;
pub mod kineto;
#[cfg(feature = "python")]
mod python;
pub mod records;
pub mod snapshot;
pub mod system;
pub mod timeline;
pub mod wire;

// The tests of `tests/` name the crate as another crate would. As modules of it they need no second compilation of the crate.
#[cfg(test)]
extern crate self as _native;
#[cfg(test)]
#[path = "../tests/mod.rs"]
mod tests;
