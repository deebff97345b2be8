"""Megascale stats: collectives between slices as a table, a timeline, or a trace for viewers of Perfetto."""

from tpu_profile_plugin.tools.fleet.megascale_stats.tool import TOOL

__all__ = ["TOOL"]
