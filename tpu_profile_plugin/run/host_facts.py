"""Reads the facts of one host's file: planes, event names and modules, without decoding its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import PYTORCH
from tpu_profile_plugin.analysis.common.reasons import TORCH_MEMORY
from tpu_profile_plugin.analysis.compare.host_work import program_name
from tpu_profile_plugin.analysis.devices.cpu_collectives import is_collective
from tpu_profile_plugin.analysis.devices.cpu_tf import runs_tensorflow
from tpu_profile_plugin.analysis.devices.cpu_torch import runs_pytorch
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.analysis.serving import has_requests
from tpu_profile_plugin.analysis.summary.framework import declared_frameworks, in_order, names_pytorch, not_recorded
from tpu_profile_plugin.analysis.summary.missing_events import mended_times, missing_events
from tpu_profile_plugin.analysis.tf_data import has_iterators
from tpu_profile_plugin.columns import Plane, XSpace, load, peek, stats
from tpu_profile_plugin.errors import Problem
from tpu_profile_plugin.formats import CUT, LEFT_OUT, Skipped, Unpacked
from tpu_profile_plugin.run.facts import PlaneFact, RunFacts, combine_facts, largest_programs
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts

_COUNTER = "counter_value"
_DEVICE_TYPE = "device_type_string"
_MEGASCALE = "MegaScale:"
_MOST_PARTS = 3
"""Damaged parts of a file that are reported one by one."""
_COPY_AGAIN = "Copy the file again in binary mode, or record again."


@per_host()
def host_facts(host: HostProfile) -> RunFacts:
    """The facts of one host."""
    return file_facts(host.name, host.content, host.lazy)


def file_facts(host: str, content: Unpacked, times: XSpace | None = None) -> RunFacts:
    """The facts of one host's file; `times`: columns that tell what is with its times. Raises CorruptProfile."""
    data, skipped = content.space, content.skipped
    summary = peek(data)
    space = load(data, planes=("/device:", "/host:CPU"), events=False)
    programs = HloPrograms(space, {module.program_id: module for module in summary.hlo_modules})
    threads = [plane for plane in space.planes if plane.name == "/host:CPU"]
    torch = [plane for plane in threads if runs_pytorch(plane)]
    wrote = declared_frameworks(threads, [module.name for module in summary.hlo_modules])
    if any(names_pytorch(plane) for plane in space.planes if "/device:GPU" in plane.name):
        wrote |= {PYTORCH}
    missing = not_recorded(torch[0], (one for one in space.planes if "/device:GPU" in one.name)) if torch else ()
    frameworks = in_order(wrote)
    planes = tuple(PlaneFact(host, plane.name, plane.lines, plane.bytes) for plane in summary.planes)
    return RunFacts(
        hosts=(host,),
        planes=planes,
        modules=tuple((module.name, module.program_id) for module in summary.hlo_modules),
        program_bytes=largest_programs((program_name(name), programs.size(i)) for i, name in programs.names.items()),
        device_types=tuple(kind for plane in space.planes for kind in _device_type(space, plane)),
        counter_values=any(
            plane.name.startswith("/device:TPU:") and plane.stat_metadata.row(_COUNTER) is not None
            for plane in space.planes
        ),
        megascale=any(name.startswith(_MEGASCALE) for plane in threads for name in plane.event_metadata.names),
        requests=any(map(has_requests, threads)),
        tf_data=any(map(has_iterators, threads)),
        tf_executor=any(map(runs_tensorflow, threads)),
        pytorch=bool(torch),
        frameworks=frameworks,
        torch_collectives=any(is_collective(name) for plane in torch for name in plane.event_metadata.names),
        not_recorded=missing,
        torch_memory=bool(torch) and TORCH_MEMORY not in missing,
        losses=tuple(
            replace(problem, host=host)
            for problem in (
                *_left_out(skipped),
                *(() if times is None else mended_times(times.impossible, times.clocks)),
                *(() if times is None else missing_events(times, programs, frameworks)),
                *_broken_modules(summary.broken_modules),
                *(Problem("too_many", text) for text in summary.excess),
            )
        ),
    )


def frameworks_of(run: RunHosts) -> tuple[str, ...]:
    """The frameworks that wrote the profiles of a run, the most important first."""
    return combine_facts([facts for facts in run.examine_hosts(host_facts) if isinstance(facts, RunFacts)]).frameworks


def _left_out(skipped: Sequence[Skipped]) -> Iterator[Problem]:
    """Reports parts of a file that were left out or repaired: of a kind the first ones each, the rest as a number."""
    for code in dict.fromkeys(part.code for part in skipped):
        parts = [part for part in skipped if part.code == code]
        remedy = _COPY_AGAIN if code in (LEFT_OUT, CUT) else ""
        for part in parts[:_MOST_PARTS]:
            yield Problem(code, part.sentence, offset=part.offset, remedy=remedy, count=part.bytes or None)
        if more := parts[_MOST_PARTS:]:
            lost = sum(part.bytes for part in more)
            what = (
                f"parts, {lost:,} bytes from offset {more[0].offset:,}, were left out as well"
                if lost
                else "of the kind"
            )
            text = f"{len(more)} more {what}."
            yield Problem(code, text, offset=more[0].offset, remedy=remedy, count=lost or None)


def _broken_modules(broken: Sequence[tuple[str, str, int]]) -> Iterator[Problem]:
    """Reports HLO modules that do not decode."""
    if not broken:
        return
    _, message, offset = broken[0]
    names = ", ".join(name for name, _, _ in broken[:3]) + (", ..." if len(broken) > 3 else "")
    subject = f"HLO module {names} does" if len(broken) == 1 else f"{len(broken)} HLO modules ({names}) do"
    text = f"{subject} not decode: {message}. The rest of the file is shown."
    yield Problem("damaged_module", text, offset=offset, remedy=_COPY_AGAIN, count=len(broken))


def count_events(data: bytes | memoryview) -> int:
    """The number of events of a profile. Raises CorruptProfile."""
    space = load(np.frombuffer(data, np.uint8))
    return sum(len(plane.events.duration_ps) for plane in space.planes)


def _device_type(space: XSpace, plane: Plane) -> Iterable[str]:
    """The device type stat of a device plane, else the kind in its name; nothing for other planes."""
    if not plane.name.startswith("/device:"):
        return
    codes, texts = stats.strings(space, plane, plane.stats, _DEVICE_TYPE)
    if len(codes) and codes[0] >= 0:
        yield texts[codes[0]]
    else:
        kind = plane.name.removeprefix("/device:").partition(":")[0]
        if kind in ("TPU", "GPU"):
            yield kind
