"""Compare: what changed between two runs."""

from tpu_profile_plugin.tools.summary.compare.tool import TOOL

__all__ = ["TOOL"]
