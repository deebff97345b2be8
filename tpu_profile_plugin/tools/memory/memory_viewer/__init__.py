"""Memory viewer: memory use of a compiled program, and the buffers at its peak."""

from tpu_profile_plugin.tools.memory.memory_viewer.tool import TOOL

__all__ = ["TOOL"]
