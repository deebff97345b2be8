"""Recorded counter events: a row per event of a device with a counter value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from tpu_profile_plugin.analysis.common.planes import GPU_PREFIX, TPU_PREFIX, line_of
from tpu_profile_plugin.analysis.common.rows import file_rows
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns, per_event
from tpu_profile_plugin.analysis.counters import units as recorded
from tpu_profile_plugin.analysis.counters.registers import Register
from tpu_profile_plugin.analysis.counters.units import Chip
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64, U64


@cache
def _words() -> dict[str, str]:
    """Text of each word that a description spells out."""
    return {word: " ".join(text) for word, *text in file_rows(__file__, "words.txt")}


@lru_cache(maxsize=1 << 14)
def _register(chip: Chip, id: int) -> Register | None:
    registers = (block.find(id) for block in chip.blocks.values())
    return next((register for register in registers if register), None)


def describe(register: Register) -> str:
    """A phrase such as "Vector load instruction 0 (TensorCore)."."""
    words = " ".join(_words().get(word, word) for word in register.counts.split("_"))
    return f"{words[:1].upper()}{words[1:]} ({register.place})."


DESCRIPTION, SETS = "performance_counter_description", "performance_counter_sets"


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """The counters of one device, in file order.

    Attributes:
      chip: id of the chip, or of the device if chips are not recorded.
      line: int64[n], id of the line.
      line_name, counter: the line's name, and the counter's in lower case.
      value: uint64[n], values written as integers, else 0.
      reading: float64[n], values of any type.
      description, sets: what the counter counts, and its counter sets; "" if unknown.
    """

    chip: int
    line: I64
    line_name: list[str]
    counter: list[str]
    value: U64
    reading: np.ndarray[tuple[int], np.dtype[np.float64]]
    description: list[str]
    sets: list[str]


def has_values(plane: Plane) -> bool:
    """Whether a plane belongs to a device and declares counter values."""
    return plane.name.startswith((TPU_PREFIX, GPU_PREFIX)) and recorded.declares_values(plane)


def listings(space: XSpace, planes: tuple[Plane, ...]) -> Iterator[Listing]:
    """The counters of each device that has an id."""
    for plane in planes:
        numbers = (recorded.plane_integer(space, plane, name) for name in (recorded.CHIP_ID, recorded.DEVICE_ID))
        number = next((number for number in numbers if number is not None and number != -1), None)
        if number is not None:
            yield _listing(space, plane, number)


def _listing(space: XSpace, plane: Plane, number: int) -> Listing:
    stats = StatColumns(space, plane, plane.events.stats, (recorded.COUNTER_ID, recorded.VALUE, DESCRIPTION, SETS))
    events = stats.owners(recorded.VALUE)
    value = stats.ints(recorded.VALUE).value.view(np.uint64)
    doubles = stats.doubles(recorded.VALUE)[1]
    line = line_of(plane, events)
    names = [name.lower() for name in plane.event_metadata.names]
    metadata = plane.events.metadata[events]
    description, sets = _texts(stats, DESCRIPTION, events), _texts(stats, SETS, events)
    own_id = stats.ints(recorded.COUNTER_ID)
    shared_id = StatColumns(space, plane, plane.event_metadata.stats, (recorded.COUNTER_ID,)).ints(recorded.COUNTER_ID)
    ids = per_event(plane, (own_id.event, own_id.value), (shared_id.event, shared_id.value))[events].view(np.uint64)
    chip = recorded.chip(recorded.device_type(space, plane))
    registers = {id: _register(chip, id) if chip and id else None for id in np.unique(ids).tolist()}
    if any(registers.values()):
        counters = [registers[id] for id in ids.tolist()]
        description = [
            text or (describe(counter) if counter else "") for text, counter in zip(description, counters, strict=True)
        ]
        sets = [(counter.sets if counter else "") or text for text, counter in zip(sets, counters, strict=True)]
    return Listing(
        number,
        plane.lines.id[line],
        [plane.lines.name[row] for row in line.tolist()],
        [names[row] for row in metadata.tolist()],
        value,
        np.where(doubles != 0, doubles, value.astype(np.float64)),
        description,
        sets,
    )


def _texts(stats: StatColumns, name: str, events: I64) -> list[str]:
    owners, code, texts = stats.texts(name)
    choice: I64 = np.full(len(events), -1, np.int64)
    place = np.searchsorted(owners, events)
    inside = place < len(owners)
    hit = np.flatnonzero(inside)[owners[place[inside]] == events[inside]]
    choice[hit] = code[place[hit]]
    choices = [*texts, ""]
    return [choices[code] for code in choice.tolist()]
