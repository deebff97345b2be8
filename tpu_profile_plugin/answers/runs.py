"""Which run to compare with another."""

from __future__ import annotations

from collections.abc import Sequence


def run_before(name: str, newest_first: Sequence[str]) -> str | None:
    """The run before this one: of the same directory if there is one, else of any; None for the oldest."""
    older = newest_first[newest_first.index(name) + 1 :] if name in newest_first else ()
    folder = name.rpartition("/")[0]
    return next((one for one in older if one.rpartition("/")[0] == folder), next(iter(older), None))
