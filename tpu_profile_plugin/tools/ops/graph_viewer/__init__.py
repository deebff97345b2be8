"""Graph viewer: the compiled program as text, bytes, or the neighbourhood of one instruction."""

from tpu_profile_plugin.tools.ops.graph_viewer.tool import TOOL

__all__ = ["TOOL"]
