"""Whether runs are worse than a baseline allows: pass, fail, or inconclusive with how many more runs would decide."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES, LABELS
from tpu_profile_plugin.analysis.compare.run_work import LEAST_ACCELERATOR, LEAST_CPU, student
from tpu_profile_plugin.analysis.trend.change_points import LEAST_RUNS, difference
from tpu_profile_plugin.analysis.trend.series import columns_of, common_factor
from tpu_profile_plugin.analysis.trend.summary import RunSummary
from tpu_profile_plugin.columns.arrays import F64

CONFIDENCE = 0.98
"""Of the interval of a difference: one side of it is passed by chance in 1 % of equal runs."""
MOST_MORE = 100
"""More runs than these are not asked for."""
_FEW = 3
"""With fewer runs on both sides together, how far runs vary is not known from them."""

Verdict = Literal["pass", "fail", "inconclusive"]
_UNITS = {"%": 0.01, "ps": 1.0, "ns": 1e3, "us": 1e6, "ms": 1e9, "s": 1e12, "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20,
          "GiB": 2.0**30, "": 1.0}  # fmt: skip
_CONDITION = re.compile(
    r"\s{0,9}([a-z_]{1,40})\s{0,9}(>=?|<=?)\s{0,9}([+-]?)\s{0,9}(\d{1,12}(?:\.\d{1,9})?)\s{0,9}([A-Za-z%]{0,3})\s{0,9}"
)


@dataclass(frozen=True, slots=True)
class Metric:
    """What can be limited.

    Attributes:
      of: its value of a run; None where the run does not tell.
      kind: "time" in ps, "bytes", or "share" of the step.
    """

    of: Callable[[RunSummary], float | None]
    kind: Literal["time", "bytes", "share"]


def _share(*parts: str) -> Metric:
    return Metric(lambda run: run.share(*parts), "share")


METRICS: Mapping[str, Metric] = {
    "step_time": Metric(lambda run: run.step_ps, "time"),
    "memory_peak": Metric(lambda run: float(run.memory_peak) or None, "bytes"),
    "communication_exposed": _share("exposed_communication", "peer_transfer"),
    "input": _share("idle_input", "input_copy"),
    "idle": _share(*(part for part in CATEGORIES if part.startswith("idle_"))),
    BETWEEN: _share(BETWEEN),
    **{part: _share(part) for part in LABELS if part in CATEGORIES},
}
"""By name: the time of a step, the peak of memory, and shares of the step by part of the time budget."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A condition under which the gate fails.

    Attributes:
      text: as given.
      metric: a key of `METRICS`.
      above: it fails above the limit, else below.
      relative: the limit is a change against the baseline; as a share of it.
      value: in ps, bytes or as a share.
    """

    text: str
    metric: str
    above: bool
    relative: bool
    value: float


def limit_of(text: str) -> Limit:
    """A condition such as `step_time > +3%`, `memory_peak > 12 GiB`. Raises ValueError with what is wrong."""
    found = _CONDITION.fullmatch(text[:200])
    if found is None:
        raise ValueError(f"{text[:80]!r} is no condition such as 'step_time > +3%' or 'memory_peak > 12 GiB'.")
    name, compared, sign, number, unit = found.groups()
    metric = METRICS.get(name)
    if metric is None:
        raise ValueError(f"There is no figure {name!r}; there are {', '.join(METRICS)}.")
    above, relative = compared.startswith(">"), bool(sign)
    fitting = {"time": ("%", "ps", "ns", "us", "ms", "s"), "bytes": ("%", "B", "KiB", "MiB", "GiB"), "share": ("%",)}
    if unit not in fitting[metric.kind] or (unit == "%" and metric.kind != "share" and not relative):
        needs = (
            "%, as a share of the step" if metric.kind == "share" else f"+N% or {', '.join(fitting[metric.kind][1:])}"
        )
        raise ValueError(f"The limit of {name} needs {needs}, not {text[:80]!r}.")
    value = float(sign + number) * _UNITS[unit]
    return Limit(text.strip(), name, above, relative, value)


@dataclass(frozen=True, slots=True)
class Judged:
    """A condition on runs.

    Attributes:
      limit: the condition.
      verdict: of it.
      base, run: the means of both sides; None where they are not known.
      delta, low, high: what is limited and its interval: a change (as a share of the base if that is limited), or the
        value itself.
      more: further runs on each side that would decide; None if it is decided, or more than `MOST_MORE` are needed.
      reason: why it is inconclusive; "" if it is not.
      removed: the share of the variance from run to run that all ops share, and that was taken away.
    """

    limit: Limit
    verdict: Verdict
    base: float | None = None
    run: float | None = None
    delta: float = 0.0
    low: float = 0.0
    high: float = 0.0
    more: int | None = None
    reason: str = ""
    removed: float = 0.0


def judge(limits: Sequence[Limit], base: Sequence[RunSummary], runs: Sequence[RunSummary]) -> list[Judged]:
    """Each condition on the runs against those of the baseline."""
    return [_judged(limit, base, runs) for limit in limits]


def verdict_of(judged: Sequence[Judged]) -> Verdict:
    """The worst: a failure stands, whatever else is not known."""
    found = {one.verdict for one in judged}
    return "fail" if "fail" in found else "inconclusive" if "inconclusive" in found or not judged else "pass"


def _judged(limit: Limit, base: Sequence[RunSummary], runs: Sequence[RunSummary]) -> Judged:
    old, new = (_values(limit, side) for side in (base, runs))
    for side, values, given in (("baseline", old, base), ("run", new, runs)):
        if not limit.relative and side == "baseline":
            continue
        if not len(values):
            problem = next((one.problem for one in given if one.problem), "")
            why = problem or f"no {side} tells {limit.metric.replace('_', ' ')}"
            return Judged(limit, "inconclusive", reason=f"{why[0].upper()}{why[1:]}".rstrip(".") + ".")
    if limit.relative and (other := _unlike(base, runs)):
        return Judged(limit, "inconclusive", *_means(old, new), reason=other)
    if limit.relative and not old.any() and new.any():
        reason = f"The baseline has none, so that no change is a share of it: limit {limit.metric} itself."
        return Judged(limit, "inconclusive", *_means(old, new), reason=reason)
    recorded, removed = (old, new), 0.0
    if limit.relative and limit.metric == "step_time":
        old, new, removed = _without_machine(base, runs, old, new)
    sign = 1.0 if limit.above else -1.0
    if METRICS[limit.metric].kind == "bytes" or (METRICS[limit.metric].kind == "share" and not limit.relative):
        floor = 0.0
    else:
        floor = LEAST_CPU if _on_cpu(runs) else LEAST_ACCELERATOR
    delta, low, high, spread = _interval(limit, old, new, floor)
    verdict = decided(limit, delta, low, high)
    over = sign * (delta - limit.value) > 0
    if verdict == "pass" and limit.relative and removed:  # what was taken away as the machine's passes nothing
        under = sign * (float(recorded[1].mean()) / float(recorded[0].mean()) - 1 - limit.value) <= 0
        verdict = "pass" if under else "inconclusive"
    more, reason = None, ""
    if verdict == "fail" and limit.relative and limit.metric == "step_time" and len(old) + len(new) < 2 * LEAST_RUNS:
        shared = _shared(base, runs)
        if sign * ((1 + delta) / shared - 1 - limit.value) <= 0:
            verdict, more = "inconclusive", LEAST_RUNS - min(len(old), len(new))
            word = "slower" if shared > 1 else "faster"
            reason = (
                f"All ops are {abs(shared - 1):.1%} {word} alike, by the machine or by the program: "
                f"{more} more run{'' if more == 1 else 's'} a side would tell."
            )
    elif verdict == "inconclusive":
        more = _more(abs(delta - limit.value) if not over else abs(delta), spread, len(new))
        needs = f"{more} more runs a side would decide" if more else f"more than {MOST_MORE} more runs would be needed"
        reason = f"Runs vary too much to tell: the interval reaches from {low:+.1%} to {high:+.1%}; {needs}."
        if METRICS[limit.metric].kind != "share" and not limit.relative:
            reason = f"Runs vary too much to tell; {needs}."
    return Judged(limit, verdict, *_means(old, new), delta, low, high, more, reason, removed)


def decided(limit: Limit, delta: float, low: float, high: float) -> Verdict:
    """The verdict by what is limited and its interval: failed if beyond limit and noise, passed if surely within."""
    sign = 1.0 if limit.above else -1.0
    worst, best = (low, high) if limit.above else (high, low)
    clear = sign * worst > 0 if limit.relative else sign * (worst - limit.value) > 0
    if sign * (delta - limit.value) > 0 and clear:
        return "fail"
    return "pass" if sign * (best - limit.value) <= 0 else "inconclusive"


def _means(old: F64, new: F64) -> tuple[float | None, float | None]:
    return tuple(float(side.mean()) if len(side) else None for side in (old, new))  # type: ignore[return-value]


def _values(limit: Limit, runs: Sequence[RunSummary]) -> F64:
    of = METRICS[limit.metric].of
    known = [of(one) for one in runs if one.conditions is not None]
    return np.array([value for value in known if value is not None], np.float64)


def _unlike(base: Sequence[RunSummary], runs: Sequence[RunSummary]) -> str:
    """Why the sides cannot be compared; "" if they can."""
    for name in ("program", "device", "devices", "hosts", "frameworks", "unit"):
        sides = [{getattr(one.conditions, name) for one in side if one.conditions is not None} for side in (base, runs)]
        if len(sides[0] | sides[1]) > 1:
            told = " and ".join(sorted({str(value) or "none" for value in sides[0] | sides[1]}))
            return f"The runs differ in their {name}: {told}."
    return ""


def _on_cpu(runs: Sequence[RunSummary]) -> bool:
    return any(one.conditions is not None and one.conditions.device in ("", "CPU") for one in runs)


def _interval(limit: Limit, old: F64, new: F64, floor: float) -> tuple[float, float, float, float]:
    """What is limited, its interval, and the standard deviation from run to run; relative ones as shares of the base.

    Without enough runs to tell how far they vary, they are taken to vary by `floor`.
    """
    if not limit.relative:
        mean = float(new.mean())
        spread = float(new.std(ddof=1)) if len(new) >= _FEW else floor * mean
        reach = _reach(len(new) - 1 if len(new) >= _FEW else math.inf) * spread / math.sqrt(len(new))
        return mean, mean - reach, mean + reach, spread
    whole = float(old.mean())
    if not whole:
        delta = float(new.mean())
        return delta, delta, delta, 0.0
    delta = float(new.mean()) / whole - 1
    n, m = len(old), len(new)
    if n + m < _FEW:  # one on each side
        reach = _reach(math.inf) * floor * math.sqrt(2)
        return delta, delta - reach, delta + reach, floor
    low, high = difference(old / whole, new / whole, CONFIDENCE)
    spread = math.sqrt(max((high - low) ** 2, 0)) / (2 * _reach(max(n + m - 2, 1)) * math.sqrt(1 / n + 1 / m))
    return delta, low, high, spread


def _reach(freedom: float) -> float:
    return student(CONFIDENCE, min(freedom, 1e6))


def _more(distance: float, spread: float, runs: int) -> int | None:
    """Runs on each side, beyond those that there are, with which the interval reaches no farther than a distance."""
    for count in range(max(runs, 1) + 1, max(runs, 1) + MOST_MORE + 1):
        if _reach(2 * count - 2) * spread * math.sqrt(2 / count) <= distance:
            return count - runs
    return None


def _shared(base: Sequence[RunSummary], runs: Sequence[RunSummary]) -> float:
    """What most ops take longer in few runs than in those of the baseline, as a factor; 1 without enough ops."""
    both = [one for one in (*base, *runs) if one.conditions is not None]
    factor = common_factor(columns_of(both)[1], np.array([one.step_ps for one in both]), least_runs=2)
    count = sum(one.conditions is not None for one in base)
    return float(factor[count:].mean() / factor[:count].mean())


def _without_machine(
    base: Sequence[RunSummary], runs: Sequence[RunSummary], old: F64, new: F64
) -> tuple[F64, F64, float]:
    """The steps of both sides without what all of their ops share, and the share of the variance that this explains.

    Nothing is taken away if what they share differs between the sides by more than it varies within them: a slower
    machine and a program that is slower all over look alike.
    """
    both = [one for one in (*base, *runs) if one.conditions is not None]
    step = np.array([one.step_ps for one in both])
    factor = common_factor(columns_of(both)[1], step)
    if bool((factor == 1).all()):
        return old, new, 0.0
    adjusted = step / factor
    before, after = adjusted[: len(old)], adjusted[len(old) :]
    inside = [float(np.hypot(*(np.log(side).std() for side in sides))) for sides in ((before, after), (old, new))]
    if inside[0] >= inside[1]:
        return old, new, 0.0
    shared = difference(np.log(factor[: len(old)]), np.log(factor[len(old) :]), CONFIDENCE)
    if shared[0] > 0 or shared[1] < 0:
        return old, new, 0.0  # all ops of one side are slower: that may be the program as well
    scale = float(old.mean() / before.mean())
    return before * scale, after * scale, 1 - (inside[0] / inside[1]) ** 2
