"""Reads one session directory: its hosts, and the problems with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tpu_profile_plugin.logdir import names
from tpu_profile_plugin.logdir.files import Files, FileStat
from tpu_profile_plugin.logdir.model import (
    UNREADABLE,
    UNREADABLE_DIRECTORY,
    HostFile,
    Problem,
    RunFiles,
    unreadable_directory,
)


def open_run(files: Files, path: str, name: str, directory: str) -> RunFiles:
    """The run in the directory `path` with its current files; raises FileNotFoundError or NotADirectoryError."""
    session = name.rsplit("/", 1)[-1]
    try:
        listed = files.stat_files(path).files
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        problem = Problem(UNREADABLE_DIRECTORY, unreadable_directory("the directory of this run", error))
        return RunFiles(name, session, directory, (), (problem,))
    hosts: list[HostFile] = []
    others: list[HostFile] = []
    problems: list[Problem] = []
    replaced = _replaced(listed)
    for file_name in sorted(listed):
        file = _host_file(files, path, file_name, listed[file_name], [h.host for h in hosts])
        if file is None:
            continue
        if file_name in replaced:
            problems.append(_not_read(file_name, replaced[file_name]))
        elif file.problem is not None and file.kind == "xplane":
            problems.append(file.problem)
        (hosts if file.kind == "xplane" and file_name not in replaced else others).append(file)
    shown = _with_trace_json(_with_captures(files, path, hosts), others)
    problems += _run_problems(listed, any(file.kind == "xplane" for file in shown), bool(shown or others))
    return RunFiles(name, session, directory, tuple(shown), tuple(problems))


def _replaced(listed: Mapping[str, FileStat]) -> dict[str, str]:
    """Ignored profile -> the file of the same host that is read instead: the record file, as in XProf;
    an XSpace, or the newest, for traces of one PyTorch process; one that holds nothing only if all do.
    """
    replaced: dict[str, str] = {}
    of_worker: dict[str, list[tuple[bool, bool, int, str]]] = {}
    traces = {name: trace for name in listed if (trace := names.pytorch_trace(name))}
    for name, (worker, written) in traces.items():
        of_worker.setdefault(worker, []).append((_usable(listed[name]), False, written, name))
    for worker, found in of_worker.items():
        if (plain := worker + names.XPLANE) in listed:
            found.append((_usable(listed[plain]), True, 0, plain))
        best = max(found)[-1]
        replaced |= {name: best for *_, name in found if name != best}
    for name in listed:
        plain = name.removesuffix(names.RIEGELI) + names.XPLANE
        if name.endswith(names.RIEGELI) and plain in listed:
            replaced |= {plain: name} if _usable(listed[name]) else {name: plain}
    return replaced


def _usable(status: FileStat) -> bool:
    return status.fault is None and status.size > 0


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
        if names.is_capture(name) and _usable(status)
    ]
    return [replace(file, captures=_captures_of(file, captures)) for file in hosts]


def _captures_of(file: HostFile, captures: list[HostFile]) -> tuple[HostFile, ...]:
    if names.pytorch_trace(file.name) is None:
        return ()
    rank = names.rank_of(file.name)
    own = [capture for capture in captures if rank is not None and names.rank_of(capture.name) == rank]
    return tuple(own or captures)


def _with_trace_json(hosts: list[HostFile], others: list[HostFile]) -> list[HostFile]:
    """The profiles, an empty one replaced by its host's trace.json.gz; every trace.json.gz if there is no profile."""
    empty = {file.host for file in hosts if file.size == 0}
    usable = [file for file in others if file.problem is None and (not hosts or file.host in empty)]
    replaced = {file.host for file in usable}
    rest = [file for file in hosts if file.host not in replaced]
    return sorted([*rest, *usable], key=lambda file: file.name)


def _host_file(files: Files, path: str, file_name: str, status: FileStat, taken: list[str]) -> HostFile | None:
    known = names.host_and_kind(file_name)
    if known is None:
        return None
    host, kind = known
    host = names.printable(host)
    if kind == "xplane":
        host = names.unique_name(host, taken)
    name = names.printable(file_name)
    problem = _file_problem(name, status)
    return HostFile(host, files.join(path, file_name), status.size, status.mtime_ns, kind, name, status.tag, problem)


_FAULTS = {
    "unreadable": "The server may not read {name}.",
    "broken": "{name} is a link to a file that does not exist.",
    "loop": "{name} is a link that leads back to itself.",
    "directory": "{name} is a directory, not a file.",
    "special": "{name} is not a regular file.",
}


def _file_problem(name: str, status: FileStat) -> Problem | None:
    if status.fault is not None:
        return Problem(UNREADABLE, _FAULTS[status.fault].format(name=name), name)
    if status.size == 0:
        message = f"{name} is empty (0 bytes): the capture ended before it wrote anything, or is still running."
        return Problem("empty_file", message, name)
    return None


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
    if listed:
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


def _not_read(left: str, read: str) -> Problem:
    left, read = names.printable(left), names.printable(read)
    return Problem("second_file", f"{left} is ignored: {read} of the same host is shown instead.", left)
