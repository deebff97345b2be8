"""The Profile tab of TensorBoard: browse, capture and understand XSpace profiles.

For scripts: `open(path)` reads a logdir or one file, `capture(addresses, logdir, ...)` asks running programs.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tpu_profile_plugin.reading import OpenLogdir, OpenRun

__version__ = "0.1.0"
__all__ = ["__version__", "capture", "open"]


def open(path: str | os.PathLike[str], executor: str = "") -> OpenLogdir | OpenRun:
    """A logdir with its runs, or the one run of a `.xplane.pb` file; raises NotFound for a file that is not there.

    `executor` says where runs of many hosts are read, as the flag --profile_executor does.
    """
    # By name: every room imports this module, and none of them may seem to import what stands above it.
    reading: Any = importlib.import_module("tpu_profile_plugin.reading")
    opened: OpenLogdir | OpenRun = reading.open_path(os.fspath(path), executor)
    return opened


def __getattr__(name: str) -> Any:
    # The package `capture` can be called; it is loaded when somebody wants to.
    if name == "capture":
        return importlib.import_module("tpu_profile_plugin.capture")
    raise AttributeError(name)
