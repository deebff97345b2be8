"""The timeline of a run as a file: for Perfetto, and as a Chrome trace without the trace viewer's limit on events."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

from tpu_profile_plugin.analysis.timeline.host import HostTrace, Titles, host_trace, older_trace, titles
from tpu_profile_plugin.analysis.timeline.packets import Packets
from tpu_profile_plugin.analysis.timeline.tracks import CONTEXT_ARGS, broken
from tpu_profile_plugin.analysis.timeline.window import TraceArgs, legacy_parts, trace_args
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.export.write import Form, Options, Report
from tpu_profile_plugin.run.figures.budget import run_communication
from tpu_profile_plugin.run.figures.summary import preprocess
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.time.trace_viewer.timelines import pid_offset
from tpu_profile_plugin.tools.time.trace_viewer.trace_events import HEAD, TAIL, names_as_text

_LEVEL = 1


def _clock_shifts(run: Run) -> dict[str, int]:
    """What to add to the times of each host, in ps, so that its clock agrees with the first one's.

    As the page Communication measures it, by collectives that end together. Raises NoData if that is not possible for
    a host.
    """
    if len(run.readable) < 2:
        return {}
    communication = run_communication(run)
    hosts = [host.name for host in run.readable]
    offsets = dict(zip(communication.hosts, communication.offsets, strict=True))
    first = communication.hosts[0] if communication.hosts else 0
    unknown = [name for i, name in enumerate(hosts) if offsets.get(i) is None and i != first]
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        message = (
            f"The clock of host {unknown[0]}{more} cannot be compared with that of {hosts[first]}: "
            "too few collectives of all devices were recorded. Export without --align."
        )
        raise NoData(message)
    return {hosts[i]: offset.offset_ps for i, offset in offsets.items() if offset is not None}


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Callable[[bytes], object]]:
    """Writes to a new file, compressed if its name ends with `.gz`."""
    with path.open("xb") as file:
        if path.suffix != ".gz":
            yield file.write
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=file, mtime=0) as packed:
            yield packed.write


def _utf8(name: str) -> str:
    """The name of a file as text that can be written: other bytes become question marks."""
    return name.encode(errors="replace").decode()


def _write_perfetto(run: Run, path: Path, options: Options, report: Report) -> None:
    shifts = _clock_shifts(run) if options.align else {}
    several = len(run.readable) > 1
    packets = Packets()
    with _opened(path) as write:
        for host, timeline in run.iterate_hosts(_page_timeline):
            name, shift, events = _utf8(host.name), shifts.get(host.name, 0), len(timeline[0].native)
            reported = 0
            for part in packets.of_host(name, *timeline, several=several, shift_ps=shift):
                write(part)
                if packets.done != reported:
                    report(f"{name}, {packets.done:,} of {events:,} events")
                    reported = packets.done
            del timeline
            host.release()


def _page_timeline(host: HostProfile) -> tuple[HostTrace, TraceArgs, Titles]:
    space = host.space
    trace = host_trace(space, broken(space, preprocess(space)))
    return trace, trace_args(space, trace, folded=True, hidden=CONTEXT_ARGS), titles(space, trace)


def _write_chrome(run: Run, path: Path, options: Options, report: Report) -> None:
    shifts = _clock_shifts(run) if options.align else {}
    hosts = _chrome_timelines(run, shifts, report)
    with _opened(path) as write:
        write(HEAD)
        for position, (name, trace, args) in enumerate(hosts):
            offset = pid_offset(position) if len(run.readable) > 1 else 0
            write(names_as_text(f"{name} " if offset else "", trace, offset))
            for part in legacy_parts(trace, args, offset):
                write(part)
        write(TAIL)


def _chrome_timelines(run: Run, shifts: dict[str, int], report: Report) -> Iterator[tuple[str, HostTrace, TraceArgs]]:
    """One host after the other; the columns of the one before are dropped."""
    for host, (trace, args) in run.iterate_hosts(lambda host: _chrome_timeline(host, shifts.get(host.name, 0))):
        report(f"{host.name}, {len(trace.native):,} events")
        yield _utf8(host.name), trace, args
        del trace, args
        host.release()


def _chrome_timeline(host: HostProfile, shift: int) -> tuple[HostTrace, TraceArgs]:
    space = host.space.shifted(shift) if shift else host.space
    extras = preprocess(space)
    trace = older_trace(space, extras) or host_trace(space, extras)
    return trace, trace_args(space, trace, folded=False)


PERFETTO = Form("perfetto", "a trace for ui.perfetto.dev", directory=False, takes=("align",), write=_write_perfetto)
CHROME = Form("chrome", "a Chrome trace, JSON", directory=False, takes=("align",), write=_write_chrome)
