"""The verb `runs`: which recordings there are; which run to compare with another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Annotated

from tpu_profile_plugin.analysis.common.reasons import RUN
from tpu_profile_plugin.answers.answer import Answer, Link, Next
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.errors import NoData, ProfileError
from tpu_profile_plugin.logdir.remote import is_remote
from tpu_profile_plugin.opening import OpenLogdir, OpenRun
from tpu_profile_plugin.run.catalogue.runs import RUNS
from tpu_profile_plugin.run.facts import RunFacts, host_facts, most_related_first
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
    if len(found) > 1:
        further.append(Next("trend", {}, "since when steps take longer or shorter over the runs, and where"))
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


def run_before(name: str, newest_first: Sequence[str]) -> str | None:
    """The run before this one: of the same directory if there is one, else of any; None for the oldest."""
    older = newest_first[newest_first.index(name) + 1 :] if name in newest_first else ()
    folder = name.rpartition("/")[0]
    return next((one for one in older if one.rpartition("/")[0] == folder), next(iter(older), None))


_MOST = 50


def related_runs(logdir: OpenLogdir, run: OpenRun) -> list[tuple[str, float]]:
    """Other runs of a local logdir that share programs with a run, most first, and how much."""
    if is_remote(logdir.path):
        return []
    others = [one for one in logdir.runs() if one.files != run.files and one.profiles][:_MOST]
    return most_related_first(_facts(run), [(one.name, _facts(one)) for one in others])


def _facts(run: OpenRun) -> RunFacts:
    """Facts of the first host, with the programs of all hosts of most runs; none if it cannot be read."""
    with suppress(ProfileError):
        if run.profiles:
            return host_facts(run.profiles[0])
    return RunFacts()


VERB = verb(runs, needs=RUN, of_run=False)
