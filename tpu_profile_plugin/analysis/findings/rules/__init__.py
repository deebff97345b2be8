"""All rules, in the order in which findings about no time are shown; a new rule needs an import and an entry here."""

from tpu_profile_plugin.analysis.findings.model import Rule
from tpu_profile_plugin.analysis.findings.rules import (
    barrier,
    debug_callbacks,
    dispatch_only_steps,
    exposed_communication,
    host_sync,
    input_bound,
    launch_bound,
    not_compiled,
    recompilation,
    repeated_transfer,
    sequential_input,
    slow_host_code,
    steps_not_marked,
    truncated_trace,
)

RULES: tuple[Rule, ...] = (
    recompilation.RULE,
    not_compiled.RULE,
    debug_callbacks.RULE,
    host_sync.RULE,
    repeated_transfer.RULE,
    sequential_input.RULE,
    input_bound.RULE,
    slow_host_code.RULE,
    exposed_communication.RULE,
    barrier.RULE,
    launch_bound.RULE,
    truncated_trace.RULE,
    steps_not_marked.RULE,
    dispatch_only_steps.RULE,
)
