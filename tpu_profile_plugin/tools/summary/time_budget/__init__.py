"""Time budget: what the steps of every device consist of, and what of it could go."""

from tpu_profile_plugin.tools.summary.time_budget.tool import TOOL

__all__ = ["TOOL"]
