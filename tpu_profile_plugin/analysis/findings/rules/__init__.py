"""All rules, in the order in which findings about no time are shown; a new rule needs an import and an entry here."""

from tpu_profile_plugin.analysis.findings.model import Rule
from tpu_profile_plugin.analysis.findings.rules import largest_part
from tpu_profile_plugin.analysis.findings.rules.communication import (
    barrier,
    exposed_communication,
    resharding,
    slow_links,
    straggler,
    uneven_work,
)
from tpu_profile_plugin.analysis.findings.rules.data import (
    input_bound,
    output_bound,
    repeated_transfer,
)
from tpu_profile_plugin.analysis.findings.rules.device import (
    bounds,
    buffer_copies,
    conversions,
    data_movement,
    exposed_copy,
    forward_derivatives,
    low_precision_unused,
    low_utilization,
    one_hot_product,
    padding,
    recomputation,
    repeated_work,
    replicated_work,
    slow_device,
    sparse_core_wait,
    summed_products,
    unchanged_work,
    unread_gradients,
    unread_rows,
)
from tpu_profile_plugin.analysis.findings.rules.host import (
    busy_thread,
    debug_callbacks,
    eager_execution,
    host_sync,
    launch_bound,
    not_compiled,
    outside_compilation,
    periodic_work,
    python_lock,
    recompilation,
    slow_host_code,
    split_graph,
    tf_function_tracing,
)
from tpu_profile_plugin.analysis.findings.rules.memory import kept_for_backward, memory_near_limit
from tpu_profile_plugin.analysis.findings.rules.recording import (
    dispatch_only_steps,
    steps_not_marked,
    tracing_overhead,
    truncated_trace,
)

LARGEST, STRAGGLER = largest_part.RULE, straggler.RULE
MOVEMENT, PRECISION = data_movement.RULE, low_precision_unused.RULE
RECORDING = tracing_overhead.RULE
"""It comes after what the time goes to."""
RULES: tuple[Rule, ...] = (
    recompilation.RULE, not_compiled.RULE, debug_callbacks.RULE, outside_compilation.RULE, split_graph.RULE,
    host_sync.RULE, repeated_transfer.RULE, input_bound.RULE, output_bound.RULE, periodic_work.RULE,
    python_lock.RULE, busy_thread.RULE, slow_host_code.RULE, resharding.RULE, slow_links.RULE,
    exposed_communication.RULE, exposed_copy.RULE, sparse_core_wait.RULE, slow_device.RULE, STRAGGLER,
    uneven_work.UNEVEN, uneven_work.BUBBLES, replicated_work.RULE, unchanged_work.RULE, repeated_work.RULE,
    unread_gradients.RULE, buffer_copies.RULE, conversions.RULE, recomputation.RULE, one_hot_product.RULE,
    summed_products.RULE, forward_derivatives.RULE, unread_rows.RULE, data_movement.RULE, low_precision_unused.RULE,
    padding.RULE, low_utilization.RULE, memory_near_limit.RULE, kept_for_backward.RULE, bounds.MEMORY_BOUND,
    bounds.COMPUTE_BOUND,
    barrier.RULE, launch_bound.RULE, eager_execution.RULE, tf_function_tracing.RULE, truncated_trace.RULE,
    tracing_overhead.RULE, steps_not_marked.RULE, dispatch_only_steps.RULE, LARGEST,
)  # fmt: skip
