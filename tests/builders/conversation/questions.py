"""Twelve questions about profiles, answered by following `next` from the list of runs: a function each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from builders.conversation.talk import Conversation

Said = Mapping[str, Any]
"""What the agent says: a few figures and texts."""


def which_run_is_slow(talk: Conversation, match: str = "") -> Said:
    """The run of which most could be saved, among those that the list proposes."""
    runs = talk.start(match)
    lost: dict[str, tuple[float, str]] = {}
    while (overview := talk.deeper(runs, "overview")) is not None:
        first = _first(overview)
        lost[overview["from"]["run"]] = first.get("share_percent") or 0.0, overview["answer"]["headline"]
    run = max(lost, key=lambda name: lost[name][0])
    return {"run": run, "headline": lost[run][1]}


def why_is_it_slow(talk: Conversation, run: str) -> Said:
    """The first finding; without one the headline."""
    explained = _explained(talk, run)
    first = _first(explained)
    title = first.get("title", explained["answer"]["headline"])
    return {"cause": first.get("id"), "title": title, "confidence": first.get("confidence")}


def which_line(talk: Conversation, run: str) -> Said:
    """The line that the first finding names."""
    whole = _in_full(talk, run)
    return {"line": whole["answer"].get("line") if whole else None}


def what_would_fixing_gain(talk: Conversation, run: str) -> Said:
    """The most that the first finding could save, with what it is a share of."""
    whole = _in_full(talk, run)
    answer = whole["answer"] if whole else {}
    base = whole["base"] if whole else ""
    return {"share_percent": answer.get("share_percent"), "saving_ms": answer.get("saving_ms"), "base": base}


def is_memory_a_limit(talk: Conversation, run: str) -> Said:
    """The peak of the program or allocator, and the verdict, or why there is none."""
    memory = _about(talk, run, "memory")
    answer, cannot = memory["answer"], memory["cannot_answer"]
    peak = answer.get("peak_bytes", answer.get("in_use_bytes"))
    return {"peak_bytes": peak, "verdict": answer.get("verdict"), "unknown": cannot and cannot["reason"]}


def what_changed(talk: Conversation, match: str) -> Said:
    """What the comparison of the newest run with the one before says first."""
    compared = talk.deeper(talk.start(match), "compare")
    answer, first = compared["answer"], _first(compared)
    return {
        "run": compared["from"]["run"],
        "base": answer["base"],
        "headline": answer["headline"],
        "first": first["id"],
    }


def which_host_is_late(talk: Conversation, run: str) -> Said:
    """The late devices and their hosts; none where no answer leads to collectives."""
    collectives = _about(talk, run, "collectives")
    late = collectives["answer"].get("late_devices", []) if collectives else []
    return {"devices": [one["device"] for one in late], "hosts": sorted({one["host"] for one in late})}


def is_input_the_limit(talk: Conversation, run: str) -> Said:
    """The share of the step that goes to the category input."""
    budget = _about(talk, run, "budget")
    parts = {row["id"]: row["share_percent"] for row in _rows(budget) if row["category"] == "Input"}
    return {"percent": sum(parts.values()), "base": budget["base"]}


def which_op_is_slowest(talk: Conversation, run: str) -> Said:
    """The op with most self time, and its line; why there is none."""
    ops = _about(talk, run, "ops")
    if ops["cannot_answer"]:
        return {"unknown": ops["cannot_answer"]["reason"]}
    op = talk.deeper(ops, "op")["answer"]
    return {"op": op["op"], "source": op.get("source"), "share_percent": op["share_percent"]}


def what_happens_in_the_longest_gap(talk: Conversation, run: str) -> Said:
    """The host call under the longest gap, and what takes most time there."""
    gaps = _about(talk, run, "gaps")
    longest = _first(gaps)
    window = talk.deeper(gaps, "timeline")
    most = _first(window).get("id") if window else None
    return {"call": longest.get("call"), "duration_ms": longest.get("duration_ms"), "most": most}


def does_it_recompile(talk: Conversation, run: str) -> Said:
    """Whether compilation takes time of the steps."""
    explained = _explained(talk, run)
    found = next((one for one in _rows(explained) if one["id"] == "recompilation"), None)
    return {"recompiles": found is not None, "title": found["title"] if found else ""}


def is_communication_exposed(talk: Conversation, run: str) -> Said:
    """The share of the step in exposed collectives, and the collective with most exposed time."""
    overview = _overview(talk, run)
    budget = talk.deeper(overview, "budget")
    parts = {row["id"]: row["share_percent"] for row in _rows(budget)}
    collectives = talk.deeper(overview, "collectives") or talk.deeper(budget, "collectives")
    most = _first(collectives).get("id") if collectives else None
    return {"percent": parts.get("exposed_communication", 0.0), "most_in": most}


QUESTIONS = (
    which_run_is_slow,
    why_is_it_slow,
    which_line,
    what_would_fixing_gain,
    is_memory_a_limit,
    what_changed,
    which_host_is_late,
    is_input_the_limit,
    which_op_is_slowest,
    what_happens_in_the_longest_gap,
    does_it_recompile,
    is_communication_exposed,
)


def _overview(talk: Conversation, run: str) -> Any:
    return talk.deeper(talk.start(run), "overview")


def _explained(talk: Conversation, run: str) -> Any:
    return talk.deeper(_overview(talk, run), "explain", finding=None)


def _about(talk: Conversation, run: str, tool: str) -> Any:
    """The answer of a tool that the overview proposes, or the parts of the step; None if neither does."""
    overview = _overview(talk, run)
    found = talk.deeper(overview, tool)
    if found is None and tool != "budget":
        budget = talk.deeper(overview, "budget")
        found = talk.deeper(budget, tool) if budget else None
    return found


def _in_full(talk: Conversation, run: str) -> Any:
    """The first finding with all evidence; None without one."""
    explained = _explained(talk, run)
    first = _first(explained)
    return talk.deeper(explained, "explain", finding=first["id"]) if first else None


def _rows(envelope: Any) -> list[dict[str, Any]]:
    """The rows of an answer."""
    if envelope["rows"] is None:
        return []
    rows: list[dict[str, Any]] = list(envelope["answer"].values())[-1]
    return rows


def _first(envelope: Any) -> dict[str, Any]:
    return next(iter(_rows(envelope)), {})
