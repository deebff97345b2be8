//! What depends on the operating system and the processor: threads, large pages, faults of mapped files.

#[cfg(unix)]
pub mod mapped;
pub mod memory;
pub mod parallel;
pub mod trail;
