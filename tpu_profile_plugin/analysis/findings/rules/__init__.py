"""All rules, in the order in which findings about no time are shown; a new rule needs an import and an entry here."""

from tpu_profile_plugin.analysis.findings.model import Rule
from tpu_profile_plugin.analysis.findings.rules import (
    barrier,
    debug_callbacks,
    exposed_communication,
    host_sync,
    recompilation,
    slow_host_code,
)

RULES: tuple[Rule, ...] = (
    recompilation.RULE,
    debug_callbacks.RULE,
    host_sync.RULE,
    slow_host_code.RULE,
    exposed_communication.RULE,
    barrier.RULE,
)
