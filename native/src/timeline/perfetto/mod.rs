//! The events of a host as packets of Perfetto, track by track: on which of a track's lanes events nest (`lanes`), texts
//! by number (`interned`), the packets (`writer`).

pub mod interned;
pub mod lanes;
pub mod writer;
