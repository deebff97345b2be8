"""Temporaries that the compiler puts into the storage of results: how long they live there, by the program's order."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tpu_profile_plugin.analysis.hlo.graph import Links
from tpu_profile_plugin.analysis.hlo.text import HloText
from tpu_profile_plugin.analysis.memory.batch_dims import BatchDims
from tpu_profile_plugin.analysis.memory.history import OUTPUT, MemoryHistory
from tpu_profile_plugin.analysis.memory.scaling import Guests
from tpu_profile_plugin.columns.arrays import Bools

_ALIASES = frozenset(("bitcast", "tuple", "get-tuple-element", "optimization-barrier", "opt-barrier"))
_FARTHEST = 64
"""Aliases of a value are followed so far."""


def guests_of(history: MemoryHistory, scales: Bools, dims: BatchDims) -> Guests:
    """The temporaries that grow with the batch, in the storage of results that does not; `scales`: by piece."""
    layout, buffers = history.layout, history.layout.buffers
    links = Links(layout.program)
    instant = _instants(history, links)
    found = []
    for piece in np.flatnonzero(np.array([one == OUTPUT for one in history.categories], bool) & ~scales).tolist():
        allocation = int(history.allocation[piece])
        for at in buffers.assigned(allocation) if allocation >= 0 else ():
            row = buffers.row_of.get(int(buffers.columns["assigned_buffer"][at]))
            position = None if row is None else buffers.position(row)
            if position is None or position.row is None or not dims.of(position.row, position.index):
                continue
            begin, end = _life(links, instant, position.row)
            found.append((int(buffers.columns["size"][row]), int(history.size[piece]), begin, end))
    columns = np.array(found, np.int64).reshape(-1, 4)
    return Guests(columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3])


def _instants(history: MemoryHistory, links: Links) -> Mapping[int, int]:
    """The first instant at or after which an instruction of the entry computation has run, by its row."""
    program, names = history.layout.program, history.layout.instruction_names
    event: dict[str, int] = {}
    for at, name in enumerate(names):
        event.setdefault(name, at + 1)
    entry = program.entry
    last = 0
    instants: dict[int, int] = {}
    for row in () if entry is None else HloText(program, full=False, metadata=False).in_order(entry):
        last = max(last, min(event.get(program.names[row], last), history.instants - 1))
        instants[row] = last
    return instants


def _life(links: Links, instant: Mapping[int, int], row: int) -> tuple[int, int]:
    """The instants between which a value is in use: from where it is made to the last that reads it or its aliases."""
    begin = instant.get(row, 0)
    end, seen, waiting = begin, {row}, [row]
    while waiting and len(seen) < _FARTHEST:
        for user in links.users(waiting.pop()):
            end = max(end, instant.get(user, begin))
            if links.program.opcodes[user] in _ALIASES and user not in seen:
                seen.add(user)
                waiting.append(user)
    return begin, end
