"""Typed surface of the native core; checked against the built module by stubtest."""

from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_U8: TypeAlias = NDArray[np.uint8]
_U32: TypeAlias = NDArray[np.uint32]
_U64: TypeAlias = NDArray[np.uint64]
_I32: TypeAlias = NDArray[np.int32]
_I64: TypeAlias = NDArray[np.int64]

class DecodeError(ValueError):
    """The bytes of a profile do not decode; args are (message, byte offset)."""

# ---- decode.rs

@final
class PlaneSummary:
    id: int
    name: int
    lines: int
    bytes: int

@final
class SpaceColumns:
    planes: list[PlaneArrays]
    errors: _U64
    warnings: _U64
    hostnames: _U64
    origin_ns: int

@final
class PlaneArrays:
    index: int
    id: int
    name: int
    lines: LineArrays
    events: EventArrays
    event_metadata: EventMetadataArrays
    stat_metadata: StatMetadataArrays
    stats: StatArrays

@final
class LineArrays:
    id: _I64
    display_id: _I64
    name: _U64
    display_name: _U64
    timestamp_ns: _I64
    duration_ps: _I64
    event_start: _I64

@final
class EventArrays:
    metadata: _U32
    begin_ps: _I64
    duration_ps: _I64
    occurrences: _I64 | None
    stats: StatArrays

@final
class EventMetadataArrays:
    id: _I64
    name: _U64
    display_name: _U64
    bytes: _U64
    child_start: _U32
    child_id: _I64
    stats: StatArrays

@final
class StatMetadataArrays:
    id: _I64
    name: _U64
    description: _U64

@final
class StatArrays:
    start: _U32
    key: _U32
    kind: _U8
    value: _U64

def decode_space(data: _U8, threads: int, keep: list[bool] | None, events: bool) -> SpaceColumns: ...
def outline_space(data: _U8) -> list[PlaneSummary]: ...
def texts(data: _U8, values: _U64) -> list[str]: ...
def blob(data: _U8, value: int) -> bytes: ...
def nested_text(data: _U8, value: int, path: list[int]) -> int: ...
def text_codes(data: _U8, values: _U64) -> tuple[_I32, _U64]: ...
def first_stats(start: _U32, key: _U32, row: int) -> _I64: ...
