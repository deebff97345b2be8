"""Adds the hosts that a multi-host answer leaves out to its headers and its payload."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from tpu_profile_plugin.run.hosts import LeftOutHost
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.payload import Json, Payload

HEADER = "X-Profile-Left-Out"
_NAMED = 20
"""Maximum number of hosts in the header, since proxies limit its size; `count` is the total."""


def header(left_out: Sequence[LeftOutHost]) -> tuple[str, str]:
    """The response header (name, value); the value is ASCII JSON, `{"count": n, "hosts": [...]}`."""
    value = {"count": len(left_out), "hosts": [host.describe() for host in left_out[:_NAMED]]}
    return HEADER, json.dumps(value)


def with_left_out(payload: Payload, left_out: Sequence[LeftOutHost]) -> Payload:
    """Adds the hosts to a payload: as property `left_out` of its first table, or as that key of a JSON object.

    Raw payloads are returned unchanged; the header and the tools' own diagnostics list the hosts.
    """
    hosts = [host.describe() for host in left_out]
    if isinstance(payload, Table):
        return replace(payload, properties={**payload.properties, "left_out": json.dumps(hosts)})
    if isinstance(payload, tuple) and payload:
        first = with_left_out(payload[0], left_out)
        assert isinstance(first, Table)
        return (first, *payload[1:])
    if isinstance(payload, Json) and isinstance(payload.value, dict):
        return Json({**payload.value, "left_out": hosts})
    return payload
