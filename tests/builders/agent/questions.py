"""Twelve questions about profiles, answered by following `next` from the list of runs: a function each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from builders.agent.client import Agent

Said = Mapping[str, Any]
"""What the agent says: a few figures and texts."""


def which_run_is_slow(agent: Agent, match: str = "") -> Said:
    """The run of which most could be saved, among those that the list proposes."""
    runs = agent.start(match)
    lost: dict[str, tuple[float, str]] = {}
    while (overview := agent.deeper(runs, "overview")) is not None:
        first = _first(overview)
        lost[overview["from"]["run"]] = first.get("share_percent") or 0.0, overview["answer"]["headline"]
    run = max(lost, key=lambda name: lost[name][0])
    return {"run": run, "headline": lost[run][1]}


def why_is_it_slow(agent: Agent, run: str) -> Said:
    """The first finding."""
    first = _first(_explained(agent, run))
    return {"cause": first["id"], "title": first["title"], "confidence": first["confidence"]}


def which_line(agent: Agent, run: str) -> Said:
    """The line that the first finding names."""
    whole = _in_full(agent, run)
    return {"line": whole["answer"].get("line")}


def what_would_fixing_gain(agent: Agent, run: str) -> Said:
    """The most that the first finding could save, with what it is a share of."""
    whole = _in_full(agent, run)
    answer, base = whole["answer"], whole["base"]
    return {
        "share_percent": answer.get("share_percent"),
        "saving_ms": answer.get("saving_ms"),
        "base": base if isinstance(base, str) else base["share_percent"],
    }


def is_memory_a_limit(agent: Agent, run: str) -> Said:
    """The answer of `memory`, or why there is none."""
    memory = agent.deeper(_overview(agent, run), "memory")
    return {"facts": _facts(memory), "cannot": memory["cannot_answer"]}


def what_changed(agent: Agent, run: str) -> Said:
    """What the comparison with the run before says first."""
    compared = agent.deeper(_overview(agent, run), "compare")
    return {"headline": compared["answer"]["headline"], "first": _rows(compared)[0]}


def which_host_is_late(agent: Agent, run: str) -> Said:
    """The late devices."""
    collectives = agent.deeper(_overview(agent, run), "collectives")
    return {"facts": _facts(collectives), "cannot": collectives["cannot_answer"]}


def is_input_the_limit(agent: Agent, run: str) -> Said:
    """The share of the step that goes to the category input."""
    budget = agent.deeper(_overview(agent, run), "budget")
    parts = {row["id"]: row["share_percent"] for row in _rows(budget) if row["category"] == "Input"}
    return {"percent": sum(parts.values()), "base": budget["base"]}


def which_op_is_slowest(agent: Agent, run: str) -> Said:
    """The op with most self time, and its line."""
    ops = agent.deeper(_overview(agent, run), "ops")
    op = agent.deeper(ops, "op")
    return {"op": _rows(ops)[0]["id"], "facts": _facts(op)}


def what_happens_in_the_longest_gap(agent: Agent, run: str) -> Said:
    """The host call under the longest gap, and what the timeline shows there."""
    gaps = agent.deeper(_overview(agent, run), "gaps")
    longest = _rows(gaps)[0]
    window = agent.deeper(gaps, "timeline")
    return {
        "call": longest["call"],
        "duration_ms": longest["duration_ms"],
        "events": [one["id"] for one in _rows(window)],
    }


def does_it_recompile(agent: Agent, run: str) -> Said:
    """Whether compilation takes time of the steps."""
    explained = _explained(agent, run)
    found = next((one for one in _rows(explained) if one["id"] == "recompilation"), None)
    return {"recompiles": found is not None, "title": found["title"] if found else ""}


def is_communication_exposed(agent: Agent, run: str) -> Said:
    """The share of the step in exposed collectives, and the collective with most of it."""
    overview = _overview(agent, run)
    budget = agent.deeper(overview, "budget")
    parts = {row["id"]: row["share_percent"] for row in _rows(budget)}
    collectives = agent.deeper(overview, "collectives")
    rows = _rows(collectives) if collectives is not None else []
    return {"percent": parts.get("exposed_communication", 0.0), "most_in": rows[0]["id"] if rows else None}


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


def _overview(agent: Agent, run: str) -> Any:
    return agent.deeper(agent.start(run), "overview")


def _explained(agent: Agent, run: str) -> Any:
    return agent.deeper(_overview(agent, run), "explain", finding=None)


def _in_full(agent: Agent, run: str) -> Any:
    explained = _explained(agent, run)
    return agent.deeper(explained, "explain", finding=_first(explained)["id"])


def _rows(envelope: Any) -> list[dict[str, Any]]:
    """The rows of an answer."""
    if envelope["rows"] is None:
        return []
    rows: list[dict[str, Any]] = list(envelope["answer"].values())[-1]
    return rows


def _first(envelope: Any) -> dict[str, Any]:
    return next(iter(_rows(envelope)), {})


def _facts(envelope: Any) -> dict[str, Any]:
    """The answer without rows."""
    answer = dict(envelope["answer"])
    if envelope["rows"] is not None:
        answer.popitem()
    return answer
