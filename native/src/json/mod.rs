//! JSON, written from columns: numbers and texts (`text`), nested lists and records (`columns`); and events read (`trace_event`).

pub mod columns;
pub mod text;
pub mod trace_event;
