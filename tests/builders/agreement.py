"""Whether the numbers of an answer are numbers of the page that it links to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from builders.asking import page
from builders.timeline import read_container
from tpu_profile_plugin.columns.arrays import F64
from tpu_profile_plugin.opening import OpenLogdir, OpenRun
from tpu_profile_plugin.units import PS_PER_MS

SCALES: Mapping[str, tuple[float, ...]] = {
    "ms": (1, 1e-9, 1e-6, 1e-3, 1e3),
    "%": (1, 100),
    "bytes": (1, 2**10, 2**20, 2**30, 1e9),
    "GFLOP/s": (1, 1e-9, 1e3),
    "GiB/s": (1, 2**-30),
}
"""What numbers of a page are multiplied by to get a unit: times are in ps, ns, us, ms or s, sizes in bytes to GiB."""
RELATIVE = 2e-5
"""How far a number may be from the page's: answers send six digits."""
_HALF_A_NS = 0.51e-6
COUNTS = ("id", "ops", "lines", "devices", "programs_that_ran", "shorter_gaps_left_out")
"""Ids of numbers that count rows."""
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def numbers(value: Any) -> Iterator[float]:
    """Every number in a JSON value, those in texts included."""
    if isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from numbers(one)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, str) and len(value) < 2_000:
        for found in _NUMBER.findall(value):
            with suppress(ValueError):
                yield float(found.replace(",", ""))


def requested(logdir: OpenLogdir, envelope: Mapping[str, Any]) -> list[Any]:
    """All JSON that the linked page requests: that of its tool, and what it shows beside it."""
    query = dict(parse_qsl(urlsplit(envelope["link"]).query))
    if "run" not in query:  # of several runs
        return [page(logdir, envelope)]
    if "window" in query:
        run = logdir.run(query["run"])
        return list(_window(run, query.get("host"), *map(int, query["window"].split(","))))
    shown = [page(logdir, envelope)]
    if query["tool"] == "hlo_stats":
        shown.append(_by_line(shown[0]))
    return shown


def _by_line(table: Any) -> list[list[float]]:
    """Self time and its share summed over the ops of each source line, as a reader of the table would."""
    values = {column["id"]: column["values"] for column in table["ops"]["columns"]}
    wanted = (values[name] for name in ("source_info", "total_self_time", "total_self_time_percent"))
    sums: dict[str, list[float]] = {}
    for source, *figures in zip(*wanted, strict=True):
        line = (source or "").partition(" (of ")[0]
        sums[line] = [sum(pair) for pair in zip(sums.get(line, (0.0, 0.0)), figures, strict=True)]
    return list(sums.values())


def _window(run: OpenRun, host: str | None, begin: int, end: int) -> Iterator[Any]:
    """The longest event of each name on each track, as the page shows it for a selection."""
    yield [begin, end, end - begin]
    part: dict[str, str | float] = {
        "format": "sums",
        "start_time_ms": begin / PS_PER_MS,
        "end_time_ms": end / PS_PER_MS,
        "limit": 100_000,
    }
    header = read_container(run.encoded("trace_viewer@", host, {"format": "columns", "resolution": 1})[0])[0]
    for track in header["tracks"]:
        areas = f"{track['pid']}.{track['tid']}.0.{track['rows']}"
        yield run.answer("trace_viewer@", host, areas=areas, **part)["rows"]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
    elif isinstance(value, str):
        yield value


def _tables(value: Any) -> Iterator[Any]:
    """Every table within a JSON value: columns, rows of cells, and properties."""
    if isinstance(value, dict) and {"cols", "rows"} <= set(value):
        yield value
    elif isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _tables(one)


def _sorted(values: Any) -> F64:
    return np.unique(np.fromiter(numbers(values), float))


class Page:
    """The numbers of a page: all, and those of the rows of tables by each text in the row."""

    def __init__(self, answer: Any) -> None:
        self._all = _sorted(answer)
        self._counts = set(Counter(_texts(answer)).values())
        named: dict[str, list[Any]] = {}
        for table in _tables(answer):
            for row in table["rows"]:
                cells = [cell.get("v") for cell in row["c"]]
                for text in cells:
                    if text and isinstance(text, str):
                        named.setdefault(text, [table.get("p")]).append(cells)
        self._named = {text: _sorted(rows) for text, rows in named.items()}

    def has(self, value: float, unit: str, name: str) -> bool:
        """Whether the page has this number, in any unit of the same kind, in rows of the op if it has some.

        Or, for a count, so many equal texts.
        """
        if not unit and value in self._counts:
            return True
        rounded = _HALF_A_NS if unit == "ms" else 0.0
        known = self._named.get(name, self._all)
        return any(_near(known, value / scale, rounded / scale) for scale in SCALES.get(unit, (1,)))


def _near(known: F64, value: float, rounded: float) -> bool:
    at = int(np.searchsorted(known, value))
    near = known[max(0, at - 1) : at + 1]
    return bool((np.abs(near - value) <= max(RELATIVE * abs(value), rounded)).any())


Figure = tuple[str, float, str, str]
"""Place in the answer, value, unit, and the name of the op that it is about; "" without one."""


def figures(envelope: Mapping[str, Any]) -> Iterator[Figure]:
    """Each number of an answer; counts of rows and ids are none."""
    op = envelope["answer"].get("op", "")
    yield from _figures("", envelope["answer"], envelope["units"], op.rpartition("@")[0])


def _figures(place: str, value: Any, units: Mapping[str, str], name: str) -> Iterator[Figure]:
    if isinstance(value, Mapping):
        for id_, one in value.items():
            yield from _figures(f"{place}.{id_}", one, units, name)
    elif isinstance(value, list):
        for one in value:
            id_ = str(one.get("id", "")) if isinstance(one, Mapping) else ""
            unit = one.get("unit") if isinstance(one, Mapping) else None
            own = {**units, "value": unit} if unit else units
            yield from _figures(f"{place}[{id_}]", one, own, id_.rpartition("@")[0])
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        id_ = place.rpartition(".")[2].partition("[")[0]
        if id_ not in COUNTS and not id_.endswith("_found"):
            yield place, float(value), units.get(id_, ""), name


def missing(envelope: Mapping[str, Any], page: Page) -> list[Figure]:
    """The numbers of an answer that the page does not have."""
    return [one for one in figures(envelope) if one[1] and not page.has(*one[1:])]


def without_base(envelope: Mapping[str, Any]) -> list[str]:
    """The ids of percentages whose base is not told."""
    base, percentages = envelope["base"], [id_ for id_, unit in envelope["units"].items() if unit == "%"]
    if isinstance(base, str):
        return [] if base.strip() else percentages
    return [id_ for id_ in percentages if not base.get(id_)]
