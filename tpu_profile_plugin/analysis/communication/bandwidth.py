"""Bandwidths of collectives, in the terms of NCCL's tests.

The algorithm bandwidth is the message size divided by the time. The bus bandwidth is the rate of the slowest link; it
compares with the hardware's bandwidth for any number of ranks:

    all-reduce                              2 (n - 1) / n
    all-gather, reduce-scatter, all-to-all    (n - 1) / n
    others                                  1

The message is the contribution of one rank (its operands); of an all-gather, the data that every rank receives.
"""

from __future__ import annotations

from tpu_profile_plugin.units import PS_PER_NS

_TWICE = frozenset(("all-reduce",))
_ONCE = frozenset(("all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all"))


def message_bytes(kind: str, operand_bytes: int | None, ranks: int) -> int | None:
    """Size of the message of one run; None if unknown."""
    if operand_bytes is None or (kind == "all-gather" and not ranks):
        return None
    return operand_bytes * ranks if kind == "all-gather" else operand_bytes


def bus_factor(kind: str, ranks: int) -> float:
    """Bus bandwidth over algorithm bandwidth."""
    if ranks < 1:
        return 1.0
    share = (ranks - 1) / ranks
    return 2 * share if kind in _TWICE else share if kind in _ONCE else 1.0


def gigabytes_per_second(size: int | None, time_ps: int) -> float | None:
    """1e9 bytes per second; None if either is unknown."""
    return None if size is None or time_ps <= 0 else size / time_ps * PS_PER_NS
