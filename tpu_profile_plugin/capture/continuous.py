"""Continuous profiling: a program records all the time and keeps the latest part, for snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.capture.addresses import Address, AllowList, parse_addresses
from tpu_profile_plugin.capture.client import ProfilerClient, connect, profile_request
from tpu_profile_plugin.capture.failures import FORBIDDEN, WorkerFailure
from tpu_profile_plugin.capture.options import CaptureOptions, options_from, split_options
from tpu_profile_plugin.errors import Forbidden

if TYPE_CHECKING:
    from tpu_profile_plugin.capture.job import Inspect, Job

DURATION_MS = 2000
"""The request requires a duration; a continuous recording lasts until it is stopped."""

_MOST_THREADS = 64


def continuous_options(values: Mapping[str, Any]) -> CaptureOptions:
    """The given options over XProf's defaults: devices only (host events pile up), in a circular buffer.

    Raises BadRequest.
    """
    quiet = {"host_tracer_level": 0, "python_tracer_level": 0, "duration_ms": DURATION_MS}
    advanced = {"tpu_circular_buffer_tracing": True, **dict(values.get("advanced") or {})}
    given = {name: value for name, value in values.items() if value not in (None, "")}
    return options_from({**quiet, **given, "advanced": advanced})


def start_on(addresses: Sequence[Address], options: CaptureOptions, allowed: AllowList) -> list[dict[str, Any]]:
    """Starts recording; one result per worker: `address`, `ok`, `error` (null, or as in captures)."""
    request = profile_request(options, "", "", "", 0)
    return _each(addresses, allowed, lambda client: client.start_continuous(request))


def stop_on(addresses: Sequence[Address], allowed: AllowList) -> list[dict[str, Any]]:
    """Stops recording and discards everything since the last snapshot; results as of `start_on`."""
    return _each(addresses, allowed, ProfilerClient.stop_continuous)


def start(addresses: str | Iterable[str], **options: Any) -> list[dict[str, Any]]:
    """Starts continuous profiling in programs ("host:port", several in a comma list or as a list).

    Options are as of `capture`; by default devices are recorded and hosts are not. Returns one result per program with
    `address`, `ok` and `error`. Raises BadRequest.
    """
    return start_on(parse_addresses(addresses), continuous_options(split_options(options)), AllowList.everything())


def stop(addresses: str | Iterable[str]) -> list[dict[str, Any]]:
    """Stops continuous profiling; results as of `start`. Raises BadRequest."""
    return stop_on(parse_addresses(addresses), AllowList.everything())


def snapshot(addresses: str | Iterable[str], logdir: str, *, inspect: Inspect | None = None) -> dict[str, Any]:
    """Stores what was recorded since the start or the last snapshot as a run; recording goes on.

    Returns the result as `capture` does; raises CaptureFailed, BadRequest or NotAvailable.
    """
    from tpu_profile_plugin.capture import finished

    return finished(prepare_snapshot(addresses, logdir, inspect=inspect))


def prepare_snapshot(
    addresses: str | Iterable[str], logdir: str, *, session_id: str | None = None, inspect: Inspect | None = None
) -> Job:
    """A snapshot that is not started yet, without restrictions on addresses."""
    from tpu_profile_plugin.capture.job import Job

    options = snapshot_options(session_id)
    return Job(logdir, parse_addresses(addresses), options, AllowList.everything(), inspect=inspect, snapshot=True)


def snapshot_options(session_id: str | None = None) -> CaptureOptions:
    """Options of a snapshot's job: no delay, no retries (a failed attempt has already taken the data)."""
    return CaptureOptions(duration_ms=1, delay_ms=0, session_id=session_id)


def _each(
    addresses: Sequence[Address], allowed: AllowList, call: Callable[[ProfilerClient], None]
) -> list[dict[str, Any]]:
    with ThreadPoolExecutor(min(len(addresses), _MOST_THREADS)) as pool:
        return list(pool.map(lambda address: _call_worker(address, allowed, call), addresses))


def _call_worker(address: Address, allowed: AllowList, call: Callable[[ProfilerClient], None]) -> dict[str, Any]:
    failure: WorkerFailure | None = None
    try:
        with ProfilerClient(connect(address, allowed)) as client:
            call(client)
    except Forbidden as error:
        failure = WorkerFailure(FORBIDDEN, error.message)
    except WorkerFailure as error:
        failure = error
    return {"address": str(address), "ok": failure is None, "error": None if failure is None else failure.describe()}
