"""A compiled program calls Python in each step, and the device waits for it.

Fires if callbacks, and idle time while Python runs for them, take at least {LEAST_SHARE:.0%} of the time from step to
step.

Remove the call from the compiled step, make it every N-th step, or return its values as a result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import PARTS
from tpu_profile_plugin.analysis.common.planes import device_planes
from tpu_profile_plugin.analysis.common.spans import Times, join, no_time, subtract, times_of
from tpu_profile_plugin.analysis.devices.cpu_tf import NAME as CPU_TENSORFLOW
from tpu_profile_plugin.analysis.devices.model import Device, busy
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.places import TIMELINE, per_step, share_of, shown, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.columns import EventFilter
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_MS

_KINDS = r"debug_print|debug_callback|io_callback|pure_callback|outside_call|id_tap"
_OP = re.compile(rf"(?:.*/)?(?:{_KINDS})(?:\[.*\])?(?:[._]\d+)*:?\Z", re.DOTALL)
"""Names of HLO instructions, and framework ops as op statistics spell them."""
_POSSIBLE = re.compile(rf"{_KINDS}|callback|^custom-call")
_HOST = re.compile(
    r"\$callback\.py:\d+ _wrapped_callback\Z|\$debugging\.py:\d+ debug_callback_impl\Z"
    r"|^xla_(?:ffi_)?python_(?:cpu|gpu)_callback|:(?:Eager)?PyFunc(?:Stateless)?\Z|:PrintV2?\Z"
)
_DATA = "Iterator::"


@dataclass(frozen=True, slots=True)
class CallbackOp:
    """An op that calls Python: its program, name, framework op and the line that made it ("" if unknown)."""

    program: int
    name: str
    kind: str
    source: str


def callback_ops(host: HostView) -> dict[tuple[int, str], CallbackOp]:
    """The ops of a host's devices that call Python, by program and name; only names are read where there are none."""
    if host.summary.has_device or device_planes(host.space):
        table = host.summary.device
        rows = zip(table.module, table.name, table.provenance, strict=True)
        ops = [(module % 2**64, name, op) for module, name, op in rows if _OP.match(op) or _OP.match(name)]
    else:
        ops = _cpu_ops(host)
    return {(module, name): _describe(host, module, name, op) for module, name, op in ops}


def _cpu_ops(host: HostView) -> list[tuple[int, str, str]]:
    """Program, name and framework op of the CPU backend's ops that call Python."""
    plane = host.plane
    if plane is None or not any(_POSSIBLE.search(name) for name in plane.declared.event_metadata.names):
        return []
    ops = []
    for key in {(op.program, op.name) for device in host.devices for op in device.ops if _POSSIBLE.search(op.name)}:
        program = host.hlo.programs.program(key[0])
        row = None if program is None else program.row_of.get(key[1])
        op_name = program.op_names[row] if program is not None and row is not None else ""
        if _OP.match(op_name) or _OP.match(key[1]):
            ops.append((*key, op_name))
    return ops


def _describe(host: HostView, program: int, name: str, op: str) -> CallbackOp:
    file, line, _ = host.hlo.source(program, name)
    kind = re.search(_KINDS, op) or re.search(_KINDS, name)
    return CallbackOp(program, name, kind[0] if kind else name, f"{file.rpartition('/')[2]}:{line}" if file else "")


def op_times(device: Device, ops: dict[tuple[int, str], CallbackOp]) -> tuple[Times, tuple[int, str] | None, int]:
    """When a device ran such ops, the one with most time, and how many runs there were."""
    chosen = np.array([(op.program, op.name) in ops for op in device.ops], np.bool_)
    runs = device.runs.where(chosen[device.runs.op])
    if not len(runs):
        return no_time(), None, 0
    sums = np.zeros(len(device.ops), np.int64)
    np.add.at(sums, runs.op, runs.end_ps - runs.begin_ps)
    most = device.ops[int(sums.argmax())]
    return times_of(runs.begin_ps, runs.end_ps), (most.program, most.name), len(runs)


@dataclass(frozen=True, slots=True, eq=False)
class PythonOps:
    """Ops of TensorFlow that call Python: when, the event with most time, and how many runs."""

    times: Times = field(default_factory=no_time)
    event: str = ""
    count: int = 0


def tensorflow_times(host: HostView) -> PythonOps:
    """TensorFlow's CPU ops that call Python, input pipelines excluded."""
    if not host.budget.devices or host.budget.devices[0][0] != CPU_TENSORFLOW or host.plane is None:
        return PythonOps()
    if not any(map(_HOST.search, host.plane.declared.event_metadata.names)):
        return PythonOps()
    names, (device, *_) = host.plane.event_metadata.names, host.devices
    row = host.plane.events.metadata[device.runs.event]
    python = np.array([_HOST.search(name) is not None for name in names], np.bool_)[row]
    if not python.any():
        return PythonOps()
    begin, end = device.runs.begin_ps[python], device.runs.end_ps[python]
    sums = np.zeros(len(names), np.int64)
    np.add.at(sums, row[python], end - begin)
    return PythonOps(times_of(begin, end), names[int(sums.argmax())], len(begin))


