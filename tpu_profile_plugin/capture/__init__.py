"""Captures profiles from running programs into a logdir; the entry point is `tpu_profile_plugin.capture(...)`.

The package is callable: `capture(addresses, logdir, ...)` is `capture.capture(addresses, logdir, ...)`.
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
    """No worker returned a profile; `details["workers"]` has the reason for each."""

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
      logdir: path or URL; the run is stored below its `plugins/profile`.
      worker_list: ask the first worker to make all of them record (Cloud TPU).
      inspect: counts the events of a received profile; raises CorruptProfile if it does not decode.
      progress: called about five times a second with the current state.
      options: as `CaptureOptions`, e.g. duration_ms=2000, python_tracer_level=1; other names are sent to the profiler.

    Raises:
      CaptureFailed: no worker returned a profile.
      BadRequest, NotAvailable: invalid arguments, or a logdir that cannot be written to.
    """
    return finished(prepare(addresses, logdir, worker_list=worker_list, inspect=inspect, **options), progress)


def finished(job: Job, progress: Callable[[dict[str, Any]], None] | None = None) -> dict[str, Any]:
    """Runs a prepared capture and returns its result; raises CaptureFailed. See `capture`."""
    job.start()
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
    """A capture that is not started yet, with any address allowed; for the command line and scripts."""
    from tpu_profile_plugin.capture.addresses import AllowList, parse_addresses
    from tpu_profile_plugin.capture.job import Job
    from tpu_profile_plugin.capture.options import options_from, split_options

    return Job(
        logdir,
        parse_addresses(addresses),
        options_from(split_options(options)),
        AllowList.everything(),
        inspect=inspect,
        worker_list=worker_list,
    )


class _Callable(ModuleType):
    """Makes the package callable like its main function, even after `import tpu_profile_plugin.capture`."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return capture(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
