"""The Profile tab of TensorBoard: browse, capture and analyse XSpace profiles.

For scripts: `open(path)` reads a logdir or a file, `capture(addresses, logdir, ...)` profiles running programs.

    import tpu_profile_plugin as tp

    run = tp.open("/path/to/logdir").run()           # the newest recording
    ops = run.ops()                                  # the ops with most self time first
    for name, ps, share in zip(ops.name[:3], ops.self_ps, ops.share):
        print(f"{name}: {ps / 1e9:.3f} ms, {share:.1%} of the devices' time")

A run also has `steps()`, `kernels()`, `budget()`, `communication()`, `memory()`, `programs()`, `findings()`,
`compare(base)`, and `table(tool, name)` for the tables of the pages, with `to_pandas()` and `to_arrow()`. Times are
picoseconds. What a profile lacks raises `errors.NoData`. More: help(tpu_profile_plugin.opening.OpenRun).
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from tpu_profile_plugin.version import __version__

__all__ = ["__version__", "capture", "open"]


def open(path: str | os.PathLike[str], executor: str = "") -> Any:
    """An `opening.OpenLogdir`, with `runs()` and `run(name)`; a `.xplane.pb` file is a logdir of one run.

    Raises NotFound if the file does not exist.

    `executor` selects where runs of many hosts are read, like the flag --profile_executor.
    """
    # By name, because every package imports this module and must not depend on `opening` through it.
    return importlib.import_module("tpu_profile_plugin.opening").OpenLogdir(os.fspath(path), executor)


def __getattr__(name: str) -> Any:
    # The package `capture` is callable; it is imported on first access.
    if name == "capture":
        return importlib.import_module("tpu_profile_plugin.capture")
    raise AttributeError(name)
