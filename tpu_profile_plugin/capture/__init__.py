"""Asks running programs for a profile and stores it in a logdir; `tpu_profile_plugin.capture(...)` is the way in.

The package can be called: `capture(addresses, logdir, ...)` is `capture.capture(addresses, logdir, ...)`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.errors import ProfileError

if TYPE_CHECKING:
    from tpu_profile_plugin.capture.job import Inspect, Job


class CaptureFailed(ProfileError):
    """No worker gave a profile; `details["workers"]` says for each why."""

    code = "capture_failed"
    status = 502


def capture(
    addresses: str | Iterable[str],
    logdir: str,
    *,
    worker_list: bool = False,
    inspect: Inspect | None = None,
    progress: Callable[[dict[str, Any]], None] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Captures from profiler servers, waits, and returns the result: `run`, `workers`, `warnings`.

    Args:
      addresses: "host:port", several in a comma list or as a list.
      logdir: where to store, path or URL; the run appears below `plugins/profile`.
      worker_list: ask the first worker to make all of them record (Cloud TPU).
      inspect: counts the events of a profile that arrived, and refuses what is none.
      progress: called about five times a second with the state so far.
      options: as `CaptureOptions`, e.g. duration_ms=2000, python_tracer_level=1; other names go to the profiler.

    Raises:
      CaptureFailed: when no worker gave a profile.
      BadRequest, NotAvailable: for arguments that cannot work.
    """
    job = prepare(addresses, logdir, worker_list=worker_list, inspect=inspect, **options).start()
    try:
        while not job.wait(0.2):
            if progress is not None:
                progress(job.describe())
    except BaseException:
        job.cancel()
        job.wait(5.0)
        raise
    result = job.describe()
    if job.state != "done":
        raise CaptureFailed(job.summary(), workers=result["workers"])
    return result


def prepare(
    addresses: str | Iterable[str],
    logdir: str,
    *,
    worker_list: bool = False,
    inspect: Inspect | None = None,
    **options: Any,
) -> Job:
    """A capture that is not started yet, to any address: for people who act on their own behalf."""
    from tpu_profile_plugin.capture.addresses import parse_addresses
    from tpu_profile_plugin.capture.allow import AllowList
    from tpu_profile_plugin.capture.job import Job
    from tpu_profile_plugin.capture.options import OPTION_NAMES, options_from

    given = {name: value for name, value in options.items() if name in OPTION_NAMES}
    given["advanced"] = {name: value for name, value in options.items() if name not in OPTION_NAMES} | dict(
        options.get("advanced") or {}
    )
    return Job(
        logdir,
        parse_addresses(addresses),
        options_from(given),
        AllowList.everything(),
        inspect=inspect,
        worker_list=worker_list,
    )


class _Callable(ModuleType):
    """Lets the package be called like its main function, whether or not it was imported as a package before."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return capture(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
