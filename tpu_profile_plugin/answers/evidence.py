"""Evidence of findings: its value as text, and the verbs that show more of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from tpu_profile_plugin.analysis.findings.model import Evidence
from tpu_profile_plugin.answers.answer import Next
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_NS, PS_PER_S, PS_PER_US, duration

MOST_NEXT = 6
_PS = {"s": PS_PER_S, "ms": PS_PER_MS, "us": PS_PER_US, "ns": PS_PER_NS}
_CELL = re.compile(r"((?:\\.|[^\\;~])*)~((?:\\.|[^\\;~])*)")

ProgramOf = Callable[[str, str], str]
"""(name of an op, id of its program) -> the id of the op for the verb `op`."""


def value_text(value: float | str, unit: str) -> str:
    """A value of evidence with its unit, such as "16.23 ms" or "44.5%"."""
    if not isinstance(value, (int, float)):
        return " ".join(part for part in (str(value).removeprefix("$"), unit) if part)
    if unit in _PS:
        return duration(round(value * _PS[unit]))
    text = f"{value:.1f}" if unit == "%" else f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return f"{text}{'' if unit in ('', '%') else ' '}{unit}"


def _written(line: tuple[str, int]) -> str:
    return f"{line[0]}:{line[1]}"


def further(evidence: Iterable[Evidence], hosts: int, op_id: ProgramOf) -> Iterator[Next]:
    """What to ask for more about each evidence of a finding, in its order.

    `hosts`: of the run; with several, the host that the evidence is about is named.
    """
    for one in evidence:
        for following in _verbs(one, op_id):
            host = {"host": one.query["host"]} if hosts > 1 and "host" in one.query else {}
            yield Next(following.verb, {**host, **following.arguments}, following.why)


def first(following: Iterable[Next]) -> tuple[Next, ...]:
    """The most useful of them, `MOST_NEXT` in all: of each verb the one with most arguments, then the others.

    Questions without arguments, which are not about the evidence alone, come after those with some.
    """
    listed: list[Next] = []
    for one in following:
        if not any((one.verb, one.arguments) == (known.verb, known.arguments) for known in listed):
            listed.append(one)
    heads = {one.verb: max((of for of in listed if of.verb == one.verb), key=_precision) for one in listed}
    ordered = sorted(heads.values(), key=lambda one: not _precision(one))
    return tuple([*ordered, *(one for one in listed if one not in ordered)][:MOST_NEXT])


def _precision(one: Next) -> int:
    """How many arguments it has besides the host."""
    return len(one.arguments.keys() - {"host"})


def _verbs(one: Evidence, op_id: ProgramOf) -> Iterator[Next]:
    """The verbs that show what the page of this evidence shows."""
    cells = _cells(one.query)
    match one.tool.rstrip("@"):
        case "hlo_stats" | "roofline_model" if "hlo_op_name" in cells:
            name = cells["hlo_op_name"]
            why = "times, work, bound, shapes and source of this op"
            yield Next("op", {"name": op_id(name, cells.get("program_id", ""))}, why)
            if one.code is not None:
                yield Next("source", {"place": _written(one.code)}, "all ops of this line of code")
        case "hlo_stats" | "roofline_model":
            yield Next("ops", {}, "the ops with most time")
        case "framework_op_stats":
            yield Next("ops", {"find": one.query["filter"]} if "filter" in one.query else {}, "the ops of this kind")
        case "trace_viewer" if "window" in one.query:
            begin, end = (round(int(text) / PS_PER_MS, 6) for text in one.query["window"].split(","))
            find = {"find": one.query["find"]} if "find" in one.query else {}
            yield Next("timeline", {"from": begin, "to": end, **find}, f"what ran around it: {one.label}")
        case "communication":
            name = cells.get("op", "")
            yield Next("collectives", {"find": name} if name else {}, "times, waits and late devices of collectives")
        case "memory_profile" | "memory_viewer":
            program = one.query.get("module_name", "")
            yield Next("memory", {"program": program} if program else {}, "peak, capacity and the largest buffers")
        case _:
            pass


def _cells(query: Mapping[str, str]) -> dict[str, str]:
    """The cells of the row that the page marks, by column."""
    marked = query.get("row") or query.get("t1.row") or ""
    return {column: re.sub(r"\\(.)", r"\1", text) for column, text in _CELL.findall(marked)}
