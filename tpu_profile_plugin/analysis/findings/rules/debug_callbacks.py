"""A compiled program calls Python in each step, and the device waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.common.spans import Times, covered_within, intersect, join, subtract
from tpu_profile_plugin.analysis.devices.model import busy
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.on_host.callbacks import callback_ops, host_times, op_times, tensorflow_times
from tpu_profile_plugin.analysis.findings.periods import share_of_saving
from tpu_profile_plugin.analysis.findings.places import TIMELINE, shown, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.findings.thresholds import LEAST_SHARE
from tpu_profile_plugin.units import PS_PER_MS

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.findings.host_view import HostView

ADVICE = Advice(
    "Remove the call into Python from the compiled step, or make it every N-th step. Return what it needs as a result "
    "of the step and handle it on the host after the next step is launched.",
    jax="Remove jax.debug.print and the callbacks from the jitted step, or put them under jax.lax.cond so that they "
    "run every N-th step. Values for logs are better returned from the step, from a lax.scan as its stacked outputs.",
    tensorflow="Replace tf.py_function and tf.numpy_function by TensorFlow ops, and tf.print by a metric that is read "
    "every N-th step. Python runs one call at a time and outside of the graph's threads.",
)


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Callbacks of one host's steps.

    Attributes:
      cells: steps times devices, steps without devices; steps: how many.
      length_ps: time from step to step, lost_ps: in callbacks, both summed over cells.
      calls: of all devices, in the recording.
      name, kind, source: the op with most time, what it is, and the line that made it or "".
      window: the longest.
    """

    cells: int
    steps: int
    length_ps: int
    lost_ps: int
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
    begin, end = host.windows
    if not len(begin) or not (ops or events or in_steps.count):
        return None
    window = begin, end
    lost, calls, times, most = 0, in_steps.count, on_host, None
    for device in host.devices:
        during, name, count = op_times(device, ops)
        during = join(during, in_steps.times)
        idle = intersect(subtract((begin[:1], end[-1:]), busy(device)), on_host)
        lost += int(covered_within(*join(during, idle), *window).sum())
        calls += count
        most = most or name
        times = join(times, during)
    if not host.devices:
        lost = int(covered_within(*on_host, *window).sum())
    op = ops[most] if most else next(iter(ops.values()), None)
    event = in_steps.event or event
    return Callbacks(
        len(begin) * max(len(host.devices), 1),
        len(begin),
        int((end - begin).sum()) * max(len(host.devices), 1),
        lost,
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
    """Speaks if callbacks take `LEAST_SHARE` of the time of any host's steps."""
    found = [(one, host) for one, host in zip(gathered, run.hosts, strict=True) if one is not None]
    if not found:
        return Silence("The programs do not call Python.")
    worst, host = max(found, key=lambda one: one[0].lost_ps / one[0].length_ps)
    share = worst.lost_ps / worst.length_ps
    if share < LEAST_SHARE:
        return Silence(f"Calls from programs into Python take {share:.1%} of the {run.base}.")
    cells = max(sum(one.cells for one, _ in found), run.budget.duration_ps.size)
    lost = sum(one.lost_ps for one, _ in found) // cells
    share, base = share_of_saving(run, lost, between=lost > run.step_ps)
    per_step = worst.calls / worst.cells
    where = timeline(host, *worst.window)
    evidence = [
        Evidence(f"In callbacks, of the {base}", 100 * share, "%", TIMELINE, where),
        Evidence(f"In callbacks per {run.base}", worst.lost_ps / worst.cells / PS_PER_MS, "ms"),
        Evidence(f"Callbacks per {run.base} and device", round(per_step, 1)),
        Evidence("Op", worst.name, "", TIMELINE, timeline(host, *worst.window, worst.name)),
    ]
    if worst.source:
        evidence.append(Evidence("Line", worst.source))
    place = f" at {worst.source}" if worst.source else ""
    return Finding(
        f"Calls into Python take {share:.1%} of the {base}: {worst.kind}{place}, {round(per_step, 1):g} per {run.base}",
        lost,
        "time in ops that call Python, and idle time while Python runs for them, per step and device",
        "high",
        tuple(evidence),
        ADVICE,
        (host,),
        lost > run.step_ps,
    )


RULE = Rule("debug_callbacks", "Calls from programs into Python", judge, gather)
