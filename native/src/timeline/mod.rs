//! The timeline of one host: built once from event tables (`model`), then queried many times (`query`), with answers
//! as JSON or arrays (`answer`, `packed`), and written whole for Perfetto (`perfetto`). Of a large file, pictures of
//! recorded lines are made without events in memory (`preview`).

pub mod answer;
pub mod model;
pub mod packed;
pub mod perfetto;
pub mod preview;
pub mod query;
