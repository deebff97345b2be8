//! Packets for Perfetto: of events in columns (`packets`), and of a host's timeline track by track (`writer`), with
//! arguments and texts by number (`annotations`).

mod annotations;
pub mod packets;
pub mod writer;
