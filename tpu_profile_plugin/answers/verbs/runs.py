"""The verb `runs`: which recordings there are."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from tpu_profile_plugin.analysis.common.reasons import RUN
from tpu_profile_plugin.answers.answer import Answer, Link, Next
from tpu_profile_plugin.answers.runs import run_before
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.opening import OpenLogdir, OpenRun
from tpu_profile_plugin.run.catalogue.runs import RUNS
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.units import MS_PER_S


def runs(asked: Asked, *, match: Annotated[str, "Only runs whose name contains this text."] = "") -> Answer:
    """The recordings of the logdir, the latest session first, with their hosts and size."""
    found = matching(asked.logdir, match)
    rows = {
        "id": [run.name for run in found],
        "hosts": [
            ", ".join(run.hosts[:8]) + (f" and {len(run.hosts) - 8} more" if len(run.hosts) > 8 else "")
            for run in found
        ],
        "size_bytes": [run.size for run in found],
        "written": [written(run) for run in found],
        "problems": [" ".join(run.problems) for run in found],
    }
    further = [Next("overview", {"run": run.name}, "what the run is, and what limits it") for run in found[:3]]
    if base := run_before(found[0].name, [run.name for run in found]):
        further.append(Next("compare", {"run": found[0].name, "base": base}, "what changed since the run before"))
    return Answer(Link(""), {"runs_found": len(found)}, Table(RUNS, rows, name="runs"), next=tuple(further))


def matching(logdir: OpenLogdir, text: str) -> list[OpenRun]:
    """The runs whose name contains a text, the latest session first. Raises NoData without any."""
    found = [run for run in logdir.runs() if text in run.name]
    if not found:
        raise NoData(f"No run has {text[:80]!r} in its name." if text else logdir.why_no_run())
    return found


def written(run: OpenRun) -> str | None:
    """When the profiles of a run were last written, None when unknown."""
    ms = run.mtime_ms
    return datetime.fromtimestamp(ms / MS_PER_S).astimezone().isoformat(" ", "seconds") if ms else None


VERB = verb(runs, needs=RUN, of_run=False)
