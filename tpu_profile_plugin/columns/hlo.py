"""The HLO modules of a profile: entries of its metadata planes that hold a serialized HloProto."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns import stats
from tpu_profile_plugin.columns.space import Plane, XSpace
from tpu_profile_plugin.columns.tables import NO_TEXT, Kind

MAX_CHECKED_BYTES = 16 << 20
"""Bytes of HLO modules that `broken_modules` checks."""

_PLANE = "/host:metadata"
_MAX_DIGITS = 20  # of an unsigned 64-bit number
_NAMED_ID = re.compile(r".*\(([0-9]+)\)")
_PROTO_STATS = ("Hlo Proto", "HLO Proto")  # the current name and that of old files


@dataclass(frozen=True, slots=True)
class HloModule:
    """One module: `name` is "module(program_id)" as in all tools, `proto` the text value of its HloProto."""

    name: str
    program_id: int
    proto: int


def is_metadata_plane(name: str) -> bool:
    """Whether a plane of this name may hold HLO modules."""
    return name.startswith(_PLANE)


def hlo_modules(space: XSpace) -> tuple[HloModule, ...]:
    """The modules in file order, the first of each program id; `space.blob(module.proto)` returns the HloProto."""
    by_program_id: dict[int, HloModule] = {}
    for plane in space.planes:
        if is_metadata_plane(plane.name):
            for module in _modules(space, plane):
                by_program_id.setdefault(module.program_id, module)
    return tuple(by_program_id.values())


def broken_modules(space: XSpace, modules: Iterable[HloModule]) -> Iterator[tuple[str, str, int]]:
    """(name, message, byte offset) of the modules that do not decode, among the first MAX_CHECKED_BYTES of modules."""
    remaining = MAX_CHECKED_BYTES
    for module in modules:
        remaining -= len(space.blob(module.proto))
        if remaining < 0:
            return
        try:
            _native.hlo_program(space.data, module.proto)
        except _native.DecodeError as error:
            message, offset = error.args
            yield module.name, message, offset


def _modules(space: XSpace, plane: Plane) -> Iterator[HloModule]:
    table = plane.event_metadata
    program_ids, present = stats.ints(space, plane, table.stats, "program_id")
    for name in _PROTO_STATS:
        index = table.stats.find(plane.stat_metadata.row(name))
        rows = [row for row in (index >= 0).nonzero()[0].tolist() if table.stats.kind[index[row]] == Kind.BYTES]
        entry_ids = {row: _entry_id(table.names[row], int(table.id[row])) for row in rows}
        for row in sorted(rows, key=lambda row: entry_ids[row] == int(table.id[row]) % 2**64):  # ids in names win
            proto = int(table.stats.value[index[row]])
            program_id = int(program_ids[row]) % 2**64 if present[row] else entry_ids[row]
            yield HloModule(f"{_module_name(space, plane, row, proto)}({program_id})", program_id, proto)


def _entry_id(name: str, id_: int) -> int:
    """The program id of a metadata entry: the id in its name, "module(program_id)", else the entry's id."""
    match = _NAMED_ID.fullmatch(name)
    named = int(match[1]) if match and len(match[1]) <= _MAX_DIGITS else 2**64
    return named if named < 2**64 else id_ % 2**64


def _module_name(space: XSpace, plane: Plane, row: int, proto: int) -> str:
    """The name inside the proto, or that of the metadata entry if the proto does not decode."""
    try:
        value = _native.hlo_module_name(space.data, proto)
    except _native.DecodeError:
        value = NO_TEXT
    if value != NO_TEXT:
        return space.blob(value).decode(errors="replace")
    return plane.event_metadata.names[row].rpartition("(")[0] or plane.event_metadata.names[row]
