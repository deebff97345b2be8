"""The host waits for results within steps, and the devices have nothing to do afterwards.

Fires if the host waits for at least {BLOCKED_SHARE:.0%} of the time from step to step, or several times
per step and for most of what it launches, and devices are idle for {AFTER_CALLS_SHARE:.0%} of the time after these
calls. Time of compilation does not count.

Read values less often, several at once, or after the next step is launched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN
from tpu_profile_plugin.analysis.budget.categories import IDLE_COMPILE
from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE
from tpu_profile_plugin.analysis.common.rows import sums_by
from tpu_profile_plugin.analysis.findings.evidence.host.code import HostCode, code_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import TIMELINE, per_step, share_of, shown, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_MS

BLOCKED_SHARE = 0.30
"""Share of the step that the host waits for results: healthy programs wait as well."""
AFTER_CALLS_SHARE = 0.10
"""Idle time after the waits, as a share of the step: tells harmful waits from waits during which devices work."""

_NAMES = (
    (re.compile(r"\b(?:_item|item)\Z|aten::item|_local_scalar_dense"), ".item()"),
    (re.compile(r"__float__\Z"), "float()"),
    (re.compile(r"__(?:int|index)__\Z"), "int()"),
    (re.compile(r"__bool__\Z"), "bool()"),
    (re.compile(r"asarray|\b(?:_value|__array__|array)\Z"), "np.asarray()"),
    (re.compile(r"[Bb]lock_?[Uu]ntil_?[Rr]eady"), "block_until_ready()"),
    (re.compile(r"Buffer::Await\Z"), "block_until_ready() or a like function"),
    (re.compile(r"\bdevice_get\Z"), "jax.device_get()"),
    (re.compile(r"\b_?numpy\Z"), ".numpy()"),
    (re.compile(r"\btolist\Z"), ".tolist()"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Fetches:
    """Calls that wait for results on one host.

    Attributes:
      cells: steps times devices that take part; steps: how many; length_ps: time from step to step, summed over cells.
      running_ps: `length_ps` without compilation, which may be in a single step and as long as many others.
      calls: in steps; blocked_ps: time in them, summed over steps.
      after_ps: idle time after them, summed over cells.
      call, place: the kind of call with most idle time after it, and the frame of the program's code around it, or "".
      in_lockstep: the host waits several times per step, and for most of what it launches.
      window: the call with the longest idle time after it, and that idle time.
      by_part: the idle time by part of the time budget, int64[c + 1].
    """

    cells: int
    steps: int
    length_ps: int
    running_ps: int
    calls: int
    blocked_ps: int
    after_ps: int
    call: str
    place: str
    in_lockstep: bool
    window: tuple[int, int]
    by_part: I64

    @property
    def blocked(self) -> float:
        """Share of the time from step to step in which the host waits."""
        return self.blocked_ps * (self.cells / self.steps) / self.length_ps

    @property
    def after(self) -> float:
        """Share of idle time after the calls."""
        return self.after_ps / self.length_ps

    @property
    def harmful(self) -> bool:
        """The host waits for `BLOCKED_SHARE` or in lockstep, and devices are idle after it for `AFTER_CALLS_SHARE`."""
        longer = self.length_ps / self.running_ps
        often = self.in_lockstep or self.blocked * longer >= BLOCKED_SHARE
        return often and self.after * longer >= AFTER_CALLS_SHARE


def gather(host: HostView) -> Fetches | None:
    """The calls of one host; None without any, or if the devices are hardly idle."""
    code = code_of(host)
    if code is None or host.steps is None or not len(code.after):
        return None
    spans, blame = code.after, host.blame
    row = int(spans.ps.argmax())
    of_span = np.maximum(np.searchsorted(code.fetches.begin_ps, spans.begin_ps, side="right") - 1, 0)
    name, place = _where(code, sums_by(of_span, spans.ps, len(code.fetches)))
    call = int(of_span[row])
    compiling = int(blame.ps[blame.part % BETWEEN == IDLE_COMPILE].sum())
    return Fetches(
        host.time.cells,
        len(host.steps),
        code.length_ps,
        max(code.length_ps - compiling, 1),
        code.fetched,
        code.blocked_ps,
        spans.total(),
        next((call for pattern, call in _NAMES if pattern.search(name)), shown(name)),
        place,
        code.in_lockstep,
        (int(code.fetches.begin_ps[call]), int(spans.end_ps[row])),
        spans.by_part(host),
    )


def _where(code: HostCode, ps: I64) -> tuple[str, str]:
    """Name of the calls with most idle time after them, and the function that contains most of those."""
    names = code.calls.main.names
    best = int(sums_by(code.fetches.name, ps, len(names)).argmax())
    rows = np.flatnonzero((code.fetches.name == best) & (ps > 0))
    place, _ = code.calls.most(code.calls.function[code.calls.stacks.at(code.fetches.begin_ps[rows])], ps[rows])
    return names[best], place


ADVICE = Advice(
    "Fetch values less often, or one step late: launch the next step first, then read the results of the last one. "
    "Several values that are read at the same time should be fetched together.",
    jax="Keep results as jax.Array and read them every N-th step, or after the next step is launched; "
    "float(), .item() and block_until_ready() wait for the device. jax.device_get of a whole tree fetches many values "
    "at once, and a loop over small steps belongs into lax.scan.",
    tensorflow="Keep results as tensors (a tf.keras.metrics object adds them up) and call .numpy() or float() every "
    "N-th step. A loop whose next step depends on a value belongs into one tf.function.",
    keras="Read logs and metrics in callbacks every N-th batch: each read waits for the device. Several batches per "
    "call (steps_per_execution in compile()) read them once.",
    pytorch="Keep results as tensors, and call .item(), .cpu() or print them every N-th step. Each of these calls "
    "waits until the device has finished, and the host launches nothing meanwhile.",
    pytorch_xla="Keep results as tensors and call .item() or .cpu() every N-th step, or in xm.add_step_closure, "
    "which runs after the step's graph. A value that is read before splits the graph.",
)


def judge(run: RunView, gathered: Sequence[Fetches | None]) -> Finding | Silence:
    """The verdict on the host with most idle time after waits."""
    if not run.has_devices:
        return lacks(NO_DEVICE)
    known = run.present(gathered)
    if not known:
        return Silence("No idle time follows a wait for results.")
    worst, host = max(known, key=lambda one: one[0].after_ps)
    if not worst.harmful:
        return Silence(
            f"The host waits {worst.blocked:.1%} of the {run.base} for results; devices then idle {worst.after:.1%}."
        )
    place = f" in {shown(worst.place)}" if worst.place else ""
    lost = run.located([one.by_part for one, _ in known])
    return Finding(
        f"Devices idle {lost.share:.1%} of the {run.base} after {_calls(run, worst)}{place}",
        lost.ps,
        "idle time from the end of a device's work, for which the host waits, to the next launch, without code that is "
        "known to run meanwhile; per step and device",
        "high" if worst.place else "medium",
        _evidence(run, worst, host, lost),
        ADVICE,
        (host,),
        lost.segments,
    )


def _calls(run: RunView, worst: Fetches) -> str:
    per_step = round(worst.calls / worst.steps, 1)
    calls = f"{per_step:g} call{'' if per_step == 1 else 's'} of {worst.call}"
    return calls if run.whole_recording else f"{calls} per step"


def _evidence(run: RunView, worst: Fetches, host: str, lost: Lost) -> tuple[Evidence, ...]:
    where = timeline(host, *worst.window)
    find = timeline(host, *worst.window, worst.place) if worst.place else where
    return (
        share_of("Devices idle after such calls", lost, run.base),
        per_step("Devices idle after such calls", lost, run.per),
        Evidence("Longest idle time after a call, with the call", (worst.window[1] - worst.window[0]) / PS_PER_MS, "ms",
                 TIMELINE, where),
        Evidence(f"Host in such calls, of the {run.base}", 100 * worst.blocked, "%"),
        Evidence(f"Calls per {run.per}", round(worst.calls / worst.steps, 1)),
        Evidence("Kind of call", worst.call),
        *([Evidence("Function", shown(worst.place), "", TIMELINE, find)] if worst.place else []),
    )  # fmt: skip


RULE = Rule("host_sync", "Waiting for results in steps", judge, gather, ("split_graph",))
