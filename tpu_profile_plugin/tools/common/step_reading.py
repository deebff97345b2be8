"""What our pages show of a run's steps: their decomposition, verdict on input, hosts side by side, coverage."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.budget.run import RunBudget
from tpu_profile_plugin.analysis.common.spans import exact_sum
from tpu_profile_plugin.analysis.steps.bottleneck import InputVerdict, input_verdict
from tpu_profile_plugin.analysis.summary.coverage import Coverage, coverage
from tpu_profile_plugin.analysis.summary.host import RunSummary
from tpu_profile_plugin.run.figures.budget import run_decomposition
from tpu_profile_plugin.run.figures.spending import step_notes
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.common.decomposition import decomposition_json
from tpu_profile_plugin.units import PS_PER_MS

STRAGGLER_SHARE = 0.1
"""Hosts whose steps take longer than the median of the other hosts by more than this share are stragglers."""
_ROUNDING = 1e-9


def reading_json(run: Run, summary: RunSummary) -> dict[str, Any]:
    """What the pages about steps show.

    * `decomposition`: the average step and each step (`tools/common/decomposition.py`);
    * `input` {bottleneck, level, percent}: the verdict on input, of shares of the decomposition;
    * `hosts` {step_ms, slowest_in, median_ms, over_others, stragglers}: see `hosts_json`;
    * `recording` {host, length_ms, steps_ms, before_ms, after_ms}: see `recording_json`;
    * `notes` [sentences] on where the steps come from, exceptions among them, and what they leave out.
    """
    budget = run_decomposition(run)
    hosts = [host.name for host in run.readable]
    verdict, covered = input_of(budget), coverage(budget, summary.recordings)
    return {
        "decomposition": decomposition_json(budget, hosts),
        "input": {"bottleneck": verdict.bottleneck, "level": verdict.level, "percent": verdict.percent},
        "hosts": hosts_json(budget, hosts),
        "recording": recording_json(covered, hosts),
        "notes": step_notes(budget, covered, summary.frameworks),
    }


def input_of(budget: RunBudget) -> InputVerdict:
    """The verdict on input, by XProf's thresholds on shares of the decomposition."""
    return input_verdict(len(budget), 100 * budget.share("input"), 100 * budget.share("other"))


def hosts_json(budget: RunBudget, hosts: list[str]) -> dict[str, Any]:
    """Average step time per host, in how many steps it was the slowest, and who lags behind.

    As everywhere, times are means over the devices that take part.
    """
    average, by_step = {}, {}
    for i, columns in budget.host_columns.items() if len(budget) else ():
        part, length = budget.takes_part[:, columns], budget.duration_ps[:, columns]
        if part.any():
            average[hosts[i]] = exact_sum(length[part]) / int(part.sum()) / PS_PER_MS
            by_step[hosts[i]] = np.where(part, length, 0).sum(axis=1) / np.maximum(part.sum(axis=1), 1)
    slowest: Counter[str] = Counter()
    if average:
        names = list(by_step)
        slowest.update(names[i] for i in np.stack(list(by_step.values())).argmax(axis=0).tolist())
    over = excess_over_others(average)
    return {
        "step_ms": average,
        "slowest_in": {host: slowest[host] for host in (average if len(average) <= 64 else sorted(slowest))},
        "median_ms": median(average.values()) if average else 0.0,
        "over_others": over,
        "stragglers": [host for host, share in over.items() if share > STRAGGLER_SHARE + _ROUNDING],
    }


def excess_over_others(times: dict[str, float]) -> dict[str, float]:
    """By how much of it each time exceeds the median of the others: with two, of the other one."""
    ordered = sorted(times.values())
    excess = {}
    for name, time in times.items() if len(ordered) > 1 else ():
        place = bisect_left(ordered, time)
        # The median of the sorted rest, without copying it for every host.
        rest, half = len(ordered) - 1, (len(ordered) - 1) // 2
        high = ordered[half + (half >= place)]
        low = high if rest % 2 else ordered[half - 1 + (half - 1 >= place)]
        middle = (low + high) / 2
        excess[name] = time / middle - 1.0 if middle > 0 else 0.0
    return excess


def recording_json(found: Coverage | None, hosts: Sequence[str]) -> dict[str, Any] | None:
    """What the steps cover on the host where they cover least, in ms; None without marked steps."""
    if found is None:
        return None
    names = ("length", "steps", "before", "after")
    return {"host": hosts[found.host]} | {f"{name}_ms": getattr(found, f"{name}_ps") / PS_PER_MS for name in names}
