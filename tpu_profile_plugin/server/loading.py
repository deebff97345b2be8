"""Imports the tools on first use, because that is slow, and on one thread at a time."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import threading

# Tools and captures share it, and the first of each may be requested at the same time.
import tpu_profile_plugin.protos.wire  # noqa: F401

_LOCK = threading.Lock()
_loaded = False


def load_tools(*, alone: bool = True) -> None:
    """Imports everything that answers need; raises import errors, and tries again at the next call.

    `alone`: the process is there for the server, and not for a program whose garbage must not stay.

    When several threads import a package from different modules, they may wait for each other: Python detects the
    deadlock and gives one of them an error or a partially initialised module.
    """
    global _loaded
    if _loaded:
        return
    with _LOCK:
        if _loaded:
            return
        # The hundred thousand objects of modules live as long as the server. A full garbage collection visits all of
        # them, takes 55 ms under TensorBoard, and would double the time of some of the first answers.
        collects = gc.isenabled()
        gc.disable()
        try:
            _import()
            if alone:
                gc.freeze()
        finally:
            if collects:
                gc.enable()
        _loaded = True


def _import() -> None:
    import tpu_profile_plugin.run.facts
    import tpu_profile_plugin.run.figures
    import tpu_profile_plugin.run.kept
    import tpu_profile_plugin.tools.registry
    import tpu_profile_plugin.workers.executor
    from tpu_profile_plugin import protos
    from tpu_profile_plugin.cache.files import build_identity
    from tpu_profile_plugin.compat import wing

    for figure in pkgutil.iter_modules(tpu_profile_plugin.run.figures.__path__):
        importlib.import_module(f"{tpu_profile_plugin.run.figures.__name__}.{figure.name}")
    # What every first answer needs.
    protos.load()
    build_identity()
    wing()
