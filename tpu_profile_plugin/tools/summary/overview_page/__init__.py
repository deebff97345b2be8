"""Overview: step time, utilization, time breakdown and recommendations."""

from tpu_profile_plugin.tools.summary.overview_page.tool import TOOL

__all__ = ["TOOL"]
