"""A run in small, to follow it over many: its step, parts, places, memory and conditions."""

from __future__ import annotations

from collections.abc import Mapping

from tpu_profile_plugin.analysis.trend.summary import Conditions, RunSummary, deviation, parts_of, places_of
from tpu_profile_plugin.errors import NoData, ProfileError
from tpu_profile_plugin.run.figures.comparison import RunSide, run_side
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.units import NS_PER_MS

NO_STEPS = "The recording has no steps."

WRONG_CLOCK = "Its clock was wrong: it is placed by when its profile was written."
_DAY_MS = 86_400_000
_EARLIEST_MS = 10_000 * _DAY_MS
"""1997: a clock that was never set tells an earlier time."""


def run_summary(run: RunHosts, name: str, written_ms: int, labels: Mapping[str, str]) -> RunSummary:
    """The summary of a run; one without figures has the reason in place of them.

    Args:
      run: its hosts.
      name: what it is called.
      written_ms: when its profiles were written, ms since 1970; the recording itself may tell an earlier time.
      labels: by key.
    """
    plain = {str(key): str(value) for key, value in labels.items()}
    try:
        if not run.profiles:
            raise NoData("It has no profile.")
        side = run_side(run)
    except ProfileError as error:
        return RunSummary(name, written_ms, plain, problem=error.message)
    told_ms = side.environment.start_ns // NS_PER_MS
    began_ms, note = told_ms or written_ms, ""
    if written_ms and told_ms and (told_ms < _EARLIEST_MS or told_ms > written_ms + _DAY_MS):
        began_ms, note = written_ms, WRONG_CLOCK
    if not side.work.steps or side.recorded_steps is None:
        return RunSummary(name, began_ms, plain, problem=NO_STEPS)
    work = side.work if side.work.steps < 2 else side.work.from_step_to_step()  # of all runs alike: gaps come and go
    return RunSummary(
        name,
        began_ms,
        plain,
        conditions=_conditions(side),
        step_ps=work.length.ordinary,
        step_sd_ps=deviation(work.length),
        steps=work.steps,
        single_ps=work.length.excess,
        parts=parts_of(work),
        places=places_of(work),
        memory=dict(side.memory),
        note=note,
    )


def _conditions(side: RunSide) -> Conditions:
    work = side.work
    times: dict[str, float] = {}
    for op in work.ops:
        times[op.program] = times.get(op.program, 0.0) + op.ps
    return Conditions(
        program=max(sorted(times), key=lambda name: times[name], default=""),
        device=side.environment.device_type,
        devices=side.environment.device_cores,
        hosts=side.hosts,
        frameworks=tuple(sorted(side.frameworks)),
        unit="step" if work.steps < 2 else "time from step to step",
    )
