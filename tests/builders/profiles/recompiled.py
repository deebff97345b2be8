"""A profile as if its programs had been compiled again: other numbers of instructions, other names of modules."""

from __future__ import annotations

import re
from typing import Any

from builders.messages import XSpace
from tpu_profile_plugin.protos import message

_NUMBERED = re.compile(r"\b([A-Za-z_][\w-]*)\.(\d+)\b")
_MODULE = re.compile(r"\b((?:jit|pmap)_\w+)")
HloProto: Any = message("xla.HloProto")


def renamed(text: str) -> str:
    """Instructions get numbers 1000 higher, modules a suffix."""
    higher = _NUMBERED.sub(lambda found: f"{found[1]}.{int(found[2]) + 1000}", text)
    return _MODULE.sub(r"\1_again", higher)


def recompiled(profile: bytes) -> bytes:
    """Equal times, other names."""
    space = XSpace.FromString(profile)
    for plane in space.planes:
        kept = {key for key, one in plane.stat_metadata.items() if one.name in ("tf_op", "source")}
        for one in plane.event_metadata.values():
            one.name, one.display_name = renamed(one.name), renamed(one.display_name)
            for stat in one.stats:
                _rename(stat, kept)
        for one in plane.stat_metadata.values():
            one.name = renamed(one.name) if "/" not in one.name else one.name
        for line in plane.lines:
            for event in line.events:
                for stat in event.stats:
                    _rename(stat, kept)
    made: bytes = space.SerializeToString()
    return made


def _rename(stat: Any, kept: set[int]) -> None:
    """Renames what a stat holds unless it is what a framework calls the op."""
    kind = stat.WhichOneof("value")
    if kind == "str_value" and stat.metadata_id not in kept:
        stat.str_value = renamed(stat.str_value)
    elif kind == "bytes_value" and (program := _program(stat.bytes_value)) is not None:
        stat.bytes_value = program


def _program(data: bytes) -> bytes | None:
    """A renamed HLO program; None for other bytes."""
    try:
        proto = HloProto.FromString(data)
    except Exception:
        return None
    module = proto.hlo_module
    if not module.computations:
        return None
    module.name = renamed(module.name)
    for computation in module.computations:
        computation.name = renamed(computation.name)
        for instruction in computation.instructions:
            instruction.name = renamed(instruction.name)
    made: bytes = proto.SerializeToString()
    return made
