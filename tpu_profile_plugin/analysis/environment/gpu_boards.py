"""Peak rates of GPUs by data type, from the data sheets in `gpu_boards.txt`."""

from __future__ import annotations

from functools import cache

from tpu_profile_plugin.analysis.common.data_files import rows

DTYPES = ("fp64", "fp32", "tf32", "fp16", "fp8", "fp4", "int8")
"""Data types with rates of their own; bf16 has that of fp16."""
_GIGABYTE = 10**9


@cache
def _boards() -> tuple[tuple[tuple[str, ...], int, dict[str, float]], ...]:
    found = []
    for name, memory, *rates in rows(__file__, "gpu_boards.txt"):
        known = {kind: float(rate) for kind, rate in zip(DTYPES, rates, strict=False) if rate != "-"}
        found.append((tuple(name.lower().split("+")), int(memory), known))
    return tuple(found)


def peaks_by_dtype(name: str, memory_bytes: int) -> dict[str, float]:
    """TFLOP/s of dense matrix products by data type; empty for a board that is not known.

    Args:
      name: of the device, as its driver says it.
      memory_bytes: of the device, 0 if unknown.
    """
    lower = name.lower()
    for parts, least, known in _boards():
        if memory_bytes // _GIGABYTE >= least and all(part in lower for part in parts):
            return known
    return {}
