"""`runs`: each run in small: when and of what it is, its labels, and how long its steps take."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tpu_profile_plugin.analysis.trend.summary import Conditions, RunSummary
from tpu_profile_plugin.run.catalogue.runs import OF_RUNS, PARTS_OF_RUN
from tpu_profile_plugin.run.figures.run_summary import run_summary
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.relations.relation import Relation
from tpu_profile_plugin.tables.table import Table

_NONE = Conditions("", "", 0, 0, (), "")


def _batches(run: RunHosts) -> Iterator[Table]:
    """One row."""
    told = run_summary(run, run.name, 0, {}) if run.summarize is None else run.summarize(run)
    yield Table(
        OF_RUNS, [column.array([value]) for column, value in zip(OF_RUNS, _row(told), strict=True)], name="runs"
    )


def _row(run: RunSummary) -> list[object]:
    of, known = run.conditions or _NONE, run.conditions is not None
    return [
        *(run.run, run.written_ms or None, of.program or None, of.device or None, of.devices or None),
        *(of.hosts or None, ", ".join(of.frameworks) or None),
        *(run.labels.get("commit"), json.dumps(dict(run.labels))),
        *(run.steps if known else None, _ps(run.step_ps, known), _ps(run.step_sd_ps, known)),
        *(_ps(run.parts.get(part, 0.0), known) for part in PARTS_OF_RUN),
        *(run.memory_peak or None, run.problem or run.note or None),
    ]


def _ps(value: float, known: bool) -> int | None:
    return round(value) if known else None


RUNS = Relation(
    "runs",
    "One row per run: when and of what it was recorded, its labels, and its mean step by parts of the time budget.",
    OF_RUNS,
    _batches,
    lasting=False,  # labels are written later
)
