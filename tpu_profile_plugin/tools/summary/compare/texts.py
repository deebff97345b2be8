"""Sentences about the difference of two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, BETWEEN_LABEL, GROUP_OF, GROUPS, LABELS, Label
from tpu_profile_plugin.analysis.compare.contributions import Contribution
from tpu_profile_plugin.analysis.compare.noise import welch
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
_MORE_OFTEN = {
    "more_often": ("runs more often", "run more often"),
    "fewer_often": ("runs less often", "run less often"),
}


def what(contribution: Contribution) -> str:
    """The name of a contribution: of a part with its category, as "Waits for input (Input)"."""
    part = contribution.part
    if not part:
        return contribution.what
    name = LABELS_BY_ID[part].name
    return f"{name} ({LABELS_BY_ID[GROUP_OF[part]].name})" if part in GROUP_OF else name


def compared(sides: Sequence[RunSide]) -> str:
    """What is compared: "step", "time from step to step" or "recording"."""
    bases = {side.budget.base for side in sides if len(side.budget)}
    return next((one for one in ("recording", "time from step to step") if one in bases), "step")


def headline(
    sides: Sequence[RunSide], works: Sequence[RunWork], contributions: Sequence[Contribution], floor_ps: float
) -> dict[str, Any]:
    """The difference in a sentence, with the largest change in its direction.

    `sides` and `works` are of the base and the run; differences of at most `floor_ps` are noise.
    """
    base, run = works
    if not base.steps or not run.steps:
        empty = 0 if not base.steps else 1
        lacks = "no steps" if sides[empty].work.steps else "no device with steps"
        return {"text": f"The {_SIDES[empty]} has {lacks}, so step times cannot be compared.", "tone": "unknown"}
    old, new = base.length.mean, run.length.mean
    of = compared(sides)
    unit = _FROM_STEP.get(of, "")
    interval = welch(base.length, run.length)
    delta = new - old
    if abs(delta) <= floor_ps or (interval is not None and interval[0] <= 0 <= interval[1]):
        return {"text": f"No difference beyond noise{unit} ({from_to(old, new)}).", "tone": "same"}
    tone = "slower" if delta > 0 else "faster"
    change = _change(old, new, _TONES.get(of, {}).get(tone, tone))
    causes = [one for one in contributions if one.certain and one.kind != "rest" and (one.delta_ps > 0) == (delta > 0)]
    cause = f": {_cause(causes[0])}" if causes else ""
    return {"text": f"{change[0].upper()}{change[1:]}{unit} ({from_to(old, new)}){cause}.", "tone": tone}


def _change(old: float, new: float, tone: str) -> str:
    """How much longer or shorter: in percent, from twice as long on as a multiple."""
    if not old:
        return tone
    return f"{new / old:.1f} times as long" if new >= 2 * old else f"{abs(new - old) / old:.1%} {tone}"


def _cause(change: Contribution) -> str:
    """A change as a clause."""
    longer, time = change.delta_ps > 0, duration(abs(change.delta_ps))
    if change.part:
        return f"{_noun(change.part)} {'rose' if longer else 'fell'} by {time}"
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
    if part == BETWEEN:
        return "time between steps"
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


def notes(sides: Sequence[RunSide]) -> list[str]:
    """What limits the comparison; `sides` are the base and the run."""
    facts = [
        ("type of device", [one.environment.device_type or "none" for one in sides]),
        ("number of devices", [str(one.environment.device_cores) for one in sides]),
        ("number of hosts", [str(one.hosts) for one in sides]),
    ]
    sentences = [f"The {name} differs: {base} in the base, {run} here." for name, (base, run) in facts if base != run]
    for name, side in zip(_SIDES, sides, strict=True):
        if side.recorded_steps is None and side.work.steps:
            sentences.append(f"The {name} has no steps: its whole recording counts as one.")
        elif side.work.steps == 1:
            sentences.append(f"The {name} has one step: how far its steps vary is unknown.")
    return sentences


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
