"""Clock cycles that GPUs take per element of an elementwise operation, from `cycles.txt`."""

from __future__ import annotations

from functools import cache

from tpu_profile_plugin.analysis.common.data_files import rows

_DEFAULT = 3
"""Cycles of operations and types that were not measured, bf16 and f8 among them."""


@cache
def _measured() -> dict[tuple[str, str], int]:
    """Cycles by opcode and element type."""
    return {
        (opcode, kind): int(cycles)
        for opcode, *measured in rows(__file__, "cycles.txt")
        for kind, cycles in zip(measured[::2], measured[1::2], strict=True)
    }


def cycles_per_element(opcode: str, element_type: str) -> int:
    """Cycles per element of the result; `element_type` as HLO text spells it."""
    return _measured().get((opcode, element_type), _DEFAULT)
