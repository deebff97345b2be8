"""Ops in answers: their ids, the page that shows them, and the questions about each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tpu_profile_plugin.analysis.findings.places import cell
from tpu_profile_plugin.answers.answer import Link, Next
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.figures.ops import OpRates, Place
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


BASES: dict[Place, str] = {
    "device": "of the time of all devices in the recording, idle time included",
    "cpu": "of the time from the first to the last op of the CPU backend, or of the ops' time if that is longer",
    "framework device": "of the time of all devices in the recording, idle time included",
    "framework host": "of the recorded time of the host's threads with ops, idle time included",
}
"""What `share_percent` is a share of."""


def page_of(ops: OpRates) -> str:
    """The tool that shows the ops."""
    return "framework_op_stats" if ops.rates is None else "hlo_stats"


def link_to(ops: OpRates, name: str, program_id: int) -> Link:
    """The page with the row of an op marked."""
    if ops.rates is None:
        return Link(page_of(ops), {"t1.row": cell("operation", name)})
    return Link(page_of(ops), {"row": f"{cell('hlo_op_name', name)};{cell('program_id', str(program_id))}"})


def next_op(ops: OpRates, at: int, why: str = "its rates, limit, source and what is fused into it") -> Next:
    """The question about one op."""
    return Next("op", {"name": ops.id[at]}, why)


def next_source(place: str) -> Next:
    """The question about a source line."""
    return Next("source", {"place": place}, "all ops from this line, and their time together")
