"""The verb `gaps`: the longest times in which devices are idle, and what the host did then."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import GAPS
from tpu_profile_plugin.answers.answer import Answer, Link, Next
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.run.catalogue.steps import GAPS_ANSWERED
from tpu_profile_plugin.run.figures.budget import Gaps
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.units import PS_PER_MS

_BASE = "of the time from the first step or op of the host to the last"
_LEAST = 0.05
"""Gaps shorter than this part of the longest are left out."""


def gaps(asked: Asked, *, find: Annotated[str, "Only gaps whose device or host call has this text."] = "") -> Answer:
    """The longest times in which devices run no op, longest first, with the host call under each."""
    found = asked.run.gaps()
    names, calls = _devices(found), _calls(found)
    long = found.duration_ps >= _LEAST * found.duration_ps.max(initial=0)
    text = find.casefold()
    rows = [row for row in np.flatnonzero(long).tolist() if text in f"{names[row]} {calls[row]}".casefold()]
    shares = found.table["percent"]
    table = Table(
        GAPS_ANSWERED,
        {
            "id": [f"{names[row]}:{found.rank[row]}" for row in rows],
            "duration_ps": found.duration_ps[rows],
            "percent": shares[rows],
            "begin_ps": found.begin_ps[rows],
            "steps": [found.steps[row] for row in rows],
            "call": [calls[row] for row in rows],
        },
        name="gaps",
    )
    facts: dict[str, object] = {"gaps_found": len(rows), "shorter_gaps_left_out": int((~long).sum())}
    if rows:
        facts |= {"longest_ps": int(found.duration_ps[rows[0]]), "longest_percent": float(shares[rows[0]])}
    link = {"gap": table["id"][0]} if rows else {}
    return Answer(Link("trace_viewer@", link), facts, table, _BASE, _further(found, rows))


def _calls(found: Gaps) -> list[str]:
    """What the host did under each gap, as the page has it."""
    share = found.table["partial_percent"]
    calls = []
    for row, (call, partial) in enumerate(zip(found.call, found.partial, strict=True)):
        if found.within[row]:
            calls.append("none: between ops of one program")
        elif call:
            calls.append(call)
        elif partial:
            calls.append(f"{partial} ({share[row]:.0f}% of the gap)")
        elif found.traced[row]:
            calls.append("unknown: no host event covers half of it")
        else:
            calls.append("unknown: Python functions were not recorded")
    return calls


def _devices(found: Gaps) -> list[str]:
    """The device of each gap, with its host if there are several, as the page's address has it."""
    several = len(set(found.host_name)) > 1
    pairs = zip(found.host_name, found.device, strict=True)
    return [f"{host}: {device}" if several else device for host, device in pairs]


def _further(found: Gaps, rows: list[int]) -> tuple[Next, ...]:
    """What ran in the longest gaps, one per host call, and all idle time by cause."""
    by_call: dict[str, int] = {}
    for row in rows:
        by_call.setdefault(found.call[row], row)
    further = []
    for row in list(by_call.values())[:3]:
        begin, end = int(found.begin_ps[row]), int(found.begin_ps[row] + found.duration_ps[row])
        arguments: dict[str, str | float] = {"from": begin / PS_PER_MS, "to": end / PS_PER_MS}
        if len(set(found.host_name)) > 1:
            arguments["host"] = found.host_name[row]
        under = f" under {found.call[row]}" if found.call[row] else ""
        further.append(Next("timeline", arguments, f"what ran in the gap of {found.device[row]}{under}"))
    further.append(Next("budget", {}, "idle time of the average step by cause"))
    further.append(Next("explain", {}, "what slows the run down, and what to do"))
    return tuple(further)


VERB = verb(
    gaps,
    needs=GAPS,
)
