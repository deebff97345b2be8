"""Ids of rows: each once in its table, and those of ops that the verb `op` takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.run import Run


def distinct_ids(names: Iterable[str]) -> list[str]:
    """The names, further ones of equal name numbered: `NAME`, `NAME #2`, ..."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} #{seen[name]}" if seen[name] > 1 else name)
    return found


def op_ids(run: Run, names: Iterable[str]) -> list[str]:
    """Ids of the ops of a run with these names, each once; of programs with an op of one name, that with most time."""
    try:
        ops = run.op_rates()
    except NoData:
        return []
    found = (ops.rows_of_name.get(name) for name in names)
    return list(dict.fromkeys(str(ops.id[rows[0]]) for rows in found if rows))
