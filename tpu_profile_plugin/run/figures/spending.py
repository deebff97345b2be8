"""What the steps of a run are spent on, by name, and sentences on where they come from and what they leave out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES, GROUPS, UNKNOWN, label_of
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common.reasons import UNMARKED, UNTRACED_IDLE_TIME
from tpu_profile_plugin.analysis.devices.windows import StartUp
from tpu_profile_plugin.analysis.summary.outliers import step_outliers
from tpu_profile_plugin.analysis.summary.recording import Coverage
from tpu_profile_plugin.run.facts import frameworks_of
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.units import duration

_DISPATCH = (
    "Work goes on after the last step ended: the markers enclose its dispatch only. The time from the first step to "
    "the end of the work is divided evenly among the steps."
)
_INFERRED = "The profile has no step markers. Steps are inferred from {event}, which repeats {count} times."
_SHARED = (
    "The devices of the CPU backend share the host's cores. The time that a device waits for a core while others are "
    "at work counts as gaps between ops."
)
_MISSING = (
    "{time} of the {of} of {whole} was not recorded: the host launched work of which no device event is there. "
    "Percentages are of the rest."
)
_START = {
    True: "{label} ({length}) is left out: its first {what} waited {wait} until other ranks had started.",
    False: "{label} ({length}) is left out: {count} of {what} lasted {wait}, as when kernels are loaded at first use.",
}
"""Why a step counts nowhere, by whether collectives are the cause."""
_SLOW = (
    "From begin to begin, the median step takes {median}; {count} of {steps} steps {take} longer than {limit}, "
    "up to {longest}."
)
_COVERED = "The steps cover {share:.1%} of the recording. Not in steps: {rest}."
_MEAN = 1.1
"""Least mean, in medians, for a note on what makes the difference."""
_LITTLE, _NOTABLE = 0.5, 0.02
"""Share of the recording below which a note says what lies outside of steps, and the least part that it names."""
_UNEXPLAINED = 0.1
"""Least share of unexplained time in the steps for a note."""

CATEGORY_IDS = (*(group.id for group in GROUPS), BETWEEN)
PART_IDS = (*CATEGORIES, BETWEEN)


@dataclass(frozen=True, slots=True)
class Spent:
    """A category or part of the average step.

    Attributes:
      id, name: stable id and display name.
      ps: time per step, averaged over the devices that take part.
      share: of the run's base, 0 to 1; None for what was not recorded.
    """

    id: str
    name: str
    ps: float
    share: float | None

    @property
    def percent(self) -> float | None:
        """The share in percent."""
        return None if self.share is None else 100 * self.share


def spent_on(budget: RunBudget, name: str) -> Spent:
    """What the average step spends on a category or part."""
    share = None if name == UNKNOWN else budget.share(name)
    return Spent(name, label_of(name).name, budget.part_ps(name), share)


def most_first(budget: RunBudget, names: Sequence[str]) -> list[Spent]:
    """These categories or parts of the average step, largest first, without empty ones."""
    spent = (spent_on(budget, name) for name in names)
    return sorted((each for each in spent if each.ps), key=lambda each: -each.ps)


def by_category(budget: RunBudget) -> list[tuple[Spent, list[Spent]]]:
    """The recorded categories with their parts, in the order of display, without those of less than half a ps."""
    groups = {group.id: group.parts for group in GROUPS if group.id != UNKNOWN} | {BETWEEN: ()}
    categories = [(spent_on(budget, name), _recorded(budget, parts)) for name, parts in groups.items()]
    return [entry for entry in categories if round(entry[0].ps)]


def _recorded(budget: RunBudget, names: Sequence[str]) -> list[Spent]:
    return [each for name in names if name != UNKNOWN and round((each := spent_on(budget, name)).ps)]


def reading_notes(budget: RunBudget, frameworks: Sequence[str] = ()) -> list[str]:
    """Sentences on where the steps come from, and on unexplained time; `frameworks`: in whose words."""
    sentences = []
    if "dispatch" in budget.sources:
        sentences.append(_DISPATCH)
    if "recording" in budget.sources:
        sentences.append(UNMARKED.told(frameworks))
    if budget.evidence is not None and budget.inferred:
        sentences.append(_INFERRED.format(event=budget.evidence.event, count=budget.evidence.occurrences))
    on_cpu = [device.host for device in budget.devices if device.kind == "cpu"]
    if budget.share("idle_gap") >= _UNEXPLAINED and len(on_cpu) > len(set(on_cpu)):
        sentences.append(_SHARED)
    if budget.share("idle_other") >= _UNEXPLAINED and False in budget.traced:
        sentences.append(UNTRACED_IDLE_TIME.told(frameworks))
    sentences += _start_up(budget)
    if budget.not_recorded_ps:
        whole = budget.base_ps + budget.not_recorded_ps
        sentences.append(_MISSING.format(time=duration(budget.not_recorded_ps), whole=duration(whole), of=budget.base))
    return sentences


def _start_up(budget: RunBudget) -> list[str]:
    longest: dict[str, StartUp] = {}
    for _, one in budget.start_up:
        if one.label not in longest or one.wait_ps > longest[one.label].wait_ps:
            longest[one.label] = one
    return [
        _START[one.first_collective].format(
            label=one.label if one.label[:1].isalpha() else f"Step {one.label}",
            what=one.what,
            count="one call" if one.calls == 1 else f"{one.calls} calls",
            length=duration(one.length_ps),
            wait=duration(one.wait_ps),
        )
        for one in longest.values()
    ]


def run_notes(run: RunHosts, budget: RunBudget) -> list[str]:
    """`reading_notes` in the words of the run's framework, which is looked up only if there is something to say."""
    return reading_notes(budget, frameworks_of(run)) if reading_notes(budget) else []


def step_notes(budget: RunBudget, covered: Coverage | None, frameworks: Sequence[str] = ()) -> list[str]:
    """What pages and the command say of the steps: where they come from, exceptions, and what they leave out."""
    return [*reading_notes(budget, frameworks), *_slow(budget), *_covered(covered)]


def _slow(budget: RunBudget) -> list[str]:
    found = step_outliers(budget)
    # Long steps in which devices end work that other steps launched are no exceptions, as in the headline.
    if found.slowest is None or found.idle_ps_per_step < found.excess_ps_per_step / 2:
        return []
    if found.mean_ps < _MEAN * found.median_ps:
        return []
    longest = float(found.length_ps[found.slowest])
    take = "takes" if len(found) == 1 else "take"
    times = {"median": found.median_ps, "limit": found.limit_ps, "longest": longest}
    shown = {name: duration(ps) for name, ps in times.items()}
    return [_SLOW.format(count=len(found), steps=len(found.length_ps), take=take, **shown)]


def _covered(found: Coverage | None) -> list[str]:
    if found is None or found.share >= _LITTLE:
        return []
    between = found.length_ps - found.steps_ps - found.before_ps - found.after_ps
    places = (("before", found.before_ps), ("between", between), ("after", found.after_ps))
    rest = [f"{duration(ps)} {where}" for where, ps in places if ps > _NOTABLE * found.length_ps]
    return [_COVERED.format(share=found.share, rest=", ".join(rest))]
