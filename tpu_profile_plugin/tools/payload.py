"""The forms an answer of a tool may take, and their encoding."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tpu_profile_plugin.tables.json_text import Member, integers_as_json, records_as_json
from tpu_profile_plugin.tables.table import Table

JSON_TYPE = "application/json"
BINARY_TYPE = "application/octet-stream"


@dataclass(frozen=True)
class Json:
    """An answer that is a JSON value; numbers that are not finite become null, as in tables."""

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


@dataclass(frozen=True, eq=False)
class Records:
    """A JSON list of objects with the same members, of which there may be thousands.

    Attributes:
      columns: the members, all of equal length.
    """

    columns: Mapping[str, Member]


Payload = Table | tuple[Table, ...] | Json | Raw


def encode(payload: Payload) -> Raw:
    """Turns any payload into bytes with a content type."""
    if isinstance(payload, Raw):
        return payload
    if isinstance(payload, Table):
        return Raw(payload.to_json())
    if isinstance(payload, tuple):
        return Raw(b"[" + b",".join(table.to_json() for table in payload) + b"]")
    try:
        text = _dumps(payload.value)
    except ValueError:
        text = _dumps(_finite(payload.value))
    return Raw(text.encode("utf-8", "replace"))


def _dumps(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    """The same value with null for numbers that are not finite."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def encode_object(value: Any) -> bytes:
    """A JSON object that has tables, records or arrays of integers among its members, at any depth."""
    if isinstance(value, dict):
        return (
            b"{" + b",".join(encode_object(key) + b":" + encode_object(member) for key, member in value.items()) + b"}"
        )
    if isinstance(value, np.ndarray):
        return integers_as_json(value)
    if isinstance(value, Records):
        return records_as_json(value.columns)
    return encode(value if isinstance(value, Table) else Json(value)).body
