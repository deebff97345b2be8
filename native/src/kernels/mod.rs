//! Sequential kernels on slices of events: what NumPy cannot do in one vectorised step. No knowledge of formats.

pub mod blame;
pub mod core_ops;
pub mod cover;
pub mod events;
pub mod expand;
pub mod gather;
pub mod nesting;
pub mod offload;
pub mod possible;
pub mod replay;
pub mod rows;
pub mod self_time;
pub mod sets;
pub mod shift;
pub mod step_work;
pub mod sweep;
pub mod threads;
pub mod xprof_order;
