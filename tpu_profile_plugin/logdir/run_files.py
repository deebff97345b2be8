"""The run in a directory: the files of its hosts, and the problems with them.

Of the traces of PyTorch in a directory, one per rank belongs to the run. Earlier ones are recordings of their own: a
profiler with `schedule(repeat=...)`, and Lightning with a trace per phase, leave several traces of one rank. Memory
snapshots beside other profiles are a recording of their own as well.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tpu_profile_plugin.errors import StorageFailed
from tpu_profile_plugin.logdir import names
from tpu_profile_plugin.logdir.files import Files, FileStat
from tpu_profile_plugin.logdir.model import (
    STORAGE_DENIED,
    UNREADABLE,
    UNREADABLE_DIRECTORY,
    FileKind,
    HostFile,
    Problem,
    RunFiles,
    empty_file,
    unreadable_directory,
)
from tpu_profile_plugin.logdir.sniff import Sniffed, Tries, is_known, sniff, sniff_all
from tpu_profile_plugin.suffixes import RIEGELI, XPLANE

SNAPSHOTS = "memory snapshots"
"""The recording that memory snapshots beside other profiles are."""

MOST_SNIFFED = 256
"""Files of a directory that are looked into."""

_PHASE = re.compile(r"(?:fit|validate|test|predict|sanity_check)-")
"""Lightning names traces by phase and action: `fit-training_step`, `fit-0-validation_step`."""
_PHASE_RANK = re.compile(r"(?<![a-z_])([a-z_]+)-(\d+)-")
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
    heads = sniff_all(files, {files.join(path, name): listed[name] for name in unclear[:MOST_SNIFFED]})
    ranked = []
    for name, (worker, time) in sorted(traces.items()):
        phase = _PHASE.match(worker) is not None
        rank = heads.get(files.join(path, name), Sniffed()).rank
        if phase and rank is None and (named := _PHASE_RANK.match(worker)):
            rank = int(named[2])
        what = _PHASE_RANK.sub(r"\1-", worker) if phase else worker
        ranked.append(TraceFile(name, worker, (None if phase else worker, rank), time, what))
    return _by_rank(ranked)


def sniffed_files(
    files: Files, path: str, listed: Mapping[str, FileStat], is_likely: Callable[[str], bool] = names.is_likely
) -> tuple[list[TraceFile], list[str], list[TraceFile]]:
    """Of the files with likely names: traces of PyTorch, the names of other traces of events, memory snapshots."""
    likely = sorted(filter(is_likely, listed))
    paths = {name: files.join(path, name) for name in likely}
    heads = sniff_all(files, {paths[name]: listed[name] for name in likely[:MOST_SNIFFED]})
    # Beyond those, names that differ in their numbers are taken for equal.
    alike = {
        _without_numbers(name): heads[paths[name]] for name in likely[:MOST_SNIFFED] if heads[paths[name]].is_profile
    }
    traces, others, snapshots = [], [], []
    for name in likely:
        sniffed = heads.get(paths[name])
        if sniffed is None:
            sniffed = alike.get(_without_numbers(name), Sniffed())._replace(rank=names.rank_of(name))
        if sniffed.is_trace and sniffed.is_pytorch:
            host = names.likely_host(name)
            rank = (name if sniffed.rank is None else None, sniffed.rank)
            traces.append(TraceFile(name, host, rank, 0, _without_rank(host, sniffed.rank)))
        elif sniffed.is_trace:
            others.append(name)
        elif sniffed.is_snapshot:
            snapshots.append(TraceFile(name, names.likely_host(name), (name, None), 0, name))
    return traces, others, snapshots


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


def _by_rank(traces: list[TraceFile]) -> list[TraceFile]:
    """The traces of each worker by rank: several ranks are hosts of their own; of a single one not all may tell it."""
    ranks: dict[str | None, set[int]] = {}
    for trace in traces:
        worker, rank = trace.rank
        ranks.setdefault(worker, set()).update(() if rank is None else (rank,))
    ranked = []
    for trace in traces:
        worker, rank = trace.rank
        several = len(ranks[worker]) > 1
        host = f"{trace.host} rank {rank}" if several and worker is not None and rank is not None else trace.host
        ranked.append(replace(trace, host=host, rank=(worker, rank if several else None)))
    return ranked


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
    by_label: dict[str, list[TraceFile]] = {}
    for age, group in enumerate(by_age):
        by_label[_label(group, newest, by_label) if age else ""] = group
    return by_label


def _label(group: list[TraceFile], newest: set[str], taken: Iterable[str]) -> str:
    """A name for an earlier recording: what it is of, unless the newest is of the same, and when it was written."""
    last = max(group, key=lambda trace: (*trace.age, trace.name))
    name = "" if last.what in newest and last.stamp else last.what
    return names.unique_name(" ".join(filter(None, (name, last.stamp))), taken)


_MOST_TRIED = 16
"""Files of a directory that are looked into to tell whether it is a run."""


def open_run(files: Files, path: str, name: str, directory: str, recording: str = "") -> RunFiles:
    """The run in the directory `path` with its current files; raises FileNotFoundError or NotADirectoryError.

    `recording`: an earlier one of the directory, by the name that `earlier_recordings` gives it.
    """
    session = name.rsplit("/", 1)[-1]
    try:
        listed = files.stat_files(path).files
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        problem = Problem(UNREADABLE_DIRECTORY, unreadable_directory("the directory of this run", error))
        return RunFiles(name, session, directory, (), (problem,))
    except StorageFailed as error:
        if error.code != STORAGE_DENIED:
            raise
        return RunFiles(name, session, directory, (), (Problem(error.code, error.message),))
    recorded = _recordings(files, path, listed)
    if recording:
        return _earlier(files, path, listed, recorded.traces.get(recording, []), (name, session, directory))
    hosts: list[HostFile] = []
    others: list[HostFile] = []
    problems: list[Problem] = []
    replaced = _replaced(listed, recorded)
    trace_hosts = {trace.name: trace.host for trace in recorded.traces.get("", [])}
    for file_name in sorted(listed):
        if file_name in recorded.likely or file_name in trace_hosts:
            host = trace_hosts.get(file_name, names.likely_host(file_name))
            profile: tuple[str, FileKind] | None = (host, recorded.kind(file_name))
        else:
            profile = names.host_and_kind(file_name)
        if profile is None:
            continue
        file = _host_file(files, path, file_name, listed[file_name], profile, hosts)
        if file_name in replaced:
            problems.append(_not_read(file_name, replaced[file_name], recorded.label(file_name), name))
        elif file.problem is not None and file.kind == "xplane":
            problems.append(file.problem)
        (hosts if file.kind == "xplane" and file_name not in replaced else others).append(file)
    if not recorded.likely and trace_hosts:
        problems += _other_traces(files, path, listed)
    shown = _with_trace_json(_with_captures(files, path, hosts), others)
    problems += _run_problems(listed, any(file.kind == "xplane" for file in shown), bool(shown or others))
    return RunFiles(name, session, directory, tuple(shown), tuple(problems))


def earlier_recordings(files: Files, path: str, file_names: Sequence[str]) -> tuple[str, ...]:
    """The names of the earlier recordings among these files of a directory, which are runs. Raises OSError."""
    several = may_be_several(file_names) or (_only_likely(file_names) and len(file_names) > 1)
    if not several and not (any(map(names.is_pickle, file_names)) and any(map(names.is_xplane, file_names))):
        return ()
    return tuple(label for label in _recordings(files, path, files.stat_files(path).files).traces if label)


def holds_run(files: Files, path: str, file_names: Sequence[str], tries: Tries | None = None) -> bool | None:
    """Whether a directory with these files is a run: a name tells, or the content of a few. Raises OSError.

    None if that may change without another name: `tries` are used up, or a file holds nothing yet.
    """
    if any(map(names.is_xplane, file_names)):
        return True
    if not _only_likely(file_names):
        return False
    listed = files.stat_files(path).files
    likely = [name for name in file_names if names.is_likely(name) and name in listed][:_MOST_TRIED]
    for name in likely:
        place, status = files.join(path, name), listed[name]
        if tries is not None and not is_known(files, place, status) and not tries.take():
            return None
        if sniff(files, place, status).is_profile:
            return True
    return None if any(not listed[name].size for name in likely) else False


def _only_likely(file_names: Iterable[str]) -> bool:
    """Whether there may be traces of other names, and no profile of a known one."""
    return any(map(names.is_likely, file_names)) and not any(map(names.is_xplane, file_names))


@dataclass(frozen=True, slots=True)
class _Recordings:
    """Traces of PyTorch by recording, the newest under ""; of files with likely names those that are traces."""

    traces: dict[str, list[TraceFile]]
    all: tuple[TraceFile, ...] = ()
    likely: frozenset[str] = frozenset()

    def kind(self, file_name: str) -> FileKind:
        return "xplane" if any(trace.name == file_name for trace in self.all) else "trace.json.gz"

    def label(self, file_name: str) -> str:
        """The recording that a trace is of."""
        return next((label for label, group in self.traces.items() if any(t.name == file_name for t in group)), "")


def _recordings(files: Files, path: str, listed: Mapping[str, FileStat]) -> _Recordings:
    """What is recorded in a directory; likely names count where no profile of a known name holds anything."""
    if any(status.usable for name, status in listed.items() if names.is_xplane(name)):
        traces = trace_files(files, path, listed)
        _, _, snapshots = sniffed_files(files, path, listed, names.is_pickle)
        return _Recordings(_with_snapshots(recordings(traces, listed), snapshots, SNAPSHOTS), tuple(traces))
    traces, others, snapshots = sniffed_files(files, path, listed)
    named = any(kind and kind[1] == "trace.json.gz" for kind in map(names.host_and_kind, listed))
    likely = [trace.name for trace in traces] + ([] if named else others)
    traces += trace_files(files, path, listed)
    label = SNAPSHOTS if traces or likely or named else ""
    if not label:
        likely += [snapshot.name for snapshot in snapshots]
    by_label = _with_snapshots(recordings(traces, listed), snapshots, label)
    return _Recordings(by_label, (*traces, *([] if label else snapshots)), frozenset(likely))


def _with_snapshots(
    by_label: dict[str, list[TraceFile]], snapshots: list[TraceFile], label: str
) -> dict[str, list[TraceFile]]:
    return by_label | {label: snapshots} if snapshots else by_label


def _earlier(
    files: Files, path: str, listed: Mapping[str, FileStat], traces: Sequence[TraceFile], of_run: tuple[str, str, str]
) -> RunFiles:
    """The run of an earlier recording; raises FileNotFoundError if there is none of the name any more."""
    hosts: list[HostFile] = []
    for trace in traces:
        hosts.append(_host_file(files, path, trace.name, listed[trace.name], (trace.host, "xplane"), hosts))
    if not hosts:
        raise FileNotFoundError(path)
    return RunFiles(*of_run, tuple(_with_captures(files, path, hosts)), earlier=True)


def _replaced(listed: Mapping[str, FileStat], recorded: _Recordings) -> dict[str, str]:
    """Ignored profile -> the file of the same host that is read instead: the record file, as in XProf;
    an XSpace, or the newest, for traces of one rank; one that holds nothing only if all do.
    """
    read: dict[tuple[str | None, int | None], str] = {}
    replaced: dict[str, str] = {}
    for trace in recorded.traces.get("", ()):
        read[trace.rank] = trace.name
        named = names.pytorch_trace(trace.name)
        if named is not None and (plain := named[0] + XPLANE) in listed:
            if listed[plain].usable or not listed[trace.name].usable:
                read[trace.rank] = replaced[trace.name] = plain
            else:
                replaced[plain] = trace.name
    newest = {trace.name for trace in recorded.traces.get("", ())}
    replaced |= {trace.name: read[trace.rank] for trace in recorded.all if trace.name not in newest}
    for name in listed:
        plain = name.removesuffix(RIEGELI) + XPLANE
        if name.endswith(RIEGELI) and plain in listed:
            replaced |= {plain: name} if listed[name].usable else {name: plain}
    return replaced


def _with_captures(files: Files, path: str, hosts: list[HostFile]) -> list[HostFile]:
    """Traces of PyTorch with those of captures beside the run: of the same rank if names tell it, else all."""
    if not any(names.pytorch_trace(file.name) for file in hosts):
        return hosts
    directory = files.join(path, names.CAPTURES)
    try:
        listed = files.stat_files(directory).files
    except OSError:
        return hosts
    captures = [
        HostFile("", files.join(directory, name), status.size, status.mtime_ns, "xplane", name, status.tag)
        for name, status in sorted(listed.items())
        if names.is_capture(name) and status.usable
    ]
    return [replace(file, captures=_captures_of(file, captures)) for file in hosts]


def _captures_of(file: HostFile, captures: list[HostFile]) -> tuple[HostFile, ...]:
    if names.pytorch_trace(file.name) is None:
        return ()
    rank = names.rank_of(file.name)
    of_rank = [capture for capture in captures if rank is not None and names.rank_of(capture.name) == rank]
    return tuple(of_rank or captures)


def _with_trace_json(hosts: list[HostFile], others: list[HostFile]) -> list[HostFile]:
    """The profiles, an empty one replaced by its host's trace.json.gz; every trace.json.gz if there is no profile."""
    empty = {file.host for file in hosts if file.size == 0}
    usable = [file for file in others if file.problem is None and (not hosts or file.host in empty)]
    replaced = {file.host for file in usable}
    rest = [file for file in hosts if file.host not in replaced]
    return sorted([*rest, *usable], key=lambda file: file.name)


