"""Which traces of PyTorch in a directory belong together: one per rank. Earlier ones are recordings of their own.

A profiler with `schedule(repeat=...)`, and Lightning with a trace per phase, leave several traces of one rank.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from tpu_profile_plugin.logdir import names
from tpu_profile_plugin.logdir.files import Files, FileStat
from tpu_profile_plugin.logdir.sniff import Sniffed, sniff_all

MOST_SNIFFED = 256
"""Files of a directory that are looked into."""

_PHASE = re.compile(r"(?:fit|validate|test|predict|sanity_check)-")
"""Lightning names traces by phase and action: `fit-training_step`, `fit-0-validation_step`."""
_PHASE_RANK = re.compile(r"([a-z_]+)-(\d+)-")
_UNITS = (10**18, 10**15, 10**12, 10**9)
"""Times in names are in ns, us, ms or s since 1970, by their size."""


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A trace of PyTorch.

    Attributes:
      name: of the file.
      host: the host that it becomes.
      rank: what it is of: the worker, None if the rank alone tells, and the rank, None if it is not known.
      time: when it was written by its name; 0 if the name does not tell.
      what: what it is of by its name, without the rank: equal for all ranks.
    """

    name: str
    host: str
    rank: tuple[str | None, int | None]
    time: int
    what: str

    @property
    def age(self) -> tuple[bool, int, list[tuple[str, int]]]:
        """Earlier recordings of a rank come first; of Lightning's phases that of training last."""
        phase = _PHASE.match(self.what) is not None
        return (phase and "train" in self.what, self.time, _natural(self.what))

    @property
    def stamp(self) -> str:
        """When it was written, as sessions are named; "" if the name does not tell."""
        unit = next((unit for unit in _UNITS if self.time >= unit), None)
        if unit is not None:
            with contextlib.suppress(ValueError, OverflowError, OSError):  # digits that are no time
                return f"{datetime.fromtimestamp(self.time * 10**9 // unit):%Y_%m_%d_%H_%M_%S}"
        return ""


def may_be_several(file_names: Iterable[str]) -> bool:
    """Whether names of traces may be those of several recordings."""
    workers = [trace[0] for name in file_names if (trace := names.pytorch_trace(name))]
    return len(set(workers)) < len(workers) or any(map(_PHASE.match, workers))


def trace_files(files: Files, path: str, listed: Mapping[str, FileStat]) -> list[TraceFile]:
    """The traces of PyTorch among the files of a directory that have a known name, each with its rank."""
    traces = {name: trace for name in listed if (trace := names.pytorch_trace(name))}
    count = Counter(worker for worker, _ in traces.values())
    unclear = [name for name, (worker, _) in sorted(traces.items()) if count[worker] > 1 or _PHASE.match(worker)]
    told = sniff_all(files, {files.join(path, name): listed[name] for name in unclear[:MOST_SNIFFED]})
    found = []
    for name, (worker, time) in sorted(traces.items()):
        phase = _PHASE.match(worker) is not None
        rank = told.get(files.join(path, name), Sniffed()).rank
        if phase and rank is None and (named := _PHASE_RANK.match(worker)):
            rank = int(named[2])
        what = _PHASE_RANK.sub(r"\1-", worker) if phase else worker
        found.append(TraceFile(name, worker, (None if phase else worker, rank), time, what))
    return _by_rank(found)


def sniffed_files(files: Files, path: str, listed: Mapping[str, FileStat]) -> tuple[list[TraceFile], list[str]]:
    """Of the files whose names may be those of traces: traces of PyTorch, and the names of other traces of events."""
    likely = sorted(filter(names.is_likely, listed))
    paths = {name: files.join(path, name) for name in likely}
    told = sniff_all(files, {paths[name]: listed[name] for name in likely[:MOST_SNIFFED]})
    # Beyond those, names that differ in their numbers are taken for equal.
    alike = {_without_numbers(name): told[paths[name]] for name in likely[:MOST_SNIFFED] if told[paths[name]].is_trace}
    found, others = [], []
    for name in likely:
        sniffed = told.get(paths[name])
        if sniffed is None:
            sniffed = alike.get(_without_numbers(name), Sniffed())._replace(rank=names.rank_of(name))
        if sniffed.is_trace and sniffed.is_pytorch:
            host = names.likely_host(name)
            rank = (name if sniffed.rank is None else None, sniffed.rank)
            found.append(TraceFile(name, host, rank, 0, _without_rank(host, sniffed.rank)))
        elif sniffed.is_trace:
            others.append(name)
    return found, others


def _without_numbers(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _without_rank(host: str, rank: int | None) -> str:
    """The name of a trace without the rank in it, `rank0_step_10` as `step_10`."""
    if rank is None:
        return host
    short = re.sub(rf"(?i)[._-]*(?:rank|tp|gpu|worker)[._-]?0*{rank}(?!\d)", "", host)
    return short.strip("._-") or host


def _natural(text: str) -> list[tuple[str, int]]:
    """A text's parts, so that `step_9` comes before `step_10`."""
    return [(word, int(digits or 0)) for word, digits in re.findall(r"(\D*)(\d*)", text)]


def _by_rank(found: list[TraceFile]) -> list[TraceFile]:
    """The traces of each worker by rank: several ranks are hosts of their own; of a single one not all may tell it."""
    ranks: dict[str | None, set[int]] = {}
    for trace in found:
        worker, rank = trace.rank
        ranks.setdefault(worker, set()).update(() if rank is None else (rank,))
    told = []
    for trace in found:
        worker, rank = trace.rank
        several = len(ranks[worker]) > 1
        host = f"{trace.host} rank {rank}" if several and worker is not None and rank is not None else trace.host
        told.append(replace(trace, host=host, rank=(worker, rank if several else None)))
    return told


def recordings(traces: Iterable[TraceFile], listed: Mapping[str, FileStat]) -> dict[str, list[TraceFile]]:
    """The traces by recording: under "" the newest of each rank, then the earlier ones under a name of their own.

    Traces that hold nothing come behind all others of their rank.
    """
    of_rank: dict[tuple[str | None, int | None], list[TraceFile]] = {}
    for trace in traces:
        of_rank.setdefault(trace.rank, []).append(trace)
    by_age: list[list[TraceFile]] = []
    for of_one in of_rank.values():
        order = sorted(of_one, key=lambda trace: (listed[trace.name].usable, *trace.age, trace.name))
        for age, trace in enumerate(reversed(order)):
            if age and not listed[trace.name].usable:
                continue
            by_age += [[] for _ in range(age + 1 - len(by_age))]
            by_age[age].append(trace)
    newest = {trace.what for trace in by_age[0]} if by_age else set()
    found: dict[str, list[TraceFile]] = {}
    for age, group in enumerate(by_age):
        found[_label(group, newest, found) if age else ""] = group
    return found


def _label(group: list[TraceFile], newest: set[str], taken: Iterable[str]) -> str:
    """A name for an earlier recording: what it is of, unless the newest is of the same, and when it was written."""
    last = max(group, key=lambda trace: (*trace.age, trace.name))
    name = "" if last.what in newest and last.stamp else last.what
    return names.unique_name(" ".join(filter(None, (name, last.stamp))), taken)
