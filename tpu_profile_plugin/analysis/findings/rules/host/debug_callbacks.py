"""A compiled program calls Python in each step, and the device waits for it.

Fires if callbacks, and idle time while Python runs for them, take at least {LEAST_SHARE:.0%} of the time from step to
step.

Remove the call from the compiled step, make it every N-th step, or return its values as a result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import PARTS
from tpu_profile_plugin.analysis.common.planes import spans_at
from tpu_profile_plugin.analysis.common.rows import sums_by
from tpu_profile_plugin.analysis.common.spans import Times, join, no_time, subtract, times_of
from tpu_profile_plugin.analysis.devices.cpu_tf import NAME as CPU_TENSORFLOW
from tpu_profile_plugin.analysis.devices.model import Device, Op, busy
from tpu_profile_plugin.analysis.findings import part_advice
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE as LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.places import event, lasting, shown
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.columns import EventFilter
from tpu_profile_plugin.columns.arrays import I64, U32, Bools

_KINDS = r"debug_print|debug_callback|io_callback|pure_callback|outside_call|id_tap"
_OP = re.compile(rf"(?:.*/)?(?:{_KINDS})(?:\[.{{0,1000}}\])?(?:[._]\d{{1,20}}){{0,16}}:?\Z", re.DOTALL)
"""Names of HLO instructions, and framework ops as op statistics spell them."""
_POSSIBLE = re.compile(rf"{_KINDS}|callback|^custom-call")
_HOST = re.compile(
    r"\$callback\.py:\d+ _wrapped_callback\Z|\$debugging\.py:\d+ debug_callback_impl\Z"
    r"|^xla_(?:ffi_)?python_(?:cpu|gpu)_callback|:(?:Eager)?PyFunc(?:Stateless)?\Z|:PrintV2?\Z"
)
_DATA = "Iterator::"


@dataclass(frozen=True, slots=True, eq=False)
class _Calls:
    """Calls into Python on a device, or on threads of the host: when, how many, and the op or event with most time.

    Attributes:
      kind, source: what that op is, and the line that made it; "" if unknown.
    """

    times: Times
    count: int = 0
    name: str = ""
    kind: str = ""
    source: str = ""


def _on_device(host: HostView, device: Device) -> _Calls:
    """The ops of a device that call Python, without those of input pipelines."""
    runs = device.runs
    if device.name == CPU_TENSORFLOW and host.plane is not None:
        return _events(
            host.plane.event_metadata.names, host.plane.events.metadata[runs.event], runs.begin_ps, runs.end_ps
        )
    framework = {}
    if host.summary.device.op_ps:
        table = host.summary.device
        framework = {
            (module % 2**64, name): op
            for module, name, op in zip(table.module, table.name, table.provenance, strict=True)
        }
    told = [_framework_op(host, op, framework) for op in device.ops]
    python = np.array(
        [any(map(_OP.match, (text, op.name))) for op, text in zip(device.ops, told, strict=True)], np.bool_
    )
    runs = runs.where(python[runs.op])
    if not len(runs):
        return _Calls(no_time())
    most = int(sums_by(runs.op, runs.end_ps - runs.begin_ps, len(python)).argmax())
    op = device.ops[most]
    kind = re.search(_KINDS, told[most]) or re.search(_KINDS, op.name)
    file, line, _ = host.hlo.source(op.program, op.name)
    source = f"{file.rpartition('/')[2]}:{line}" if file else ""
    return _Calls(times_of(runs.begin_ps, runs.end_ps), len(runs), op.name, kind[0] if kind else op.name, source)


def _framework_op(host: HostView, op: Op, known: Mapping[tuple[int, str], str]) -> str:
    """The framework op of an op, as op statistics have it, else the program; "" if unknown or of no interest."""
    if known or not _POSSIBLE.search(op.name):
        return known.get((op.program, op.name), "")
    program = host.hlo.programs.program(op.program)
    row = None if program is None else program.row_of.get(op.name)
    return program.op_names[row] if program is not None and row is not None else ""


def _on_host(host: HostView) -> _Calls:
    """Callbacks on threads of the host.

    None if an input pipeline was recorded with Python ops: those in the pipeline look the same.
    """
    plane = host.plane
    names = plane.declared.event_metadata.names if plane is not None else ()
    tensorflow = any(":" in name and _HOST.search(name) for name in names if not name.startswith("$"))
    if (
        plane is None
        or not any(map(_HOST.search, names))
        or (tensorflow and any(name.startswith(_DATA) for name in names))
    ):
        return _Calls(no_time())
    if not plane.decoded:
        (plane,) = host.space.filtered(EventFilter(plane, event=lambda name: _HOST.search(name) is not None))
    return _events(plane.event_metadata.names, plane.events.metadata, *spans_at(plane, slice(None)))


def _events(names: Sequence[str], row: U32, begin: I64, end: I64) -> _Calls:
    """Which of the events are calls into Python."""
    python: Bools = np.array([_HOST.search(name) is not None for name in names], np.bool_)[row]
    if not python.any():
        return _Calls(no_time())
    name = shown(names[int(sums_by(row[python], (end - begin)[python], len(names)).argmax())])
    times = times_of(begin, end, python)
    return _Calls(times, int(python.sum()), name, name.rpartition(":")[2])


ADVICE = part_advice.PARTS["debug callbacks"]


def gather(host: HostView) -> HostLoss | None:
    """The callbacks of one host, in ops of its devices and while these are idle; None without any."""
    if host.spent is None:
        return None
    on_host, on_devices = _on_host(host), [_on_device(host, device) for device in host.devices]
    found = [one for one in (*on_devices, on_host) if one.count]
    if not found:
        return None
    spans = [
        join(one.times, subtract(on_host.times, busy(device)))
        for one, device in zip(on_devices, host.devices, strict=True)
    ]
    by_part = host.by_part(spans or [on_host.times], PARTS)
    times, most = join(*(one.times for one in found)), found[0]
    longest = int((times[1] - times[0]).argmax())
    window = int(times[0][longest]), int(times[1][longest])
    calls = round((sum(one.count for one in on_devices) or on_host.count) / host.time.cells, 1)
    evidence = [
        lasting("Longest callback", host.name, window),
        Evidence(f"Callbacks per {host.per} and device", calls),
        event("Op", host.name, window, most.name),
    ]
    if most.source:
        evidence.append(Evidence("Source line", most.source))
    place = f" at {most.source}" if most.source else ""
    return HostLoss(by_part, f"{most.kind}{place}, {calls:g} per {host.per}", tuple(evidence), ADVICE)


def judge(run: RunView, gathered: Sequence[HostLoss | None]) -> Finding | Silence:
    """The verdict on the host that loses most to callbacks."""
    return verdict(
        run,
        gathered,
        title="Calls into Python take {share} of the {base}: {what}",
        label="Callbacks and waits for them",
        formula="time in ops that call Python, and idle time while Python runs for them, per step and device",
        nothing="No program calls Python.",
        little="Calls from programs into Python take {share} of the {base}.",
    )


RULE = Rule("debug_callbacks", "Calls from programs into Python", judge, gather)
