"""The runs of a logdir over time: series, what shifts in them and since when, as tables and sentences."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tpu_profile_plugin.analysis.budget.categories import LABELS
from tpu_profile_plugin.analysis.trend.series import Event, Part, Series, series_of
from tpu_profile_plugin.analysis.trend.summary import PlaceTime, RunSummary
from tpu_profile_plugin.trend.summaries import KeptSummaries, Listed, summarized
from tpu_profile_plugin.units import MS_PER_S, duration

_LEAST_COUNTED, _MOST_DIGITS = 10, 15
"""A label counts runs if it rises with their times for all but one in ten."""
MOST_PARTS = 5
"""Places that a sentence names."""
_MOST_LABELS = 3

OnRun = Callable[[int, int, str], None]
"""Is told how many runs are known, of how many, and the name of the one that was read."""


@dataclass(frozen=True, slots=True, eq=False)
class Trend:
    """The runs over time.

    Attributes:
      runs: all that were read, the oldest first; those without figures have a problem.
      series: of those with figures.
      unread: how many runs are listed and were not read.
    """

    runs: tuple[RunSummary, ...]
    series: tuple[Series, ...]
    unread: int = 0

    @property
    def problems(self) -> list[str]:
        """Why runs are in no series, what is odd about others, and that some were not read."""
        told = [f"{one.run}: {one.problem or one.note}" for one in self.runs if one.problem or one.note]
        return [*told, f"{self.unread} runs have not been read yet."] if self.unread else told


def trend(
    listed: Sequence[Listed], kept: KeptSummaries, on_run: OnRun | None = None, most_read: int | None = None
) -> Trend:
    """The trend of runs; those that are not kept are read now, at most `most_read` of them, and kept one by one."""
    found: list[RunSummary] = []
    for summary, is_new in summarized(listed, kept, most_read):
        found.append(summary)
        if on_run is not None and is_new:
            on_run(len(found), len(listed), summary.run)
    return of_summaries(found, len(listed) - len(found))


def of_summaries(summaries: Iterable[RunSummary], unread: int = 0) -> Trend:
    """The trend of runs that are summarized."""
    runs = _with_odd_clocks(sorted(summaries, key=lambda one: (one.written_ms, one.run)))
    return Trend(tuple(runs), tuple(series_of(runs)), unread)


def _with_odd_clocks(runs: list[RunSummary]) -> list[RunSummary]:
    """The runs with a note where the clock was set back or forth: a label that counts them says so."""
    for key in dict.fromkeys(key for run in runs for key in run.labels):
        counted = [(row, run.labels[key]) for row, run in enumerate(runs) if key in run.labels]
        texts = [text for _, text in counted if text.isdecimal() and len(text) < _MOST_DIGITS]
        if len(texts) < max(len(counted), _LEAST_COUNTED) or len(set(texts)) < len(texts):
            continue
        rising = set(_longest_rise(list(map(int, texts))))
        odd = {row for at, (row, _) in enumerate(counted) if at not in rising}
        if len(odd) <= len(texts) // _LEAST_COUNTED:
            note = f"Its time does not fit its label {key}: the clock was wrong, or the label is."
            return [replace(run, note=run.note or note) if row in odd else run for row, run in enumerate(runs)]
    return runs


def _longest_rise(values: Sequence[int]) -> list[int]:
    """Positions of a longest rising subsequence."""
    ends, tops, before = list[int](), list[int](), dict[int, int]()
    for row, value in enumerate(values):
        at = bisect_left(tops, value)
        before[row] = ends[at - 1] if at else -1
        tops[at : at + 1], ends[at : at + 1] = [value], [row]
    rows, row = list[int](), ends[-1] if ends else -1
    while row >= 0:
        rows.append(row)
        row = before[row]
    return rows


# In words.


def title(series: Series) -> str:
    """What a series is of: "jit_step on 4 TPU v4, JAX"."""
    of = series.conditions
    name = of.program or "All steps"
    devices = f"{of.devices or ''} {of.device or 'unknown device'}".strip()
    hosts = f", {of.hosts} hosts" if of.hosts > 1 else ""
    return ", ".join(filter(None, (f"{name} on {devices}{hosts}", " and ".join(of.frameworks))))


def about(series: Series) -> str:
    """How long a step takes and how far it varies, in a sentence."""
    count, (raw, left) = len(series.runs), series.variation
    runs = f"{count} run{'' if count == 1 else 's'}"
    text = f"{runs}, {_days(series.runs)}; the last step takes {duration(series.step_ps[-1])}"
    if count < 2:
        return f"{text}."
    text += f", and steps vary by {raw:.1%} from run to run"
    return f"{text}, {left:.1%} without what all ops share." if series.explained else f"{text}."


def sentence(series: Series, event: Event) -> str:
    """An event in a sentence: by how much, since when, and what contributes."""
    labels = labels_text(series, event.index)
    since = f"since {series.runs[event.index].run}{f' ({labels})' if labels else ''}"
    if event.step is None:
        if event.kind == "moved":
            return f"Time moved {since}, and the step takes as long as before: {parts_text(event)}."
        delta = sum(part.delta for part in event.parts)
        size = f"{duration(abs(delta))} {'more' if delta > 0 else 'less'}"
        hidden = f"which steps that vary by {series.variation[1]:.1%} hide"
        return f"Places take {size} {since}, {hidden}: {parts_text(event)}."
    shift = event.step
    change = shift.delta / shift.before
    word = "slower" if change > 0 else "faster"
    size = f"{abs(change):.1%} {word} ({_between(shift.low / shift.before, shift.high / shift.before)})"
    levels = f"{duration(shift.before)} to {duration(shift.after)}"
    gone = f", gone since {series.runs[event.gone].run}" if event.gone is not None else ""
    because = f": {parts_text(event)}" if event.parts else ""
    return f"{size} {since}, {levels}{gone}{because}."


def _between(low: float, high: float) -> str:
    small, large = sorted((abs(low), abs(high)))
    return f"{small:.1%} to {large:.1%}" if low * high > 0 else f"{low:+.1%} to {high:+.1%}"


def parts_text(event: Event) -> str:
    """The places that contribute most."""
    shown = [part_text(part) for part in event.parts[:MOST_PARTS]]
    more = len(event.parts) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def part_text(part: Part) -> str:
    """A contribution: "dense/dot (train.py:41) +310 us"."""
    sign = "+" if part.delta > 0 else "-"
    return f"{place_text(part.place)} {sign}{duration(abs(part.delta))}"


def place_text(place: PlaceTime) -> str:
    """A place as it is called on pages, with its line."""
    name = place.name
    if place.part != "op":
        label = LABELS.get(place.part)
        kind = label.name if label is not None else "Between steps"
        name = kind if name == "unknown" else f"{kind}: {name}"
    line = place.line.rpartition("/")[2]
    return f"{name} ({line})" if line and line not in name else name


def labels_text(series: Series, index: int) -> str:
    """The labels that differ between a run and the one before: "commit a1b2c3 -> d4e5f6"; "" without any."""
    old, new = (series.runs[row].labels for row in (index - 1, index))
    changed = [key for key in new if old.get(key) != new[key]]
    told = [f"{key} {_short(key, old.get(key, 'none'))} -> {_short(key, new[key])}" for key in changed[:_MOST_LABELS]]
    return ", ".join(told)


def _short(key: str, value: str) -> str:
    return value[:10] if key == "commit" else value[:40]


def _days(runs: Sequence[RunSummary]) -> str:
    days = [day(one) for one in (runs[0], runs[-1]) if one.written_ms]
    return " to ".join(dict.fromkeys(days)) or "of unknown time"


def day(run: RunSummary) -> str:
    """When a run was recorded, as a date; "" if unknown."""
    return f"{datetime.fromtimestamp(run.written_ms / MS_PER_S):%Y-%m-%d}" if run.written_ms else ""


def lines(found: Trend) -> Iterator[str]:
    """The trend for a terminal."""
    for series in found.series:
        yield f"{title(series)}: {about(series)}"
        if series.reason:
            yield f"  A series of its own: {series.reason[0].lower()}{series.reason[1:]}"
        for shift in series.machine:
            change = shift.after / shift.before - 1
            since = series.runs[shift.index].run
            yield f"  All ops together {abs(change):.1%} {'slower' if change > 0 else 'faster'} since {since}."
        yield from (f"  {sentence(series, event)}" for event in series.events)
        if not series.events:
            yield f"  {no_event(series)}"
    yield from found.problems


def no_event(series: Series) -> str:
    """Why a series has no event: none is seen, of how small ones there would be, or there are too few runs."""
    if len(series.runs) < 6:
        return "Too few runs to see a shift: 6 are needed."
    return f"No shift: one of about {3 * series.variation[1]:.1%} that lasts three runs would be seen."
