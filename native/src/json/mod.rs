//! JSON, written: numbers, texts and nested lists of integers (`text`). And traces of events, read: a text that arrives
//! in pieces (`reader`), what is damaged in it (`extent`, `mend`) and what that cost (`left`), one event (`trace_event`),
//! and what the begin of a text tells (`sniff`).

pub mod extent;
pub mod left;
mod mend;
pub mod reader;
pub mod sniff;
pub mod text;
pub mod trace_event;