def host_times(host: HostView) -> tuple[Times, str, int]:
    """When threads of the host ran callbacks, the event with most time, and how many there were.

    Nothing if an input pipeline was recorded with Python ops: those in the pipeline look the same.
    """
    plane = host.plane
    if plane is None:
        return no_time(), "", 0
    names = plane.declared.event_metadata.names
    tensorflow = any(":" in name and _HOST.search(name) for name in names if not name.startswith("$"))
    if not any(map(_HOST.search, names)) or (tensorflow and any(name.startswith(_DATA) for name in names)):
        return no_time(), "", 0
    if not plane.decoded:
        (plane,) = host.space.filtered(EventFilter(plane, event=lambda name: _HOST.search(name) is not None))
    wanted = np.array([_HOST.search(name) is not None for name in plane.event_metadata.names], np.bool_)
    rows = wanted[plane.events.metadata]
    begin, duration = plane.events.begin_ps[rows], plane.events.duration_ps[rows]
    times = times_of(begin, begin + duration)
    if not len(times[0]):
        return times, "", 0
    sums = np.zeros(len(wanted), np.int64)
    np.add.at(sums, plane.events.metadata[rows], duration)
    return times, plane.event_metadata.names[int(sums.argmax())], len(times[0])


ADVICE = Advice(
    "Remove the call into Python from the compiled step, or make it every N-th step. Return what it needs as a result "
    "of the step and handle it on the host after the next step is launched.",
    jax="Remove jax.debug.print and the callbacks from the jitted step, or put them under jax.lax.cond so that they "
    "run every N-th step. Values for logs are better returned from the step, from a lax.scan as its stacked outputs.",
    tensorflow="Replace tf.py_function and tf.numpy_function by TensorFlow ops, and tf.print by a metric that is read "
    "every N-th step. Python runs one call at a time and outside of the graph's threads.",
)


@dataclass(frozen=True, slots=True, eq=False)
class Callbacks:
    """Callbacks of one host's steps.

    Attributes:
      cells: steps times devices that take part, steps without devices.
      lost_ps: time in callbacks, summed over cells; by_part: the same by part of the time budget, int64[c + 1].
      calls: of all devices, in the recording.
      name, kind, source: the op with most time, what it is, and the line that made it or "".
      window: the longest.
    """

    cells: int
    lost_ps: int
    by_part: I64
    calls: int
    name: str
    kind: str
    source: str
    window: tuple[int, int]


def gather(host: HostView) -> Callbacks | None:
    """The callbacks of one host; None without any."""
    ops = callback_ops(host)
    on_host, event, events = host_times(host)
    in_steps = tensorflow_times(host)
    if host.spent is None or not (ops or events or in_steps.count):
        return None
    calls, times, most = in_steps.count, on_host, None
    of_devices = [] if host.devices else [on_host]
    for device in host.devices:
        during, name, count = op_times(device, ops)
        during = join(during, in_steps.times)
        of_devices.append(join(during, subtract(on_host, busy(device))))
        calls += count
        most = most or name
        times = join(times, during)
    by_part = host.by_part(of_devices, PARTS)
    op = ops[most] if most else next(iter(ops.values()), None)
    event = in_steps.event or event
    return Callbacks(
        host.time.cells,
        int(by_part.sum()),
        by_part,
        calls or events,
        op.name if op else shown(event),
        op.kind if op else shown(event).rpartition(":")[2],
        op.source if op else "",
        _longest(times),
    )


def _longest(times: Times) -> tuple[int, int]:
    row = int((times[1] - times[0]).argmax()) if len(times[0]) else -1
    return (int(times[0][row]), int(times[1][row])) if row >= 0 else (0, 0)


def judge(run: RunView, gathered: Sequence[Callbacks | None]) -> Finding | Silence:
    """The verdict on the host that loses most to callbacks."""
    known = run.present(gathered)
    if not known:
        return Silence("No program calls Python.")
    worst, host = max(known, key=lambda one: one[0].lost_ps / one[0].cells)
    lost = run.located([one.by_part for one, _ in known])
    if lost.share < LEAST_SHARE:
        return Silence(f"Calls from programs into Python take {lost.share:.1%} of the {run.base}.")
    calls = worst.calls / worst.cells
    where = timeline(host, *worst.window)
    evidence = [
        share_of("Callbacks and waits for them", lost, run.base),
        per_step("Callbacks and waits for them", lost, run.per),
        Evidence("Longest callback", (worst.window[1] - worst.window[0]) / PS_PER_MS, "ms", TIMELINE, where),
        Evidence(f"Callbacks per {run.per} and device", round(calls, 1)),
        Evidence("Op", worst.name, "", TIMELINE, timeline(host, *worst.window, worst.name)),
    ]
    if worst.source:
        evidence.append(Evidence("Source line", worst.source))
    place = f" at {worst.source}" if worst.source else ""
    return Finding(
        f"Calls into Python take {lost.share:.1%} of the {run.base}: {worst.kind}{place}, {round(calls, 1):g} per "
        f"{run.per}",
        lost.ps,
        "time in ops that call Python, and idle time while Python runs for them, per step and device",
        "high",
        tuple(evidence),
        ADVICE,
        (host,),
        lost.segments,
    )


RULE = Rule("debug_callbacks", "Calls from programs into Python", judge, gather)
