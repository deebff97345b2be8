"""All rules, in the order in which findings about no time are shown; a new rule needs an import and an entry here."""

from tpu_profile_plugin.analysis.findings.model import Rule
from tpu_profile_plugin.analysis.findings.rules import (
    compute_bound,
    data_movement,
    exposed_communication,
    exposed_copy,
    kept_for_backward,
    low_precision_unused,
    memory_bound,
    memory_near_limit,
    padding,
    slow_host_code,
    straggler,
)

RULES: tuple[Rule, ...] = (
    slow_host_code.RULE,
    exposed_communication.RULE,
    exposed_copy.RULE,
    straggler.RULE,
    data_movement.RULE,
    low_precision_unused.RULE,
    padding.RULE,
    memory_near_limit.RULE,
    kept_for_backward.RULE,
    memory_bound.RULE,
    compute_bound.RULE,
)
