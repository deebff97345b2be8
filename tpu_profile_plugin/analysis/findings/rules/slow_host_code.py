"""Devices are idle because the host runs code of its own: names the function and its line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import IDLE_HOST
from tpu_profile_plugin.analysis.common.keys import row_codes
from tpu_profile_plugin.analysis.common.spans import covered_within, union
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.places import TIMELINE, shown, timeline
from tpu_profile_plugin.analysis.findings.rules import not_compiled
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.findings.thresholds import LEAST_SHARE, SHORT_GAP_PS
from tpu_profile_plugin.units import PS_PER_MS

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.findings.host_view import HostView
    from tpu_profile_plugin.analysis.findings.spans import HostCode, IdleSpans

ADVICE = Advice(
    "Move this work to another thread or process so that it runs while the devices compute, or make it cheaper. "
    "The devices have nothing to do until it has finished.",
    jax="Prepare the next batch on another thread or process while the devices compute; JAX returns before they have "
    "finished. Work on arrays that are already on a device belongs into the jitted function.",
    tensorflow="Move this work into the tf.data pipeline (map with num_parallel_calls, then prefetch) or into the "
    "tf.function. A Keras callback that takes long should run every N-th step.",
)
UNTRACED = Advice(
    "Record again with Python functions: the profile only tells that the host was late, not in which function. "
    "Then this finding names the function and its line.",
    jax="Record again with python_tracer_level=1 in jax.profiler.ProfileOptions; the profile has no Python functions. "
    "Then this finding names the function and its line.",
    tensorflow="Look at what the loop and its callbacks do between calls of TensorFlow: that runs while nothing is "
    "computed. Versions that record Python functions (2.15 does) name them with python_tracer_level=1.",
)


_SAME = 5e-5
_UNKNOWN = "; Python functions were not recorded"


@dataclass(frozen=True, slots=True)
class SlowCode:
    """Code of one host that devices wait for.

    Attributes:
      cells: steps times devices; period_ps: from step to step, on average.
      lost_ps: idle time, summed over both; between: some of it between the end of a step and the begin of the next.
      name, inner: the function behind most of it and the deepest event in it; "" if nothing is known of the code.
      name_ps: idle time because of it.
      window: the longest wait for it.
    """

    cells: int
    period_ps: int
    lost_ps: int
    between: bool
    name: str
    inner: str
    name_ps: int
    window: tuple[int, int]


def gather(host: HostView) -> SlowCode | None:
    """The code that costs most on a host; None if there is none."""
    code = host.code
    if code is None:
        return None
    spans = code.slow if len(code.slow.ps) or code.traced else code.unknown
    if not_compiled.fires(host):
        # What Python does between two operations of a step that is not compiled is that rule's.
        spans = spans.where(spans.end_ps - spans.begin_ps >= SHORT_GAP_PS)
    if not len(spans.ps):
        return None
    own, inner, ps, rows = _most(code, spans)
    longest = rows[int(np.argmax(spans.ps[rows]))]
    return SlowCode(
        code.cells,
        code.length_ps // code.cells,
        spans.total(),
        _within(host, spans) < (1 - LEAST_SHARE) * spans.total(),
        code.names[own] if own >= 0 else "",
        code.names[inner] if inner >= 0 else "",
        ps,
        (int(spans.begin_ps[longest]), int(spans.end_ps[longest])),
    )


def _most(code: HostCode, spans: IdleSpans) -> tuple[int, int, int, np.ndarray]:
    """Names of the function and the event in it with most idle time, that time, and its spans."""
    own = np.where(spans.user >= 0, spans.user, spans.event)
    name = np.where(own >= 0, code.events.name[own], -1) if len(code.events) else own
    event = np.where(spans.event >= 0, code.events.name[spans.event], -1) if len(code.events) else own
    best, rows, ps = _largest(name, spans.ps, np.arange(len(name)))
    inner, _, _ = _largest(event, spans.ps, rows)
    return best, inner, ps, rows


def _largest(key: np.ndarray, ps: np.ndarray, rows: np.ndarray) -> tuple[int, np.ndarray, int]:
    """The key of those rows with the largest sum, its rows, and the sum."""
    number, first = row_codes(key[rows])
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, number, ps[rows])
    best = int(sums.argmax())
    return int(key[rows][first[best]]), rows[number == best], int(sums[best])


def _within(host: HostView, spans: IdleSpans) -> int:
    """The part of the spans that is in steps, between their begin and their end."""
    return int(covered_within(*union(*host.marks), spans.begin_ps, spans.end_ps).sum())


def judge(run: RunView, gathered: Sequence[SlowCode | None]) -> Finding | Silence:
    """Speaks if idle time that code of the main thread covers takes `LEAST_SHARE` of the time from step to step."""
    found = [(one, host) for one, host in zip(gathered, run.hosts, strict=True) if one is not None]
    if not run.budget.devices and not found:
        return Silence("The profile has no device whose idle time could be explained.", looked=False)
    cells = max(run.budget.duration_ps.size, sum(one.cells for one, _ in found), 1)
    lost = sum(one.lost_ps for one, _ in found) // cells
    period = max([run.step_ps, *(one.period_ps for one, _ in found)])
    if lost < LEAST_SHARE * period or not found:
        share = lost / period if period else 0.0
        return Silence(f"Devices are idle for {share:.1%} of the {run.base} because of code on the host.")
    worst, host = max(found, key=lambda one: one[0].lost_ps)
    base = "time from step to step" if worst.between else run.base
    share = lost / (period if worst.between else run.step_ps or period)
    return Finding(
        _title(run, worst, share, base),
        lost,
        "idle time that one event of the main thread covers to at least 80%, from step to step and per device"
        if run.budget.devices
        else "time of the main thread outside of calls into TensorFlow, per step",
        "high" if worst.name.startswith("$") else "medium",
        (_share(run, base, share), *_evidence(run, worst, host)),
        ADVICE if worst.name.startswith("$") else UNTRACED,
        (host,),
        worst.between,
    )


def _title(run: RunView, worst: SlowCode, share: float, base: str) -> str:
    if run.budget.devices:
        code = f"code on the host: {shown(worst.name)}" if worst.name else f"the host{_UNKNOWN}"
        return f"Devices wait {share:.1%} of the {base} for {code}"
    code = f": {shown(worst.name)}" if worst.name else _UNKNOWN
    return f"Code outside of TensorFlow takes {share:.1%} of the {base}{code}"


def _share(run: RunView, base: str, share: float) -> Evidence:
    """The share, with the page that shows the same number if one does."""
    same = base == run.base and abs(run.share(run.part_ps(IDLE_HOST)) - share) < _SAME
    what = "Idle because of host code" if run.budget.devices else "Main thread outside of TensorFlow"
    return Evidence(f"{what}, of the {base}", 100 * share, "%", "time_budget" if same else "")


def _evidence(run: RunView, worst: SlowCode, host: str) -> list[Evidence]:
    found = []
    if worst.name:
        found.append(Evidence("Function", shown(worst.name), "", TIMELINE, timeline(host, *worst.window, worst.name)))
        found.append(Evidence("Because of this function, per step", worst.name_ps / worst.cells / PS_PER_MS, "ms"))
    if worst.inner not in ("", worst.name):
        found.append(Evidence("Most of it in", shown(worst.inner)))
    length = worst.window[1] - worst.window[0]
    found.append(Evidence("Longest wait", length / PS_PER_MS, "ms", TIMELINE, timeline(host, *worst.window)))
    return found


RULE = Rule("slow_host_code", "Slow code on the host", judge, gather)
