"""The verb `trend`: since when steps take longer or shorter, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from tpu_profile_plugin.analysis.common.reasons import RUN
from tpu_profile_plugin.analysis.trend.change_points import Shift
from tpu_profile_plugin.analysis.trend.series import Event, Series
from tpu_profile_plugin.answers.answer import Answer, Link, Next, distinct_ids
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.run.catalogue.runs import SHIFTS
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.trend.trend import about, labels_text, parts_text, title


def trend(
    asked: Asked,
    *,
    match: Annotated[str, "Only runs whose name matches this pattern, such as `nightly/*`."] = "*",
    most_read: Annotated[int, "How many runs that are not known yet may be read now; 0 for none."] = 100,
) -> Answer:
    """Since when steps take longer or shorter over the runs of the logdir, by how much, and where.

    What all ops of a run share, as on a busier machine, is taken away before.
    """
    found = asked.logdir.trend(match, most_read=max(most_read, 0))
    rows = [row for series in found.series for row in _rows(series)]
    facts: dict[str, Any] = {"runs": len(found.runs), "runs_not_read": found.unread, "shifts_found": len(rows)}
    facts["series"] = [f"{title(series)}: {about(series)} {series.reason}".rstrip() for series in found.series]
    if problems := [f"{one.run}: {one.problem}" for one in found.runs if one.problem]:
        facts["problems"] = problems[:10]
    columns = [[row[at] for row in rows] for at in range(len(SHIFTS) - 1)]
    table = Table(SHIFTS, [distinct_ids(f"{row[0]}, since {row[1]}" for row in rows), *columns], name="shifts")
    base = "of the step before the shift, without what all ops share"
    further = [
        Next("compare", {"run": row[1], "base": row[-1]}, "what changed from the run before") for row in rows[:2]
    ]
    if found.unread:
        further.append(Next("trend", {"match": match, "most_read": found.unread}, "with the runs that were not read"))
    return Answer(Link(""), facts, table, base, tuple(further))


def _rows(series: Series) -> Iterator[tuple[Any, ...]]:
    """The values of each shift without its id, and the run before it."""
    for event in series.events:
        yield (*_row(series, event, event.step), series.runs[event.index - 1].run)
    for shift in series.machine:
        machine = Event(shift.index, "machine", shift, ())
        values = _row(series, machine, shift)
        yield (*values[:4], None, None, *values[6:], series.runs[shift.index - 1].run)


def _row(series: Series, event: Event, shift: Shift | None) -> tuple[Any, ...]:
    until = "" if event.gone is None else series.runs[event.gone].run
    sizes: tuple[float | None, ...] = (None,) * 5
    if shift is not None:
        shares = (100 * value / shift.before for value in (shift.delta, shift.low, shift.high))
        sizes = (shift.before, shift.after, *shares)
    labels = labels_text(series, event.index)
    return title(series), series.runs[event.index].run, until, event.kind, *sizes, parts_text(event), labels


VERB = verb(trend, needs=RUN, of_run=False)
