"""Flows: the events at the two ends of an arrow in the trace viewer, as encoded flow numbers."""

from __future__ import annotations

import zlib

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import is_device
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.grouping.event_names import GPU_LAUNCH, LAST_CONTEXT
from tpu_profile_plugin.analysis.grouping.mutators import Links, mix
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64, U32, U64

IN, OUT = 1, 2
_ID_BITS, _ID_SHIFT, _CATEGORY_SHIFT = 56, 2, 58


def flow_values(direction: int, host: int, types: I64, ids: I64) -> U64:
    """Flow numbers of contexts: direction | id << 2 | category << 58; unknown categories become 0."""
    category = np.where((types >= 0) & (types <= LAST_CONTEXT), types, 0).astype(np.uint64)
    number = mix(np.full(len(types), host, dtype=np.int64), types, ids) >> np.uint64(64 - _ID_BITS)
    value: U64 = np.uint64(direction) | number << np.uint64(_ID_SHIFT) | category << np.uint64(_CATEGORY_SHIFT)
    return value


def flows(plane: Plane, stat_columns: StatColumns, links: Links, hostname: str) -> tuple[U32, U64]:
    """Flows of a plane of a host, events ascending; per event in the order: file, launch, produced, consumed."""
    # A number per host, the same in every process: equal contexts of two hosts are two flows.
    host = zlib.crc32(hostname.encode("utf-8", "replace"))
    sources: list[tuple[I64, U64]] = []
    recorded = stat_columns.ints("flow")
    if len(recorded):
        sources.append((recorded.event, recorded.value.view(np.uint64)))
    launch = stat_columns.ints("correlation_id")
    if len(launch):
        direction = IN if is_device(plane.name) else OUT
        types = np.full(len(launch), GPU_LAUNCH, dtype=np.int64)
        sources.append((launch.event, flow_values(direction, host, types, launch.value)))
    for direction, side in ((OUT, links.producers), (IN, links.consumers)):
        if len(side):
            sources.append((side.event, flow_values(direction, host, side.type, side.id)))
    event, value = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
    for own_event, own_value in sources:
        if len(event) == 0:
            event, value = own_event, own_value
            continue
        take = _native.merge_rows(event, own_event, False)
        event, value = np.concatenate([event, own_event])[take], np.concatenate([value, own_value])[take]
    return event.astype(np.uint32), value
