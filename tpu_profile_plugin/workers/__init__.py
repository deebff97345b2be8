"""Computes the per-host parts of large runs: in this process, in worker processes, or on a Dask cluster.

This module has the option that chooses, without heavy imports, for command lines.
"""

from __future__ import annotations

from typing import Any

from tpu_profile_plugin.system.terminal import LOG as _LOG

EXECUTOR_HELP = (
    'Where runs of many hosts are read: "processes" or "threads" of this machine, or the address of a Dask scheduler, '
    "e.g. tcp://10.0.0.2:8786; its workers need the logdir under the same path "
    "(default: processes for large runs; environment: TPU_PROFILE_EXECUTOR)."
)


def parse_executor(value: Any) -> str:
    """The option for `Executor`; logs and ignores invalid values."""
    chosen = str(value or "").strip()
    if chosen in ("", "processes", "threads") or "://" in chosen:
        return chosen
    _LOG.warning("the executor must be processes, threads or an address like tcp://host:8786, not %r", chosen)
    return ""
