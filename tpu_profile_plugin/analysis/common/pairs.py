"""Pairs events that open something with those that close it."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import I64, Bools


def pair_in_order(key: I64, opens: Bools) -> tuple[I64, I64]:
    """Pairs openings with closings of the same key, first in first out; both as indices, by closing.

    Args:
      key: per event, in order of time; small numbers. Events with a negative key take no part.
      opens: whether it opens; a closing without an open opening, and an opening that is never closed, have no pair.
    """
    return _native.pair_in_order(np.ascontiguousarray(key, np.int64), np.ascontiguousarray(opens))
