//! The events of a host as packets of Perfetto, track by track: on which of a track's lanes events nest (`lanes`), texts
//! by number (`interned`), arguments (`annotations`), the packets (`writer`), also of events in columns (`packets`).

mod annotations;
mod interned;
mod lanes;
pub mod packets;
pub mod writer;
