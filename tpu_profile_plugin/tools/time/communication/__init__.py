"""Communication: collectives with their bandwidth and waits, late devices, clocks and launches."""

from tpu_profile_plugin.tools.time.communication.tool import TOOL

__all__ = ["TOOL"]
