"""XProf's JSON forms of several hosts, made one host after the other: memory grows with the answer, not with the hosts.

A host contributes what the answer needs of it, and is dropped before the next one is read. Hosts that cannot be read
are left out.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tpu_profile_plugin.analysis.timeline.host import HostTrace
from tpu_profile_plugin.analysis.timeline.window import (
    Packed,
    Selection,
    Text,
    Window,
    counter_events,
    gzip_file,
    packed_events,
    trace_args,
    typed_events,
    whole,
)
from tpu_profile_plugin.errors import TooLarge
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.payload import Raw
from tpu_profile_plugin.tools.time.trace_viewer import json_forms
from tpu_profile_plugin.tools.time.trace_viewer.timelines import args_of, older_timeline_of, timeline_of
from tpu_profile_plugin.units import MIB

_P = TypeVar("_P")

MOST_EVENTS = 10_000_000
"""Of an answer without arguments, of about five bytes per event."""
MOST_WITH_ARGS = 1_000_000
"""Of an answer with arguments, of some hundred bytes per event."""
_KEPT_BYTES = 64 * MIB
"""Hosts stay in memory, for the next question, while their files are smaller together."""


class Asked(Protocol):
    """See `xprof_forms.Events`."""

    @property
    def with_args(self) -> bool: ...
    @property
    def full_dma(self) -> bool: ...
    def select(self, trace: HostTrace, position: int, hosts: int) -> Selection: ...


@dataclass(frozen=True, slots=True)
class _Part:
    """What one host contributes; without events where it would make the answer too large."""

    count: int
    samples: int
    window: Window | None
    has_tpu: bool
    names: tuple[dict[str, dict[str, str]], list[str]]
    counters: bytes = b""
    packed: Packed | None = None
    typed: bytes = b""


def streaming(run: Run, shifts: Sequence[int], asked: Asked) -> Raw:
    """The streaming form. Raises TooLarge."""
    hosts = len(run.profiles)
    most = MOST_WITH_ARGS if asked.with_args else MOST_EVENTS
    parts: list[_Part] = []

    def part_of(host: HostProfile, position: int) -> _Part:
        trace = timeline_of(host, shifts[position])
        selection = asked.select(trace, position, hosts)
        fits = sum(part.count for part in parts) + len(selection) <= most
        return _part(host, position, trace, selection, with_args=asked.with_args, fits=fits)

    for part in _each(run, part_of):
        parts.append(part)
        check_size(sum(part.count for part in parts), hosts, with_args=asked.with_args)
    windows = [part.window for part in parts if part.window is not None]
    window = (min(begin for begin, _ in windows), max(end for _, end in windows)) if windows else (0, 0)
    has_tpu, samples = any(part.has_tpu for part in parts), sum(part.samples for part in parts)
    facts = json_forms.facts_of(has_tpu, window, full_dma=asked.full_dma and not asked.with_args)
    fixed = json_forms.head_of([part.names for part in parts])
    counters = [part.counters for part in parts if part.counters] if samples <= json_forms.MOST_SAMPLES else []
    tail = json_forms.tail_of(sum(part.count for part in parts), samples)
    if asked.with_args:
        return Raw(b"".join([facts, fixed[0], *counters, *(part.typed for part in parts), tail]), disk=False)
    texts = [_packed(json_forms.deflated(facts)), _packed(fixed)]
    texts += [_packed(json_forms.deflated(text)) for text in counters]
    texts += [part.packed for part in parts if part.packed is not None]
    body = gzip_file([*texts, _packed(json_forms.deflated(tail))])
    return Raw(body, disk=False, encoding="gzip", memory=len(body) <= _KEPT_BYTES)


def legacy(run: Run) -> bytes:
    """The whole trace in the older form."""
    hosts = len(run.profiles)

    def part_of(host: HostProfile, position: int) -> tuple[bytes, bytes]:
        older = older_timeline_of(host)
        args = trace_args(host.space, older, folded=False) if older else args_of(host, False)
        return json_forms.legacy_part((host.name, older or timeline_of(host, 0)), args, position, hosts)

    return json_forms.legacy(list(_each(run, part_of)))


def check_size(events: int, hosts: int, *, with_args: bool = False) -> None:
    """Raises TooLarge if an answer would have too many events."""
    most = MOST_WITH_ARGS if with_args else MOST_EVENTS
    if events <= most:
        return
    fewer = "fewer hosts ('hosts'), " if hosts > 1 else ""
    without = ", or no arguments ('full_args=0')" if with_args else ""
    raise TooLarge(
        f"The timeline would have more than {most:,} events. Ask for {fewer}a shorter window ('start_time_ms', "
        f"'end_time_ms') or a coarser 'resolution'{without}; `tpu-profile export` writes all events to a file.",
        events=events,
        limit=most,
    )


def _each(run: Run, make: Callable[[HostProfile, int], _P]) -> Iterator[_P]:
    """What `make` gives for each host and its position, in order; hosts are dropped once they take up much memory."""
    position = {id(host): i for i, host in enumerate(run.profiles)}
    kept = 0
    if len(position) > 1:
        run.report_progress(len(position), run.profiles)
    for host, part in run.iterate_hosts(lambda host: make(host, position[id(host)])):
        kept += host.size
        if len(position) > 1:
            run.report_progress(len(position), run.profiles[position[id(host)] + 1 :])
            if kept > _KEPT_BYTES:
                host.drop()
        yield part


def _part(
    host: HostProfile, position: int, trace: HostTrace, selection: Selection, *, with_args: bool, fits: bool
) -> _Part:
    has_events = len(trace.native) or trace.sampled_ps is not None
    args = args_of(host, True)
    return _Part(
        count=len(selection),
        samples=selection.samples,
        window=whole([trace]) if has_events else None,
        has_tpu=trace.has_tpu,
        names=json_forms.names_part((host.name, trace), position, args.stack),
        counters=counter_events(selection) if fits else b"",
        packed=packed_events(selection) if fits and not with_args else None,
        typed=typed_events(selection, args) if fits and with_args else b"",
    )


def _packed(text: Text) -> Packed:
    plain, blocks = text
    return blocks, zlib.crc32(plain), len(plain)
