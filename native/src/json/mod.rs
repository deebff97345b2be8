//! JSON, written from columns: numbers and texts (`text`), nested lists and records (`columns`).

pub mod columns;
pub mod text;
