"""The Profile tab of TensorBoard: browse, capture and analyse XSpace profiles.

For scripts: `open(path)` reads a logdir, a file or bytes, `capture(addresses, logdir, ...)` profiles running programs,
`with profile() as p: for batch in steps(batches): ...` records the program itself: `p.run`,
`ProfileData` has the classes and methods of `jax.profiler.ProfileData`.

    import tpu_profile_plugin as tp

    run = tp.open("/path/to/logdir").run()           # the newest recording
    ops = run.ops()                                  # the ops with most self time first
    for name, ps, share in zip(ops.name[:3], ops.self_ps, ops.share):
        print(f"{name}: {ps / 1e9:.3f} ms, {share:.1%} of the devices' time")

A run also has `steps()`, `kernels()`, `budget()`, `communication()`, `memory()`, `programs()`, `findings()`,
`compare(base)`, and `table(tool, name)` for the tables of the pages, with `to_pandas()` and `to_arrow()`. Times are
picoseconds. What a profile lacks raises `errors.NoData`. `open(logdir).sql("SELECT ...")` reads all runs. More:
help(tpu_profile_plugin.opening.OpenRun).
"""

from __future__ import annotations

import importlib
from typing import Any

from tpu_profile_plugin.version import __version__

__all__ = ["ProfileData", "__version__", "capture", "keras_steps", "open", "profile", "steps"]


def open(source: Any, executor: str = "") -> Any:
    """An `opening.OpenLogdir`, with `runs()` and `run(name)`.

    Raises NotFound if a file does not exist, BadRequest for what holds no profile, CorruptProfile for bytes that no
    format has, and NotAvailable for a `jax.profiler.ProfileData`, which does not give its bytes.

    Args:
      source: path or URL of a logdir. A `.xplane.pb` file is a logdir of one run, and so are its bytes, an XSpace as a
        protobuf message, and a `ProfileData` of this package.
      executor: where runs of many hosts are read, like the flag --profile_executor.
    """
    # By name, because every package imports this module and must not depend on `opening` through it.
    return importlib.import_module("tpu_profile_plugin.opening").OpenLogdir(source, executor)


def __getattr__(name: str) -> Any:
    # Imported on first access; the package `capture` is callable.
    if name == "capture":
        return importlib.import_module("tpu_profile_plugin.capture")
    if name == "ProfileData":
        return importlib.import_module("tpu_profile_plugin.profile_data").ProfileData
    if name in ("keras_steps", "profile", "steps"):
        return getattr(importlib.import_module("tpu_profile_plugin.recording"), name)
    raise AttributeError(name)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext tpu_profile_plugin`: the magic `%%profile` for cells."""
    importlib.import_module("tpu_profile_plugin.recording.magics").register(shell)
