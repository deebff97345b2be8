//! The events of one host: built from event tables into tracks and rows (`build`), ordered by time (`order`) and given
//! levels of detail (`levels`, `visibility`) when a window first needs them.

pub mod build;
mod lengths;
pub mod levels;
pub mod names;
pub mod order;
pub mod rows;
mod slice;
pub mod sparse;
pub mod timeline;
pub mod trace;
pub mod track;
pub mod visibility;