_FAULTS = {
    "unreadable": "The server may not read {name}.",
    "broken": "{name} is a link to a file that does not exist.",
    "loop": "{name} is a link that leads back to itself.",
    "directory": "{name} is a directory, not a file.",
    "special": "{name} is not a regular file.",
}


def _host_file(
    files: Files, path: str, file_name: str, status: FileStat, profile: tuple[str, FileKind], hosts: list[HostFile]
) -> HostFile:
    """The file of a host, by a name that none of `hosts` has."""
    host, kind = names.printable(profile[0]), profile[1]
    if kind == "xplane":
        host = names.unique_name(host, [other.host for other in hosts])
    name = names.printable(file_name)
    problem = None if status.size else empty_file(name)
    if status.fault is not None:
        problem = Problem(UNREADABLE, _FAULTS[status.fault].format(name=name), name)
    return HostFile(
        *(host, files.join(path, file_name), status.size, status.mtime_ns, kind, name, status.tag, problem),
        ctime_ns=status.ctime_ns,
    )


def _run_problems(listed: Mapping[str, FileStat], hosts: bool, others: bool) -> list[Problem]:
    if hosts:
        return []
    if others:
        return [
            Problem(
                "trace_json_only",
                "This run contains only trace.json.gz files: the timeline shows them, the other tools need a "
                "<host>.xplane.pb file.",
            )
        ]
    if any(name.endswith(names.OLD_RESULTS) for name in listed):
        return [
            Problem(
                "old_format",
                "This run contains only per-tool results written by plugins before 2025; the tools need a "
                "<host>.xplane.pb file. Capture the profile again.",
            )
        ]
    return [
        Problem(
            "empty_session",
            "This run is empty: its directory has no <host>.xplane.pb file. The capture failed, or is still running.",
        )
    ]


def _other_traces(files: Files, path: str, listed: Mapping[str, FileStat]) -> list[Problem]:
    """Names traces of PyTorch that other names hide behind those that profilers give."""
    likely = [name for name in sorted(listed) if names.is_likely(name)][:_MOST_TRIED]
    heads = sniff_all(files, {files.join(path, name): listed[name] for name in likely})
    hidden = [names.printable(name) for name, head in zip(likely, heads.values(), strict=True) if head.is_pytorch]
    if not hidden:
        return []
    message = (
        f"{', '.join(hidden)}: not shown, because other traces are named as PyTorch names them. Open it by its path."
    )
    return [Problem("other_traces", message, hidden[0])]


def _not_read(left: str, read: str, recording: str, run: str) -> Problem:
    left, read = names.printable(left), names.printable(read)
    if recording:
        message = f"{left} is another recording of the rank of {read}, and is run {recording_name(run, recording)}."
    else:
        message = f"{left} is ignored: {read} of the same host is shown instead."
    return Problem("second_file", message, left)


def recording_name(run: str, recording: str) -> str:
    return f"{run}/{names.printable(recording)}"
