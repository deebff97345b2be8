"""Checks an address without capturing: does the name resolve, is the port open, is it gRPC, is it a profiler?"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tpu_profile_plugin.capture.wire.addresses import Address
from tpu_profile_plugin.capture.wire.allow import AllowList
from tpu_profile_plugin.capture.wire.client import ProfilerClient
from tpu_profile_plugin.capture.wire.dial import find_open_ip, open_channel, resolve
from tpu_profile_plugin.capture.wire.failures import FORBIDDEN, WorkerFailure
from tpu_profile_plugin.errors import Forbidden
from tpu_profile_plugin.units import MS_PER_S

STEPS = ("name", "allowed", "port", "grpc", "profiler")
_WAIT_S = 5.0


def probe(addresses: Sequence[Address], allowed: AllowList) -> list[dict[str, Any]]:
    """One result per address, checked in parallel."""
    with ThreadPoolExecutor(min(len(addresses), 64)) as pool:
        return list(pool.map(lambda address: _probe(address, allowed), addresses))


def _probe(address: Address, allowed: AllowList) -> dict[str, Any]:
    """Runs the steps up to the first failure; `steps` has true, false, or null for steps that were not run."""
    steps: dict[str, bool | None] = dict.fromkeys(STEPS)
    began = time.monotonic()
    failure: WorkerFailure | None = None
    step = "name"
    try:
        ips = resolve(address)
        steps[step], step = True, "allowed"
        ips = allowed.check(address, ips)
        steps[step], step = True, "port"
        ip = find_open_ip(address, ips, _WAIT_S)
        steps[step], step = True, "grpc"
        channel = open_channel(address, ip, _WAIT_S)
        steps[step], step = True, "profiler"
        with ProfilerClient(channel) as client:
            # A random id, because servers remember it and end a later capture with the same id.
            client.terminate(f"probe-{secrets.token_hex(8)}")
        steps[step] = True
    except Forbidden as error:
        failure, steps[step] = WorkerFailure(FORBIDDEN, error.message), False
    except WorkerFailure as error:
        failure, steps[step] = error, False
    return {
        "address": str(address),
        "ok": failure is None,
        "steps": steps,
        "milliseconds": round((time.monotonic() - began) * MS_PER_S, 1),
        "error": failure.describe() if failure is not None else None,
    }
