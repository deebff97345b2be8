"""The timeline of a run as a Chrome trace (JSON), written host after host without a limit on events."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tpu_profile_plugin.analysis.timeline.host import HostTrace, host_trace, older_trace
from tpu_profile_plugin.analysis.timeline.window import TraceArgs, legacy_parts, trace_args
from tpu_profile_plugin.export.timelines import clock_shifts, opened, utf8
from tpu_profile_plugin.export.write import Form, Options, Report
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.preprocessing import preprocess
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.time.trace_viewer.timelines import pid_offset
from tpu_profile_plugin.tools.time.trace_viewer.trace_events import HEAD, TAIL, names_as_text


def _write(run: Run, path: Path, options: Options, report: Report) -> None:
    shifts = clock_shifts(run) if options.align else {}
    hosts = _timelines(run, shifts, report)
    with opened(path) as write:
        write(HEAD)
        for position, (name, trace, args) in enumerate(hosts):
            offset = pid_offset(position) if len(run.readable) > 1 else 0
            write(names_as_text(f"{name} " if offset else "", trace, offset))
            for part in legacy_parts(trace, args, offset):
                write(part)
        write(TAIL)


def _timelines(run: Run, shifts: dict[str, int], report: Report) -> Iterator[tuple[str, HostTrace, TraceArgs]]:
    """One host after the other; the columns of the one before are dropped."""
    for host, (trace, args) in run.iterate_hosts(partial(_timeline, shifts)):
        report(f"{host.name}, {len(trace.native):,} events")
        yield utf8(host.name), trace, args
        del trace, args
        host.release()


def _timeline(shifts: dict[str, int], host: HostProfile) -> tuple[HostTrace, TraceArgs]:
    shift = shifts.get(host.name, 0)
    space = host.space.shifted(shift) if shift else host.space
    extras = preprocess(space)
    trace = older_trace(space, extras) or host_trace(space, extras)
    return trace, trace_args(space, trace, folded=False)


CHROME = Form("chrome", "a Chrome trace, JSON", directory=False, takes=("align",), write=_write)
