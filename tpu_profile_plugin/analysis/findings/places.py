"""Where something shows: address keys of evidence, evidence of lost time, and how events are named in sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tpu_profile_plugin.analysis.blame.host_groups import MOST
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Evidence, OpOf
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS

TIMELINE = "trace_viewer@"
BUDGET = "time_budget"
_SEPARATORS = re.compile(r"[\\,;~]")
"""What the address of a page escapes with a backslash in texts of tables."""


def timeline(host: str, begin_ps: int, end_ps: int, find: str = "") -> Mapping[str, str]:
    """Address keys of the timeline around a span of time on the host's axis, with as much room on each side."""
    room = end_ps - begin_ps
    window = f"{max(begin_ps - room, 0)},{end_ps + room}"
    return {"host": host, "window": window, **({"find": find} if find else {})}


def share_of(label: str, lost: Lost, base: str) -> Evidence:
    """Lost time as a share, with the part of the time budget that has the same number."""
    return Evidence(f"{label}, of the {base}", 100 * lost.share, "%", *_part(lost))


def per_step(label: str, lost: Lost, per: str) -> Evidence:
    """Lost time per step and device, with the part of the time budget that has the same number."""
    return Evidence(f"{label} per {per}", lost.ps / PS_PER_MS, "ms", *_part(lost))


def costs(run: RunView, label: str, lost: Lost) -> tuple[Evidence, Evidence]:
    """Lost time as a share, and per step and device."""
    return share_of(label, lost, run.base), per_step(label, lost, run.per)


def lasting(label: str, host: str, window: tuple[int, int]) -> Evidence:
    """The length of a span of time, and where it is in the timeline."""
    return Evidence(label, (window[1] - window[0]) / PS_PER_MS, "ms", TIMELINE, timeline(host, *window))


def in_timeline(host: str, op: OpOf, longest: tuple[int, int] | None) -> list[Evidence]:
    """The longest run of an op or a collective, if it is known."""
    if longest is None:
        return []
    duration = (longest[1] - longest[0]) / PS_PER_MS
    return [Evidence(f"Longest run of {op.name}", duration, "ms", TIMELINE, timeline(host, *longest, op.name), op)]


def event(label: str, host: str, window: tuple[int, int], name: str) -> Evidence:
    """The name of an event, and where it is in the timeline."""
    return Evidence(label, shown(name), "", TIMELINE, timeline(host, *window, name))


def _part(lost: Lost) -> tuple[str, Mapping[str, str]]:
    return (BUDGET, {"part": lost.segments[0]}) if lost.whole else ("", {})


def cell(column: str, text: str) -> str:
    """A cell of the row that a table marks, as in the address of its page."""
    return f"{column}~{_SEPARATORS.sub(lambda mark: chr(92) + mark[0], text)}"


def most_label(share: float, *, known: str = "op") -> str:
    """The label of evidence that names what has the largest share of something."""
    return "Most of it in" if share > MOST else f"The {known} with the largest part"


def most_in(name: str, share: float, *, known: str = "op", where: str = "in") -> str:
    """What has the largest share of something, for the end of a title: most of it, or how much of it."""
    return f", most of it {where} {name}" if share > MOST else f"; the {known} {name} has the largest part, {share:.0%}"


def shown(event: str) -> str:
    """An event's name in a sentence: a Python function as `file.py:line function`, of a package with its directories,
    a method in C without its file.
    """
    name = event.removeprefix("$").removeprefix("<unknown> ")
    return name.partition("-packages/")[2] or name
