"""What percentages of time are shares of, in a sentence."""

from __future__ import annotations

from tpu_profile_plugin.analysis.budget.run import RunBudget


def base_sentence(budget: RunBudget) -> str:
    """What the shares of the average step are of."""
    devices = "the host" if all(one.kind == "host" for one in budget.devices) else "the devices that take part"
    if budget.base == "recording":
        return f"of the recording ({budget_sentence(budget)}), averaged over {devices}"
    return f"of the average {budget.base} ({budget_sentence(budget)}), averaged over {devices}"


def budget_sentence(budget: RunBudget) -> str:
    """Where the steps come from."""
    sources = {
        "device": "steps as devices recorded them",
        "host": "steps as the host marked them",
        "inferred": "steps inferred from an event that repeats",
        "dispatch": "the time of all steps divided evenly",
        "recording": "without steps",
    }
    return sources[budget.sources[0]] if budget.sources else "no steps"
