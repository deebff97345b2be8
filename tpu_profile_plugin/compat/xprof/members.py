"""Takes out of a payload what XProf's answer lacks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.payload import Json, Payload, Raw

_CELLS = frozenset((str, int, float, bool, type(None)))


def as_xprof(payload: Payload, extras: Collection[str]) -> Payload:
    """The payload with XProf's members only.

    Tables lose extra columns, units, sentences and the properties named in `extras`; JSON objects the members of these
    names, at any depth. Raw payloads are returned unchanged.
    """
    if isinstance(payload, Raw) or (isinstance(payload, Json) and payload.xprofs):
        return payload
    return Json(_without(payload.value if isinstance(payload, Json) else payload, extras))


def _without(value: Any, extras: Collection[str]) -> Any:
    if type(value) in _CELLS:  # nearly all values; a comparison of abstract types costs more than the rest
        return value
    if isinstance(value, Table):
        return value.as_xprof(extras)
    if isinstance(value, Mapping):
        return {
            key: member if type(member) in _CELLS else _without(member, extras)
            for key, member in value.items()
            if key not in extras
        }
    if isinstance(value, (list, tuple)):
        return [_without(entry, extras) for entry in value]
    return value
