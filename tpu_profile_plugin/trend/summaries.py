"""Summaries of runs: made once and kept in the user's private cache, or in files that a person or a job names."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.trend.summary import FORMAT, Conditions, PlaceTime, RunSummary
from tpu_profile_plugin.cache.codec import NotStorable, fields_of
from tpu_profile_plugin.cache.files import FileCache, build_identity, user_directory
from tpu_profile_plugin.errors import BadRequest, CorruptProfile, FileChanged, NotFound
from tpu_profile_plugin.logdir import RunFiles
from tpu_profile_plugin.run.figures.run_summary import run_summary
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.kept import CODEC
from tpu_profile_plugin.system.terminal import LOG as _LOG
from tpu_profile_plugin.units import MIB

SUFFIX = ".runs.jsonl"
"""The end of the names of files of summaries: one JSON object per line and run."""
_LIMIT_BYTES = 256 * MIB
MOST_LABELS, MOST_LABEL = 64, 200
"""Labels of a run, and the characters of a key or a value."""
_TEXTS = ("part", "program", "name", "line", "sizes")
_MOST_LINE = 4 * MIB
_MOST_FILE = 512 * MIB


_new_place = functools.partial(tuple.__new__, PlaceTime)
"""`PlaceTime._make` of a tuple that is known to be complete: a trend reads those of thousands of runs."""


class KeptSummaries:
    """The summaries in the private cache, by the identity of a run's files, its labels and the build."""

    def __init__(self, directory: Path | None = None, limit_bytes: int = _LIMIT_BYTES) -> None:
        """Does no I/O."""
        self._files = FileCache(directory or user_directory("runs"), limit_bytes)

    def known(self, files: RunFiles) -> RunSummary | None:
        """The summary of a run that was read before; None if it is not kept, or damaged."""
        key = _key(files)
        with suppress(OSError, ValueError, TypeError):
            summary, texts, times = CODEC.decode(self._files.read(key))
            texts = list(map(sys.intern, texts))  # most are those of other runs
            ps, runs = times.tolist()
            columns = zip(*(texts[at :: len(_TEXTS)] for at in range(len(_TEXTS))), ps, runs, strict=True)
            found: RunSummary = replace(summary, places=tuple(map(_new_place, columns)))
            self._files.touch(key)
            return found
        return None

    def make(self, run: RunHosts, files: RunFiles, labels: Mapping[str, str]) -> RunSummary:
        """The summary of a run, read now and kept; one that cannot be read has the reason."""
        try:
            made = run_summary(run, files.name, files.mtime_ms, labels)
        except FileChanged as error:  # while it was read: the next time tells
            return RunSummary(files.name, files.mtime_ms, dict(labels), problem=error.message)
        self.keep(files, made)
        return made

    def keep(self, files: RunFiles, made: RunSummary) -> None:
        """Stores the summary of a run, for `known`."""
        key = _key(files)
        try:
            # Columns of places: an object for each takes ten times as long to read.
            texts = [getattr(place, name) for place in made.places for name in _TEXTS]
            times = np.array([[getattr(place, name) for place in made.places] for name in ("ps", "runs")], np.float64)
            data = CODEC.encode((replace(made, labels={}, places=()), texts, times))
            with self._files.writing(key) as file:
                file.write(data)
        except NotStorable as error:
            _LOG.debug("a summary is not stored: %s", error)
        except OSError as error:
            self._files.log_failure("Summaries of runs", error)


def _key(files: RunFiles) -> str:
    facts = [FORMAT, build_identity(), files.name, [repr(host.identity) for host in files.hosts]]
    return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Listed:
    """A run of a logdir: its files, itself, and what reads its labels."""

    files: RunFiles
    run: RunHosts
    labels: Callable[[], Mapping[str, str]]


def summarizing(
    files: RunFiles, labels: Callable[[], Mapping[str, str]], kept: KeptSummaries | None
) -> Callable[[RunHosts], RunSummary]:
    """For `RunHosts.summarize` of a listed run: what is kept of it, or is now made; of some of its hosts, made anew."""

    def summarize(run: RunHosts) -> RunSummary:
        if kept is None or len(run.profiles) != len(files.hosts):
            return run_summary(run, files.name, files.mtime_ms, labels())
        found = kept.known(files)
        return kept.make(run, files, labels()) if found is None else replace(found, labels=dict(labels()))

    return summarize


def summarized(
    listed: Iterable[Listed],
    kept: KeptSummaries,
    most_read: int | None = None,
) -> Iterator[tuple[RunSummary, bool]]:
    """The summary of each run, and whether it was read now; of a run beyond `most_read` that are read, none.

    Args:
      listed: the runs.
      kept: of earlier calls.
      most_read: how many may be read now; None for all.
    """
    read = 0
    for one in listed:
        found = kept.known(one.files)
        if found is None and (most_read is None or read < most_read):
            read += 1
            yield kept.make(one.run, one.files, one.labels()), True
        elif found is not None:
            yield replace(found, labels=dict(one.labels())), False


# Files of summaries.


def encoded(summary: RunSummary) -> str:
    """A summary as a line of JSON."""
    data = {"format": FORMAT, **asdict(summary), "places": [place._asdict() for place in summary.places]}
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"))


def write_file(path: Path, summaries: Iterable[RunSummary]) -> int:
    """Writes a file of summaries in place of what it has; returns how many. Raises OSError."""
    lines = [encoded(one) for one in summaries]
    replace_text(path, "".join(f"{line}\n" for line in lines))
    return len(lines)


