"""Roofline model: rates of the program, its steps and its ops relative to compute and memory peaks."""

from tpu_profile_plugin.tools.ops.roofline_model.tool import TOOL

__all__ = ["TOOL"]
