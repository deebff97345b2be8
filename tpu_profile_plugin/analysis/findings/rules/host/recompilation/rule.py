"""Programs are compiled, or functions traced, again and again within the steps.

Fires if compilation and tracing cost at least {COMPILE_LEAST:.0%} of the time from step to step in {COMPILE_STEPS} or
more steps, or {COMPILE_SHARE:.0%} in a single step. It names the program, and the parameters that changed.

Keep shapes and static arguments constant, and make the compiled function once, outside of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import NO_STEPS
from tpu_profile_plugin.analysis.common.spans import covered_within
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import Lost, lost_to
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import TIMELINE, per_step, share_of, timeline
from tpu_profile_plugin.analysis.findings.rules.host.recompilation.compiles import (
    Change,
    Compiles,
    changes,
    compiles,
    may_compile,
    programs_of,
)
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS

PART = "idle_compile"
"""The part of the time budget that is compilation and tracing."""
COMPILE_SHARE = 0.05
"""Compilation in a single step, as a share of the time of all steps: less is the usual first call."""
COMPILE_STEPS = 2
"""Compilation in this many steps is more than the first call of a program, which every run has once."""
COMPILE_LEAST = 0.01
"""Compilation in several steps, as a share of their time: less is not noticeable."""


@dataclass(frozen=True, slots=True, eq=False)
class Compilation:
    """Compilation on one host.

    Attributes:
      steps: how many there are.
      lost_ps: what compilation costs by the host's time budget, per step and device.
      in_steps: steps with compilation.
      modules: (name, how often compiled), most first; changes: of the first one's programs; None if unknown.
      traced: (tf.function, how often traced), most first.
      window: the longest compilation.
    """

    steps: int
    lost_ps: float
    in_steps: int
    modules: tuple[tuple[str, int], ...]
    changes: tuple[Change, ...] | None
    traced: tuple[tuple[str, int], ...]
    window: tuple[int, int]


def gather(host: HostView) -> Compilation | None:
    """What one host compiles in its steps; None if nothing."""
    if not may_compile(host):
        return None
    begin, end = host.windows
    compiled = compiles(host)
    inside = covered_within(*compiled.times, begin, end)
    if not len(begin) or not inside.any():
        return None
    per_span = covered_within(begin[:1], end[-1:], *compiled.times)
    longest = int(per_span.argmax())
    counts = _counts(host, compiled)
    ids = programs_of(host.hlo.programs)
    return Compilation(
        len(begin),
        lost_to(host.time, PART).ps,
        int((inside > 0).sum()),
        counts,
        changes(host.hlo.programs, ids.get(counts[0][0], [])) if counts else None,
        tuple((name, count) for name, count in compiled.traced.most_common() if count > 1),
        (int(compiled.times[0][longest]), int(compiled.times[1][longest])),
    )


def _counts(host: HostView, compiled: Compiles) -> tuple[tuple[str, int], ...]:
    """Modules that were compiled several times: by events, else by how many programs of a name there are.

    A profile has programs that were compiled before it began, too: no more were compiled than there are compilations.
    """
    if compiled.modules:
        return tuple((name, count) for name, count in compiled.modules.items() if count > 1)
    ids, most = programs_of(host.hlo.programs), len(compiled.times[0])
    counts = ((name, min(len(one), most)) for name, one in ids.items())
    return tuple(sorted(((name, count) for name, count in counts if count > 1), key=lambda one: -one[1]))


NEW_SHAPES = Advice(
    "Give the program the same shapes in every step: pad the data, or sort it into a few sizes, and drop the last, "
    "smaller batch. Each new shape costs a compilation.",
    tensorflow="Give the function an input_signature with None for the dimensions that vary, or pad the data; drop the "
    "last, smaller batch (drop_remainder=True). Each new shape costs a trace, and with XLA a compilation.",
)
SAME_SHAPES = Advice(
    "Make the compiled function once, outside of the loop, and pass values that change as arrays. The shapes are the "
    "same, so what changed is the function object or an argument that counts as part of the program.",
    jax="Call jax.jit once, outside of the loop, and pass values that change as arrays, not as static arguments. "
    "A new lambda, functools.partial or closure in each step, or a static argument with a new value, is a new program; "
    "jax.config.update('jax_explain_cache_misses', True) tells which it is.",
    tensorflow="Create the tf.function once, outside of the loop, and pass tensors in place of Python numbers and "
    "strings. Each new Python value, and each new function object, is traced again.",
)
UNKNOWN = Advice(
    "Give the program the same shapes in every step, and make it once, outside of the loop. Each new shape, each new "
    "value of an argument that counts as part of the program, and each new function object is compiled.",
    tensorflow="Give the function an input_signature with None for the dimensions that vary, pass tensors in place of "
    "Python numbers, and create the tf.function once, outside of the loop. Each new shape, Python value or function "
    "object is traced again.",
    pytorch="Mark sizes that vary (torch._dynamo.mark_dynamic, or torch.compile(dynamic=True)), or pad the data. "
    "TORCH_LOGS=recompiles prints which guard failed: another shape, number or object.",
)
ONCE = Advice(
    "Record later, after the first steps: a program is compiled when it is first called. If it happens in every run, a "
    "persistent compilation cache shortens the start."
)


def judge(run: RunView, gathered: Sequence[Compilation | None]) -> Finding | Silence:
    """The verdict on the host that loses most to compilation."""
    known = run.present(gathered)
    if not run.steps or (run.whole_recording and not run.has_devices):
        return lacks(NO_STEPS, "No steps recorded.")
    if not known:
        return Silence(f"Nothing was compiled in {run.steps} steps.")
    worst, host = max(known, key=lambda one: (one[0].lost_ps, one[0].in_steps))
    lost = run.lost_to(PART)
    if lost.share < (COMPILE_LEAST if worst.in_steps >= COMPILE_STEPS else COMPILE_SHARE):
        return Silence(
            f"Compilation takes {lost.share:.1%} of the {run.base}, in {worst.in_steps} of {worst.steps} steps."
        )
    again = worst.in_steps >= COMPILE_STEPS or run.whole_recording
    return Finding(
        _title(run, worst, lost.share),
        lost.ps if again else 0,
        "idle time during compilation and tracing, per step and device; without devices, the time of both",
        "high",
        _evidence(run, worst, host, lost),
        _advice(worst) if again else ONCE,
        (host,),
        lost.segments,
    )


def _advice(worst: Compilation) -> Advice:
    if worst.changes is None:
        return UNKNOWN
    return NEW_SHAPES if worst.changes else SAME_SHAPES


def _title(run: RunView, worst: Compilation, share: float) -> str:
    if worst.in_steps < COMPILE_STEPS and not run.whole_recording:
        return f"Compilation in one of {worst.steps} steps takes {share:.1%} of the time of all"
    title = f"Compilation takes {share:.1%} of the {run.base}"
    if worst.modules:
        name, count = worst.modules[0]
        return f"{title}: {name} was compiled {count} times" + (f" ({worst.changes[0]})" if worst.changes else "")
    if worst.traced:
        name, count = worst.traced[0]
        return f"Tracing takes {share:.1%} of the {run.base}: {name} was traced {count} times"
    return f"{title}, in {worst.in_steps} of {worst.steps} steps"


def _evidence(run: RunView, worst: Compilation, host: str, lost: Lost) -> tuple[Evidence, ...]:
    where = timeline(host, *worst.window)
    length = (worst.window[1] - worst.window[0]) / PS_PER_MS
    what = "Idle during compilation and tracing" if run.has_devices else "Compilation and tracing"
    evidence = [
        share_of(what, lost, run.base),
        per_step(what, lost, run.per),
        Evidence(f"Steps with compilation, of {worst.steps}", worst.in_steps),
        Evidence("Longest compilation", length, "ms", TIMELINE, where),
    ]
    evidence += [Evidence(f"Compilations of {name}", count) for name, count in worst.modules[:3]]
    evidence += [Evidence("Parameter that changed", str(change)) for change in (worst.changes or ())[:3]]
    if worst.modules and worst.changes == ():
        evidence.append(Evidence("Parameters", "the same in all of its programs"))
    evidence += [Evidence(f"Traces of {name}", count) for name, count in worst.traced[:3]]
    return tuple(evidence)


RULE = Rule("recompilation", "Compilation within steps", judge, gather)
