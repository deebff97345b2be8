//! The timeline of one host: built once from event tables (`model`), then queried many times (`query`), with answers
//! as JSON or arrays (`answer`, `packed`), and written whole for Perfetto (`perfetto`).

pub mod answer;
pub mod model;
pub mod packed;
pub mod perfetto;
pub mod query;
