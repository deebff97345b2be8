"""Descriptions of performance counters, derived from the words of their names."""

from __future__ import annotations

from functools import cache, lru_cache

from tpu_profile_plugin.analysis.common.data_files import rows
from tpu_profile_plugin.analysis.counters.registers import Register
from tpu_profile_plugin.analysis.counters.units import Chip, chip


@cache
def _words() -> dict[str, str]:
    """Text of each word that a description spells out."""
    return {word: " ".join(text) for word, *text in rows(__file__, "words.txt")}


def find(device_type: str, id: int) -> Register | None:
    """The register with this id on this type of device; None if unknown."""
    known = chip(device_type)
    return _found(known, id) if known else None


@lru_cache(maxsize=1 << 14)
def _found(known: Chip, id: int) -> Register | None:
    registers = (block.find(id) for block in known.blocks.values())
    return next((register for register in registers if register), None)


def describe(register: Register) -> str:
    """A phrase such as "Vector load instruction 0 (TensorCore)."."""
    words = " ".join(_words().get(word, word) for word in register.counts.split("_"))
    return f"{words[:1].upper()}{words[1:]} ({register.place})."
