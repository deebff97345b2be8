"""Answers of tools: their encoding, their tables, and the hosts missing from them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, Literal

import numpy as np

from tpu_profile_plugin.errors import Problem
from tpu_profile_plugin.run.host import Engine
from tpu_profile_plugin.tables.datatable import datatable_json
from tpu_profile_plugin.tables.document import Document, document_json, integers_json, tables_of
from tpu_profile_plugin.tables.table import Table

JSON_TYPE = "application/json"
BINARY_TYPE = "application/octet-stream"
LEFT_OUT_HEADER = "X-Profile-Left-Out"
READ_BY_HEADER = "X-Profile-Read-By"
_LONGEST_REASON = 400
_MOST_IN_HEADER = 20
"""Maximum number of hosts in the header, since proxies limit its size; `count` is the total."""


@dataclass(frozen=True)
class Json:
    """An answer that is a JSON value.

    It may contain tables, dataclasses and arrays of integers at any depth; numbers that are not finite become null.

    Attributes:
      value: the value.
    """

    value: Any


@dataclass(frozen=True)
class Raw:
    """An answer that is ready-made bytes.

    Attributes:
      body: the bytes.
      content_type: e.g. "application/json" or "application/octet-stream".
      disk: whether the answer may be kept in the cache on disk; None: yes, unless it is binary (windows of the
        timeline are many, and cheap to make again).
      memory: whether it may be kept in memory; not worth it for large answers that are cheap to make again.
      encoding: "gzip" when the bytes are compressed already; "" when they are plain.
      headers: further headers of the answer, e.g. Content-Disposition.
    """

    body: bytes
    content_type: str = JSON_TYPE
    disk: bool | None = None
    headers: tuple[tuple[str, str], ...] = ()
    encoding: Literal["", "gzip"] = ""
    memory: bool = True


Payload = Document | Table | tuple[Table, ...] | Json | Raw


def encode(payload: Payload) -> Raw:
    """The bytes of a payload and their content type."""
    if isinstance(payload, Raw):
        return payload
    if isinstance(payload, Document):
        return Raw(document_json(payload))
    return Raw(_json(payload.value if isinstance(payload, Json) else payload))


def tables_in(payload: Payload) -> dict[str, Table]:
    """All tables of a payload in order, by name (`document.tables_of`)."""
    return {} if isinstance(payload, Raw) else dict(tables_of(payload.value if isinstance(payload, Json) else payload))


def left_out_header(left_out: Sequence[Problem]) -> tuple[str, str]:
    """The response header (name, value); the value is ASCII JSON, `{"count": n, "hosts": [...]}`."""
    value = {"count": len(left_out), "hosts": [host.describe() for host in left_out[:_MOST_IN_HEADER]]}
    return LEFT_OUT_HEADER, json.dumps(value)


def read_by_header(engines: Sequence[tuple[Engine, int]]) -> tuple[str, str]:
    """The response header (name, value) that says where hosts were read, as an ASCII JSON list."""
    value = [
        {"name": engine.name, "hosts": hosts, "reason": engine.reason[:_LONGEST_REASON], "fallback": engine.fallback}
        for engine, hosts in engines[:_MOST_IN_HEADER]
    ]
    return READ_BY_HEADER, json.dumps(value)


def with_left_out(payload: Payload, left_out: Sequence[Problem]) -> Payload:
    """Adds the hosts to a payload: as property `left_out` of its first table, or as that key of a JSON object.

    Raw payloads are returned unchanged; the header and the tools' own diagnostics list the hosts.
    """
    hosts = [host.describe() for host in left_out]
    if isinstance(payload, Document):
        return replace(payload, left_out=hosts)
    value = payload.value if isinstance(payload, Json) else payload
    if isinstance(value, Table):
        return value.with_properties({"left_out": json.dumps(hosts)})
    if isinstance(value, (tuple, list)) and value and isinstance(value[0], Table):
        entries = (value[0].with_properties({"left_out": json.dumps(hosts)}), *value[1:])
        return Json(entries) if isinstance(payload, Json) else entries
    return Json({**value, "left_out": hosts}) if isinstance(value, dict) else payload


def _json(value: Any) -> bytes:
    if isinstance(value, Table):
        return datatable_json(value)
    if is_dataclass(value):
        return document_json(value)
    if isinstance(value, np.ndarray):
        return integers_json(value) if value.dtype.kind in "iu" else _json(value.tolist())
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    except ValueError:
        return _json(_finite(value))
    except TypeError:  # it contains a table, a dataclass or an array
        if isinstance(value, Mapping):
            return b"{" + b",".join(_json(str(key)) + b":" + _json(member) for key, member in value.items()) + b"}"
        if isinstance(value, (list, tuple)):
            return b"[" + b",".join(map(_json, value)) + b"]"
        raise


def _finite(value: Any) -> Any:
    """The value with null for numbers that are not finite."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
