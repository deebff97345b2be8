"""Resolves names of Cloud TPUs to the addresses of its workers with the cloud's metadata and TPU services."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from tpu_profile_plugin.capture.wire.addresses import Address, parse_address
from tpu_profile_plugin.errors import BadRequest, NotAvailable, NotFound
from tpu_profile_plugin.units import MIB

PROFILER_PORT = 8466
"""The port of the profiler server of a Cloud TPU worker."""

METADATA = "http://metadata.google.internal/computeMetadata/v1/"
TPU_API = "https://tpu.googleapis.com/v2/"
INSTEAD = (
    "Enter the workers' addresses instead, such as 10.0.0.2:8466 (the output of `gcloud compute tpus tpu-vm describe "
    "NAME` shows them), or forward the port and enter localhost:8466."
)

_PART = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?:projects/(?P<project>[a-z0-9:.-]+)/locations/(?P<zone>{_PART})/nodes/)?(?P<name>{_PART})")
_WAIT_S = 3.0

Fetch = Callable[[str, Mapping[str, str]], bytes]


def resolve_tpus(names: str, fetch: Fetch | None = None) -> tuple[Address, ...]:
    """The workers of TPUs by their names, separated by commas; each worker once. Errors as of `resolve_tpu`."""
    workers = [address for name in names.split(",") for address in resolve_tpu(name, fetch)]
    return tuple(dict.fromkeys(workers))


def resolve_tpu(name: str, fetch: Fetch | None = None) -> tuple[Address, ...]:
    """The workers of a TPU, by its name or its full resource name.

    Raises BadRequest for an invalid name, NotFound for an unknown TPU, NotAvailable without the metadata service.
    """
    match = _NAME.fullmatch(name.strip())
    if match is None:
        raise BadRequest(f"{name.strip()[:100]!r} is not the name of a TPU. {INSTEAD}", parameter="service_addr")
    get = fetch or _fetch
    flavor = {"Metadata-Flavor": "Google"}
    try:
        project = match["project"] or get(f"{METADATA}project/project-id", flavor).decode()
        zone = match["zone"] or get(f"{METADATA}instance/zone", flavor).decode().rsplit("/", 1)[-1]
        token = json.loads(get(f"{METADATA}instance/service-accounts/default/token", flavor))["access_token"]
    except (OSError, ValueError, KeyError) as error:
        message = f"The name of a TPU can be resolved only on a machine of its cloud project. {INSTEAD}"
        raise NotAvailable(message, tpu=match["name"]) from error
    resource = f"projects/{urllib.parse.quote(project)}/locations/{urllib.parse.quote(zone)}/nodes/{match['name']}"
    try:
        node = json.loads(get(TPU_API + resource, {"Authorization": f"Bearer {token}"}))
    except urllib.error.HTTPError as error:
        if error.code == 404:
            message = f"There is no TPU named {match['name']!r} in {zone}."
            raise NotFound(message, code="tpu_not_found", tpu=match["name"]) from error
        message = f"The TPU service refused to describe {match['name']!r} (status {error.code}). {INSTEAD}"
        raise NotAvailable(message, tpu=match["name"]) from error
    except (OSError, ValueError) as error:
        raise NotAvailable(f"The TPU service does not respond. {INSTEAD}", tpu=match["name"]) from error
    return _workers(match["name"], node)


def _workers(name: str, node: Any) -> tuple[Address, ...]:
    endpoints = node.get("networkEndpoints", []) if isinstance(node, dict) else []
    workers = [parse_address(str(end["ipAddress"]), PROFILER_PORT) for end in endpoints if end.get("ipAddress")]
    if not workers:
        state = str(node.get("state", "unknown")) if isinstance(node, dict) else "unknown"
        message = f"TPU {name!r} has no workers (its state: {state[:40]})."
        raise NotFound(message, code="tpu_not_found", tpu=name)
    return tuple(workers)


def _fetch(url: str, headers: Mapping[str, str]) -> bytes:
    request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310 - only the two services above
    with urllib.request.urlopen(request, timeout=_WAIT_S) as answer:  # noqa: S310
        body: bytes = answer.read(MIB)
        return body
