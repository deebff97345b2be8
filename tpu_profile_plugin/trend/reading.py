"""The trend for pages: runs are read a slice of time at a call, and what is known is told as columns for JSON."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import LABELS
from tpu_profile_plugin.analysis.trend.change_points import Shift
from tpu_profile_plugin.analysis.trend.series import Event, PlaceSeries, Series
from tpu_profile_plugin.analysis.trend.summary import RunSummary
from tpu_profile_plugin.errors import FileChanged
from tpu_profile_plugin.run.figures.run_summary import run_summary
from tpu_profile_plugin.trend.summaries import KeptSummaries, Listed
from tpu_profile_plugin.trend.trend import (
    Trend,
    about,
    labels_text,
    no_event,
    of_summaries,
    place_text,
    sentence,
    title,
)

SLICE_S = 1.0
"""How long a call reads, in seconds."""
MOST_PLACES = 24
"""Places of a series that are told of those that shift."""
_FEW_PLACES = 6
"""As many of a series without any."""


class ReadRuns:
    """The summaries that this process knows, of runs that are listed; thread-safe: a run is read once."""

    def __init__(self, kept: KeptSummaries | None) -> None:
        """`kept`: where summaries outlast this process; None for nowhere."""
        self._kept = kept
        self._lock = threading.Lock()
        self._known: dict[object, RunSummary] = {}
        self._last: tuple[list[RunSummary], int, Trend] | None = None

    def read(self, listed: Sequence[Listed]) -> int:
        """Reads runs that are not known for about `SLICE_S`, at least one; returns how many are left."""
        with self._lock:
            self._look_up(listed)
            unread = [one for one in listed if _key(one) not in self._known]
            ends, read = time.monotonic() + SLICE_S, 0
            for one in unread:
                if read and time.monotonic() >= ends:
                    break
                self._known[_key(one)] = self._made(one)
                read += 1
            return len(unread) - read

    def trend(self, listed: Sequence[Listed]) -> Trend:
        """The trend of the runs that are known."""
        with self._lock:
            self._look_up(listed)
            found = [(one, self._known.get(_key(one))) for one in listed]
            runs = [replace(summary, labels=dict(one.labels())) for one, summary in found if summary is not None]
            unread = len(listed) - len(runs)
            if self._last is None or self._last[:2] != (runs, unread):
                self._last = runs, unread, of_summaries(runs, unread)
            return self._last[2]

    def _made(self, one: Listed) -> RunSummary:
        if self._kept is not None:
            return self._kept.make(one.run, one.files, {})
        try:
            return run_summary(one.run, one.files.name, one.files.mtime_ms, {})
        except FileChanged as error:
            return RunSummary(one.files.name, one.files.mtime_ms, problem=error.message)

    def _look_up(self, listed: Sequence[Listed]) -> None:
        """Takes over what is kept, and forgets runs that are gone."""
        known = {}
        for one in listed:
            key = _key(one)
            found = self._known.get(key) or (None if self._kept is None else self._kept.known(one.files))
            if found is not None:
                known[key] = found
        self._known = known


def _key(one: Listed) -> object:
    return one.files.name, *(host.identity for host in one.files.hosts)


def columns(found: Trend) -> dict[str, Any]:
    """The trend as JSON: `runs` an array per column, `series` with arrays over their runs; times in ps per step."""
    rows = {id(run): row for row, run in enumerate(found.runs)}
    labels = sorted({key for run in found.runs for key in run.labels})
    return {
        "runs": {
            "run": [run.run for run in found.runs],
            "written_ms": [run.written_ms for run in found.runs],
            "problem": [run.problem for run in found.runs],
            "note": [run.note for run in found.runs],
            "memory_bytes": [run.memory_peak for run in found.runs],
            "steps": [run.steps for run in found.runs],
            "labels": {key: [run.labels.get(key, "") for run in found.runs] for key in labels},
        },
        "remaining": found.unread,
        "series": [_series(one, [rows[id(run)] for run in one.runs]) for one in found.series],
    }


def _series(series: Series, rows: list[int]) -> dict[str, Any]:
    parts = [part for part in (*LABELS, "between_steps") if any(run.parts.get(part) for run in series.runs)]
    return {
        "title": title(series),
        "about": about(series),
        "reason": series.reason,
        "no_change": "" if series.events else no_event(series),
        "rows": rows,
        "step_ps": _whole(series.step_ps),
        "adjusted_ps": _whole(series.adjusted),
        "is_adjusted": series.explained > 0,
        "parts": [
            {
                "id": part,
                "name": LABELS[part].name if part in LABELS else "Between steps",
                "ps": [round(run.parts.get(part, 0)) for run in series.runs],
            }
            for part in parts
        ],
        "places": [_place(one) for one in _shown(series)],
        "changes": [*(_event(series, event) for event in series.events), *_machine(series)],
    }


def _shown(series: Series) -> list[PlaceSeries]:
    """The places that are part of a change, the largest difference first; without any the largest."""
    most: dict[tuple[str, str, str], float] = {}
    for event in series.events:
        for part in event.parts:
            most[part.place.key] = max(most.get(part.place.key, 0.0), abs(part.delta))
    changed = sorted((one for one in series.places if one.place.key in most), key=lambda one: -most[one.place.key])
    return changed[:MOST_PLACES] or list(series.places[:_FEW_PLACES])


def _place(one: PlaceSeries) -> dict[str, Any]:
    return {"name": place_text(one.place), "ps": _whole(one.ps), "changes": [shift.index for shift in one.shifts]}


def _event(series: Series, event: Event) -> dict[str, Any]:
    parts = [
        {"name": place_text(part.place), "before_ps": round(part.before), "after_ps": round(part.after)}
        for part in event.parts
    ]
    return {
        "index": event.index,
        "kind": event.kind,
        "sentence": sentence(series, event),
        **_sizes(event.step),
        "gone": event.gone,
        "labels": labels_text(series, event.index),
        "parts": parts,
    }


def _machine(series: Series) -> Iterator[dict[str, Any]]:
    """Where the time that all ops take in common shifts; it has no level in ps."""
    for shift in series.machine:
        change = shift.delta / shift.before
        told = f"All ops together {abs(change):.1%} {'slower' if change > 0 else 'faster'}"
        yield {
            **{"index": shift.index, "kind": "machine", "gone": None, "parts": []},
            "sentence": f"{told} since {series.runs[shift.index].run}.",
            **_sizes(shift),
            **{"before_ps": None, "after_ps": None},
            "labels": labels_text(series, shift.index),
        }


def _sizes(shift: Shift | None) -> dict[str, Any]:
    """The levels, and the change with its interval as percentages of the level before."""
    names = ("before_ps", "after_ps", "change_percent", "low_percent", "high_percent")
    if shift is None:
        return dict.fromkeys(names)
    shares = (100 * value / shift.before for value in (shift.delta, shift.low, shift.high))
    return dict(zip(names, (round(shift.before), round(shift.after), *shares), strict=True))


def _whole(ps: np.typing.NDArray[np.float64]) -> list[int]:
    found: list[int] = np.rint(ps).astype(np.int64).tolist()
    return found
