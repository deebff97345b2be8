"""Registers of performance counters: addresses, names and counter sets, read from the table of a type of chip.

A table (`v6e.txt`, `v7x.txt`) has a section `= NAME` for each block of registers: its path, base address (hexadecimal),
place and axes (count * stride), then its registers in the order of addresses. `@1b8` sets the offset, a name takes the
offset and moves it by 8, `name_{0-3}` stands for four names, and `[stall vector]` sets the counter sets of the names
that follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

WIDTH = 8
"""Bytes of a register, the distance between neighbours."""

_SECTION = re.compile(r"^= (\w+)\n([^=]+)", re.MULTILINE)
_TOKEN = re.compile(r"\[([^\]]*)\]|@([0-9a-f]+)|(\S+)")
_RANGE = re.compile(r"\{(\d+)-(\d+)\}")


@dataclass(frozen=True, slots=True)
class Register:
    """One counter.

    Attributes:
      name: full name, lower case, as in lists of counters.
      address: its address, which is the id of the counter.
      sets: names of its counter sets, separated by spaces; "" if unknown.
      place: the part of the chip that it belongs to.
      counts: the last part of the name: what it counts.
    """

    name: str
    address: int
    sets: str
    place: str
    counts: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A block that repeats `count` times, `stride` bytes apart."""

    count: int
    stride: int

    @property
    def listed(self) -> list[int]:
        """The indices in the order of lists of counters: as text, so that 10 precedes 1."""
        return sorted(range(self.count), key=lambda index: f"{index}_")


@dataclass(frozen=True)
class Block:
    """A block of registers.

    Attributes:
      path: beginning of the names; `{0}`, `{1}` are indices along the axes.
      base: address of the block with all indices 0.
      place: the part of the chip, with the same placeholders.
      text: the registers in the notation above.
      axes: how the block repeats.
    """

    path: str
    base: int
    place: str
    text: str = field(repr=False)
    axes: tuple[Axis, ...] = ()

    @cached_property
    def offsets(self) -> dict[str, tuple[int, str]]:
        """Offset and sets by the last part of the name, in the order of addresses."""
        return dict(_parse(self.text))

    @cached_property
    def by_name(self) -> list[str]:
        """The last parts of the names in the order of lists of counters: as upper-case text."""
        return sorted(self.offsets, key=str.upper)

    def address(self, name: str, *index: int) -> int:
        """The address of one register; an index per axis."""
        block = self.base + sum(i * axis.stride for i, axis in zip(index, self.axes, strict=True))
        return block + self.offsets[name][0]

    def register(self, name: str, *index: int) -> Register:
        """One register; an index per axis."""
        sets = self.offsets[name][1]
        return Register(
            self.path.format(*index) + name, self.address(name, *index), sets, self.place.format(*index), name
        )

    def find(self, address: int) -> Register | None:
        """The register at an address; strides of the axes are descending, and no part reaches into the next."""
        rest, index = address - self.base, []
        for axis in self.axes:
            index.append(max(0, min(rest // axis.stride, axis.count - 1)))
            rest -= index[-1] * axis.stride
        name = self._name_by_offset.get(rest)
        return None if name is None else self.register(name, *index)

    @cached_property
    def _name_by_offset(self) -> dict[int, str]:
        return {offset: name for name, (offset, _) in self.offsets.items()}


@lru_cache
def blocks(chip: str) -> dict[str, Block]:
    """The blocks of registers of a type of chip ("v6e", "v7x"), by name."""
    table = Path(__file__).with_name(f"{chip}.txt").read_text(encoding="utf-8")
    by_name = {}
    for name, section in _SECTION.findall(table):
        header, _, text = section.partition("[")
        fields = dict(line.split(" ", 1) for line in header.splitlines())
        counts = (axis.split("*") for axis in fields.get("axes", "").split())
        axes = tuple(Axis(int(count), int(stride, 16)) for count, stride in counts)
        by_name[name] = Block(fields["path"], int(fields["base"], 16), fields["place"], f"[{text}", axes)
    return by_name


def _parse(text: str) -> Iterator[tuple[str, tuple[int, str]]]:
    sets, offset = "", 0
    for set_names, new_offset, name in _TOKEN.findall(text):
        if name:
            for register in spelled_out(name):
                yield register, (offset, sets)
                offset += WIDTH
        elif new_offset:
            offset = int(new_offset, 16)
        else:
            sets = " ".join(set_names.split())


def spelled_out(name: str) -> list[str]:
    """The names that a name with a range stands for."""
    match = _RANGE.search(name)
    if not match:
        return [name]
    return [f"{name[: match.start()]}{i}{name[match.end() :]}" for i in range(int(match[1]), int(match[2]) + 1)]
