"""Sentences about the difference of two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tpu_profile_plugin.analysis.compare.contributions import Contribution
from tpu_profile_plugin.analysis.compare.noise import welch
from tpu_profile_plugin.analysis.compare.run import RunWork
from tpu_profile_plugin.run.figures.budget import LABELS
from tpu_profile_plugin.run.figures.comparison import RunSide
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_US

_SIDES = ("base", "run")
_KINDS = {
    "dtype_changed": "other element types",
    "shape_changed": "other shapes",
    "split": "split",
    "merged": "merged",
    "added": "new",
    "removed": "gone",
    "more_often": "runs more often",
    "fewer_often": "runs less often",
}


def what(contribution: Contribution) -> str:
    """The name of a contribution."""
    label = LABELS.get(contribution.what)
    return contribution.what if label is None else label.name


def headline(
    sides: Sequence[RunSide], works: Sequence[RunWork], contributions: Sequence[Contribution], floor_ps: float
) -> dict[str, Any]:
    """The difference in a sentence, with the largest change in the direction of the step's.

    `sides` and `works` are of the base and the run; differences of at most `floor_ps` are noise.
    """
    base, run = works
    if not base.step.count or not run.step.count:
        empty = 0 if not base.step.count else 1
        lacks = "no steps" if sides[empty].work.step.count else "no device with steps"
        return {"text": f"The {_SIDES[empty]} has {lacks}, so step times cannot be compared.", "tone": "unknown"}
    old, new = base.step.mean, run.step.mean
    unit = "per step" if sides[0].recorded_steps is not None else "of recording, both without steps"
    times = f"{duration(new)} against {duration(old)} {unit}"
    interval = welch(base.step, run.step)
    delta = new - old
    if abs(delta) <= floor_ps or (interval is not None and interval[0] <= 0 <= interval[1]):
        return {"text": f"No difference beyond noise: {times}.", "tone": "same"}
    percent = f", {100 * delta / old:+.1f}%" if old else ""
    causes = [one for one in contributions if one.certain and one.kind != "rest" and (one.delta_ps > 0) == (delta > 0)]
    first = causes[0] if causes else None
    cause = "" if first is None else f": {what(first)}{_how(first)}, {signed(first.delta_ps)}"
    return {"text": f"{times} ({signed(delta)}{percent}){cause}.", "tone": "slower" if delta > 0 else "faster"}


def _how(contribution: Contribution) -> str:
    text = _KINDS.get(contribution.kind)
    return f" {text}" if text else ""


def notes(sides: Sequence[RunSide]) -> list[str]:
    """What limits the comparison; `sides` are the base and the run."""
    facts = [
        ("type of device", [one.environment.device_type or "none" for one in sides]),
        ("number of devices", [str(one.environment.device_cores) for one in sides]),
        ("number of hosts", [str(one.hosts) for one in sides]),
    ]
    sentences = [f"The {name} differs: {base} in the base, {run} here." for name, (base, run) in facts if base != run]
    for name, side in zip(_SIDES, sides, strict=True):
        if side.recorded_steps is None and side.work.step.count:
            sentences.append(f"The {name} has no steps: all of its recording counts as one, however long it is.")
        elif side.work.step.count == 1:
            sentences.append(f"The {name} has a single step, so noise cannot be told from its steps.")
    return sentences


def signed(ps: float) -> str:
    """A difference of times with its sign."""
    return ("+" if ps >= 0 else "-") + duration(abs(ps))


def duration(ps: float) -> str:
    """A time in ms, or in us below a tenth."""
    return f"{ps / PS_PER_MS:.2f} ms" if ps >= PS_PER_MS / 10 else f"{ps / PS_PER_US:.2f} us"
