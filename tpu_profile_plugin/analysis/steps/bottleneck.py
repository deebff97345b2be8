"""Classifies the bottleneck of the steps: input, output or other uses of the step time, by thresholds."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_profile_plugin.analysis.steps.breakdown import GenericBreakdown, TpuBreakdown

HIGH_INPUT, MODERATE_INPUT, OTHER_INPUT = 20.0, 5.0, 3.0
HIGH_ASPECT, MODERATE_ASPECT = 15.0, 3.0
HIGH_SPARSE, ALL_REDUCE_OVER_INPUT = 10.0, 6.0
HALF_PRECISION_SHARE = 10.0


@dataclass(frozen=True, slots=True)
class InputVerdict:
    """Classification of the time waiting for input.

    Attributes:
      bottleneck: "unknown" (no steps), "host", "both" or "device".
      level: "", "HIGHLY", "MODERATELY", "POTENTIALLY" or "NOT".
      percent: the share of the step time that determined the class.
    """

    bottleneck: str
    level: str
    percent: float


@dataclass(frozen=True, slots=True)
class Aspect:
    """Another use of the step time: its class ("no", "moderate" or "high") and its share in percent."""

    level: str = "no"
    percent: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """Bottleneck analysis of the steps; `output` and the following fields are set for TPUs only."""

    input: InputVerdict
    kernel_launch: Aspect = Aspect()
    collectives: Aspect = Aspect()
    all_others: Aspect = Aspect()
    output: Aspect = Aspect()
    idle: Aspect = Aspect()
    all_reduce: Aspect = Aspect()
    sparse_core: Aspect = Aspect()


def input_verdict(steps: int, input_percent: float, other_percent: float | None = None) -> InputVerdict:
    """Classifies the share of input; bounds are inclusive. `other_percent` is the share of unexplained time."""
    if steps == 0:
        return InputVerdict("unknown", "", 0.0)
    if input_percent >= HIGH_INPUT:
        return InputVerdict("host", "HIGHLY", input_percent)
    if input_percent >= MODERATE_INPUT:
        return InputVerdict("both", "MODERATELY", input_percent)
    if other_percent is not None and other_percent >= OTHER_INPUT:
        return InputVerdict("both", "POTENTIALLY", other_percent)
    return InputVerdict("device", "NOT", input_percent)


def aspect(percent: float, moderate: float = MODERATE_ASPECT, high: float = HIGH_ASPECT) -> Aspect:
    """Classifies another share of the step time; bounds are inclusive."""
    level = "high" if percent >= high else "moderate" if percent >= moderate else "no"
    return Aspect(level, percent)


def generic_verdict(steps: GenericBreakdown) -> Verdict:
    """Bottleneck analysis of CPU and GPU steps."""
    others = steps.percent("other")
    verdict = input_verdict(len(steps.labels), steps.percent("infeed"), others)
    return Verdict(
        input=verdict,
        kernel_launch=aspect(steps.percent("kernel_launch")),
        collectives=aspect(steps.percent("device_collectives")),
        # Unexplained time is reported once: as potential input, or separately.
        all_others=Aspect("no", others) if verdict.level == "POTENTIALLY" else aspect(others),
    )


def tpu_verdict(steps: TpuBreakdown) -> Verdict:
    """Bottleneck analysis of TPU steps."""
    sparse = steps.percent(steps.scv0_compute, steps.scv0_infeed)
    waiting = steps.percent(steps.infeed, steps.scv0_infeed)
    all_reduce = steps.percent(steps.all_reduce_compute, steps.all_reduce_sync)
    return Verdict(
        input=input_verdict(len(steps.labels), waiting),
        output=aspect(steps.percent(steps.outfeed), MODERATE_INPUT, HIGH_INPUT),
        idle=aspect(steps.percent(steps.idle)),
        # All-reduce is reported only if it takes clearly more time than the wait for input.
        all_reduce=Aspect("moderate" if all_reduce - waiting >= ALL_REDUCE_OVER_INPUT else "no", all_reduce),
        sparse_core=aspect(sparse, 1e-9, HIGH_SPARSE),
    )
