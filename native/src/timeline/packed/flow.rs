//! Flows as a trace viewer writes them: category, direction, and ids that JavaScript can hold.

use crate::timeline::model::order::{FLOW_IN, FLOW_OUT, Flow};

/// Names of the flow categories; generic and legacy flows have none.
const CATEGORIES: [&str; 18] = [
    "",
    "",
    "tf_exec",
    "tfrt_exec",
    "batch_sched",
    "PjRt",
    "as_batch_sched",
    "tfrt_rt",
    "tpu_embed",
    "gpu_launch",
    "batcher",
    "tpu_stream",
    "tpu_launch",
    "pathways_exec",
    "pjrt_library_call",
    "threadpool_event",
    "jax_serving",
    "sparsecore_offload",
];

/// Name of a flow category, empty when it has none.
pub fn category(flow: &Flow) -> &'static str {
    CATEGORIES.get(flow.category as usize).copied().unwrap_or("")
}

/// Category and direction of a flow as members of an event.
pub fn flow_text(flow: &Flow) -> String {
    let name = category(flow);
    let category = if name.is_empty() { String::new() } else { format!(",\"cat\":\"{name}\"") };
    let into = if flow.direction & FLOW_IN != 0 { ",\"flow_in\":true" } else { "" };
    let out = if flow.direction & FLOW_OUT != 0 { ",\"flow_out\":true" } else { "" };
    category + into + out
}

/// Largest integer that JavaScript holds exactly; larger ones are quoted.
const EXACT: u64 = 1 << 53;

/// Whether a flow id is written as a text.
#[inline(always)]
pub fn is_quoted(id: u64) -> bool {
    id > EXACT
}
