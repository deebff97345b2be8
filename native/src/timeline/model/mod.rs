//! The events of one host: built from event tables into tracks and rows (`build`), and given levels of detail (`levels`,
//! `visibility`) when a window first needs them. Tracks know their events by time; there is no order over all tracks.

pub mod build;
pub mod flows;
mod lengths;
pub mod levels;
pub mod names;
pub(super) mod rows;
pub mod sparse;
pub mod table;
pub mod ties;
pub mod timeline;
pub mod together;
pub mod trace;
mod track;
pub mod visibility;
