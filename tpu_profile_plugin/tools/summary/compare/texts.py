"""Sentences about the difference of two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tpu_profile_plugin.analysis.budget.categories import (
    BETWEEN,
    BETWEEN_LABEL,
    CATEGORIES,
    GROUP_OF,
    GROUPS,
    IDLE_OTHER,
    IDLE_TRANSFER,
    LABELS,
    Label,
)
from tpu_profile_plugin.analysis.compare.contributions import Contribution, principal
from tpu_profile_plugin.analysis.compare.noise import LEAST_RANKED, shift, welch
from tpu_profile_plugin.analysis.compare.run import RunWork
from tpu_profile_plugin.run.figures.comparison import RunSide
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_NS, PS_PER_S, PS_PER_US

LEAST_MATCHED = 0.5
"""Runs with less of their time in programs that both have are hardly comparable."""
LABELS_BY_ID: dict[str, Label] = {**{group.id: group.label for group in GROUPS}, **LABELS, BETWEEN: BETWEEN_LABEL}
"""Of categories, their parts and the time between steps."""
_SIDES = ("base", "run")
_UNITS = ((PS_PER_S, "s"), (PS_PER_MS, "ms"), (PS_PER_US, "us"), (PS_PER_NS, "ns"))
_FROM_STEP = {"time from step to step": " from step to step"}
_TONES = {"recording": {"slower": "longer recording", "faster": "shorter recording"}}
_UNEVEN = 2.0
"""A difference of more than as many floors of noise that is no more than noise is due to uneven steps, or too few."""
_SKEWED = 1.1
"""Least ratio of the mean step to the median for a note."""
_NOUNS = {
    BETWEEN: "time between steps",
    CATEGORIES[IDLE_OTHER]: "unexplained idle time",
    CATEGORIES[IDLE_TRANSFER]: "the host's wait for results",
}
_MORE_OFTEN = {
    "more_often": ("runs more often", "run more often"),
    "fewer_often": ("runs less often", "run less often"),
}


def what(contribution: Contribution) -> str:
    """The name of a contribution: of a part with its category, as "Waits for input (Input)", and what is behind it."""
    part, detail = contribution.part, _detail(contribution)
    name = LABELS_BY_ID[part].name if part else contribution.what
    if part in GROUP_OF:
        name = f"{name} ({LABELS_BY_ID[GROUP_OF[part]].name})"
    if contribution.kind == "single_steps":
        name = f"{name}, in single steps"
    return f"{name}: {detail}" if detail else name


def _detail(contribution: Contribution) -> str:
    """What is behind a contribution; parts of the time between steps by name."""
    label = LABELS_BY_ID.get(contribution.detail)
    return contribution.detail if label is None else label.name[0].lower() + label.name[1:]


def compared(sides: Sequence[RunSide], execution: str) -> str:
    """What is compared: "step", "time from step to step", "recording" or, with a program, "execution"."""
    if execution:
        return "execution"
    bases = {side.budget.base for side in sides if len(side.budget)}
    return next((one for one in ("recording", "time from step to step") if one in bases), "step")


def headline(
    sides: Sequence[RunSide],
    works: Sequence[RunWork],
    contributions: Sequence[Contribution],
    floor_ps: float,
    execution: str = "",
) -> dict[str, Any]:
    """The difference in a sentence, with the largest change in its direction.

    `sides` and `works` are of the base and the run; differences of at most `floor_ps` are noise. `execution` is the
    program of whose executions the times are, "" for steps.
    """
    base, run = works
    if not base.steps or not run.steps:
        empty = 0 if not base.steps else 1
        lacks = "no steps" if sides[empty].work.steps else "no device with steps"
        return {"text": f"The {_SIDES[empty]} has {lacks}, so step times cannot be compared.", "tone": "unknown"}
    old, new = base.length.mean, run.length.mean
    of = compared(sides, execution)
    unit = f" per execution of {execution}" if execution else _FROM_STEP.get(of, "")
    delta, times = new - old, from_to(old, new)
    change = principal(contributions, delta)
    cause = f": {_cause(change, works)}" if change else ""
    if abs(delta) <= floor_ps:
        return {"text": f"No difference beyond noise{unit} ({times}).", "tone": "same"}
    if not _beyond_noise(works, floor_ps):
        few = (
            "No difference beyond noise" if abs(delta) <= _UNEVEN * floor_ps else "Steps too uneven or too few to tell"
        )
        return {"text": f"{few}{unit} ({times}){cause if abs(delta) > _UNEVEN * floor_ps else ''}.", "tone": "same"}
    tone = "slower" if delta > 0 else "faster"
    difference = _change(old, new, _TONES.get(of, {}).get(tone, tone))
    return {"text": f"{difference[0].upper()}{difference[1:]}{unit} ({times}){cause}.", "tone": tone}


def _beyond_noise(works: Sequence[RunWork], floor_ps: float) -> bool:
    """Whether the steps differ by more than they vary.

    With enough steps most of one run's must be longer than the other's: a few that take somewhat longer move a mean.
    Single long steps, if they make a difference of their own, need only be several.
    """
    base, run = works
    interval = welch(base.length, run.length)
    apart = interval is None or interval[0] > 0 or interval[1] < 0
    # Nothing follows the last step: how long it is from begin to begin is unknown.
    old, new = base.outliers.length_ps[:-1], run.outliers.length_ps[:-1]
    if min(len(old), len(new)) < LEAST_RANKED:
        return apart
    single = abs(run.length.excess - base.length.excess) > floor_ps
    return shift(old, new) * (run.length.mean - base.length.mean) > 0 or (single and apart)


def _change(old: float, new: float, tone: str) -> str:
    """How much longer or shorter: in percent, from twice as long on as a multiple."""
    if not old:
        return tone
    return f"{new / old:.1f} times as long" if new >= 2 * old else f"{abs(new - old) / old:.1%} {tone}"


def _cause(change: Contribution, works: Sequence[RunWork]) -> str:
    """A change as a clause."""
    longer, time = change.delta_ps > 0, duration(abs(change.delta_ps))
    detail = _detail(change)
    behind = f" ({detail})" if detail else ""
    if change.part:
        where = ""
        if change.kind == "single_steps":
            side = works[longer]
            where = f" in {len(side.outliers)} of {side.steps} steps"
        return f"{_noun(change.part)} {'rose' if longer else 'fell'} by {time}{where}{behind}"
    if change.kind in ("machine", "more_executions", "fewer_executions"):
        own = f"; {_speed(change)}" if change.kind == "machine" else ""
        return f"{what(change)}, {time} {'more' if longer else 'less'}{own}"
    several = len(change.matches) > 1
    takes, name = ("take" if several else "takes"), what(change)
    if change.kind == "added":
        return f"{name} {'are' if several else 'is'} new and {takes} {time}"
    if change.kind == "removed":
        return f"{name}, which took {time}, {'are' if several else 'is'} gone"
    often = _MORE_OFTEN.get(change.kind)
    runs = f" {often[several]} and" if often else ""
    return f"{name}{runs} {takes} {time} {'more' if longer else 'less'}"


def _noun(part: str) -> str:
    """A part within a sentence: "waiting for input"."""
    name = LABELS_BY_ID[part].name
    if part in _NOUNS:
        return _NOUNS[part]
    return name.replace("Waits for", "waiting for") if name.startswith("Waits for") else name[0].lower() + name[1:]


def caution(matched: Sequence[float | None]) -> str | None:
    """Why the runs are hardly comparable; None if most of their time is in programs that both have."""
    shares = [share for share in matched if share is not None]
    if not shares or min(shares) >= LEAST_MATCHED:
        return None
    least = min(shares)
    text = "No time" if least == 0 else f"Only {least:.0%} of the time" if least >= 0.01 else "Less than 1% of the time"
    of = "" if len({round(share, 2) for share in shares}) == 1 else f" of the {_SIDES[list(matched).index(least)]}"
    return f"{text}{of} is in programs that both runs have: the runs are hardly comparable."


def notes(
    sides: Sequence[RunSide], works: Sequence[RunWork], contributions: Sequence[Contribution], execution: str
) -> list[str]:
    """What limits the comparison; arguments as those of `headline`."""
    facts = [
        ("type of device", [one.environment.device_type or "none" for one in sides]),
        ("number of devices", [str(one.environment.device_cores) for one in sides]),
        ("number of hosts", [str(one.hosts) for one in sides]),
    ]
    sentences = [f"The {name} differs: {base} in the base, {run} here." for name, (base, run) in facts if base != run]
    for name, side in zip(_SIDES, sides, strict=True):
        if side.recorded_steps is None and side.work.steps:
            count = side.work.executions[execution] if execution else 1
            each = f"is divided by its {count:,.0f} executions of {execution}" if execution else "counts as one"
            sentences.append(f"The {name} has no steps: its whole recording {each}.")
        elif side.work.steps == 1:
            sentences.append(f"The {name} has one step: how far its steps vary is unknown.")
    return [*sentences, *_typical(works), *_of_machine(contributions)]


def _typical(works: Sequence[RunWork]) -> list[str]:
    """Medians where means mislead, and how many steps are far above them."""
    known = [one.outliers for one in works]
    if not any(one.median_ps and (len(one) or one.mean_ps > _SKEWED * one.median_ps) for one in known):
        return []
    if not all(one.median_ps for one in known):
        return []
    counts = [f"{len(one)} of {len(one.length_ps)}" for one in known]
    long = f"; far longer are {counts[0]} steps of the base and {counts[1]} here" if any(map(len, known)) else ""
    return [f"Median step: {from_to(known[0].median_ps, known[1].median_ps)}{long}."]


def _of_machine(contributions: Sequence[Contribution]) -> list[str]:
    """That the machine differs, if unchanged ops tell."""
    return [
        f"{one.what} all take {one.detail}, {duration(abs(one.delta_ps))} in sum: {_speed(one)} than for the base."
        for one in contributions
        if one.kind == "machine" and one.certain
    ]


def _speed(change: Contribution) -> str:
    return f"the machine is {'busier or slower' if change.delta_ps > 0 else 'less busy or faster'}"


def from_to(old: float, new: float) -> str:
    """Two times: "36.35 to 23.76 ms", with both units if they differ."""
    before, after = duration(old), duration(new)
    value, _, unit = before.partition(" ")
    return f"{value if after.endswith(f' {unit}') else before} to {after}"


def duration(ps: float) -> str:
    """A time with four significant digits, in the largest unit of which it is at least 1."""
    scale, unit = next((one for one in _UNITS if ps >= 0.99995 * one[0]), _UNITS[-1])
    value = ps / scale
    digits = next((places for places, most in ((3, 9.9995), (2, 99.995), (1, 999.95)) if value < most), 0)
    return f"{value:,.{digits}f} {unit}"
