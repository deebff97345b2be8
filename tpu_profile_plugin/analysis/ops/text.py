"""Classifies ops by name, HLO text and category."""

from __future__ import annotations

WITH_INNER_OPS = frozenset(("call", "conditional", "while", "megacore fusion"))
"""Categories of ops that contain other ops; counting both would count time and cost twice."""


def is_rematerialized(expression: str, provenance: str) -> bool:
    """True if the op recomputes a value to save memory."""
    return ".remat" in expression.partition("=")[0] or "rematted_computation" in provenance


def is_transfer(category: str) -> bool:
    """True for infeed and outfeed."""
    return "infeed" in category or "outfeed" in category


def may_have_inner_ops(category: str) -> bool:
    """True if the op's time includes that of other ops."""
    return category in WITH_INNER_OPS