def replace_text(path: Path, text: str) -> None:
    """Writes a file that is complete or as before. Raises OSError."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text)
    temporary.replace(path)


def read_file(path: Path) -> list[RunSummary]:
    """The summaries in a file. Raises NotFound, and CorruptProfile with the line that is none."""
    try:
        if path.stat().st_size > _MOST_FILE:
            raise CorruptProfile(f"{path.name} has more than {_MOST_FILE // MIB} MiB: it is no file of summaries.")
        with path.open("rb") as file:
            lines = list(iter(lambda: file.readline(_MOST_LINE + 1), b""))
    except (FileNotFoundError, IsADirectoryError):
        raise NotFound(f"There is no file of summaries {path.name}.", code="summaries_not_found") from None
    except OSError as error:
        raise NotFound(f"{path.name} cannot be read: {error.strerror}.", code="summaries_not_found") from None
    return [decoded(line, f"{path.name}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]


def decoded(line: bytes | str, where: str) -> RunSummary:
    """A summary from a line of JSON. Raises CorruptProfile with the place and what is wrong there."""
    try:
        data = json.loads(line)
        return from_object(data)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CorruptProfile(f"{where} is no summary of a run: {_what(error)}") from error


def from_object(data: Any) -> RunSummary:
    """A summary from parsed JSON. Raises ValueError."""
    if not isinstance(data, dict):
        raise ValueError("it is no object.")
    if data.get("format") != FORMAT:
        raise ValueError(f"its format is {data.get('format')!r}, and this version reads {FORMAT}.")
    return RunSummary(
        run=_text(data, "run"),
        written_ms=int(_number(data, "written_ms")),
        labels=_mapping(data, "labels", str),
        problem=_text(data, "problem"),
        conditions=None if data.get("conditions") is None else _conditions(data["conditions"]),
        step_ps=_number(data, "step_ps"),
        step_sd_ps=_number(data, "step_sd_ps"),
        steps=int(_number(data, "steps")),
        single_ps=_number(data, "single_ps"),
        parts=_mapping(data, "parts", float),
        places=tuple(map(_place, _list(data, "places"))),
        memory=_mapping(data, "memory", int),
        note=str(data.get("note", "")),
    )


def _conditions(data: Any) -> Conditions:
    _only(data, Conditions)
    return Conditions(
        _text(data, "program"),
        _text(data, "device"),
        int(_number(data, "devices")),
        int(_number(data, "hosts")),
        tuple(map(str, _list(data, "frameworks"))),
        _text(data, "unit"),
    )


def _place(data: Any) -> PlaceTime:
    _only(data, PlaceTime)
    part, program, name, line, sizes = (_text(data, one) for one in _TEXTS)
    return PlaceTime(part, program, name, line, sizes, _number(data, "ps"), _number(data, "runs"))


def _only(data: Any, of: type) -> None:
    if not isinstance(data, dict) or set(fields_of(of)) != data.keys():
        raise ValueError(f"its {of.__name__} has other fields.")


def _text(data: dict[str, Any], name: str) -> str:
    value = data[name]
    if not isinstance(value, str):
        raise ValueError(f"{name} is no text.")
    return value


def _number(data: dict[str, Any], name: str) -> float:
    value = data[name]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise ValueError(f"{name} is no number from 0 on.")
    return float(value)


def _list(data: dict[str, Any], name: str) -> list[Any]:
    value = data[name]
    if not isinstance(value, list):
        raise ValueError(f"{name} is no list.")
    return value


def _mapping(data: dict[str, Any], name: str, kind: type) -> dict[str, Any]:
    value = data[name]
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no object.")
    if kind is str:
        return {str(key): _text(value, key) for key in value}
    return {str(key): kind(_number(value, key)) for key in value}


def _what(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing."
    return str(error) if str(error).endswith(".") else f"{error}."


def labels_in(text: bytes) -> dict[str, str]:
    """The labels in a file labels.json: texts, numbers and truth values by key; {} if it is anything else."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(data, dict):
        return {}
    plain = {key: value for key, value in data.items() if isinstance(value, (str, int, float, bool))}
    return {str(key)[:MOST_LABEL]: str(value)[:MOST_LABEL] for key, value in list(plain.items())[:MOST_LABELS]}


def label_of(text: str) -> tuple[str, str]:
    """KEY=VALUE as a label. Raises BadRequest."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or len(key) > MOST_LABEL or len(value) > MOST_LABEL:
        raise BadRequest(f"A label must be KEY=VALUE, each of at most {MOST_LABEL} characters, not {text[:80]!r}.")
    return key.strip(), value


def chosen(summaries: Sequence[RunSummary], text: str) -> list[RunSummary]:
    """The runs that a text names, the oldest first: a run's name, a label KEY=VALUE, or latest:N.

    Raises NotFound without any, BadRequest for a number that is none.
    """
    ordered = sorted(summaries, key=lambda one: (one.written_ms, one.run))
    if text.startswith("latest:"):
        number = text.removeprefix("latest:")
        if not number.isdecimal() or not 0 < int(number) < 100_000:
            raise BadRequest(f"latest:N needs a number of runs, not {number[:20]!r}.", argument="base")
        found = [one for one in ordered if one.conditions is not None][-int(number) :]
    else:
        found = [one for one in ordered if one.run == text]
        if not found and "=" in text:
            key, _, value = text.partition("=")
            found = [one for one in ordered if one.labels.get(key) == value]
    if not found:
        known = ", ".join(one.run for one in ordered[-5:]) or "none"
        raise NotFound(f"No run is called or labelled {text[:200]!r}; there are {known}.", code="run_not_found")
    return found
