"""Trace viewer: when every operation ran on every device and thread."""

from tpu_profile_plugin.tools.time.trace_viewer.tool import LEGACY, TOOL

__all__ = ["LEGACY", "TOOL"]
