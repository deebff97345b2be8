"""Programs are compiled, or functions traced, again and again within the steps.

Fires if compilation and tracing cost at least {COMPILE_LEAST:.0%} of the time from step to step in {COMPILE_STEPS} or
more steps, or {COMPILE_SHARE:.0%} in a single step. It names the program, and the parameters that changed.

Keep shapes and static arguments constant, and make the compiled function once, outside of the loop.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN
from tpu_profile_plugin.analysis.budget.categories import IDLE_COMPILE
from tpu_profile_plugin.analysis.budget.host_names import is_recognised
from tpu_profile_plugin.analysis.common.op_names import compiles_torch
from tpu_profile_plugin.analysis.common.planes import rows_named, spans_at
from tpu_profile_plugin.analysis.common.reasons import NO_STEPS
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, join, times_of
from tpu_profile_plugin.analysis.findings.evidence.host.tf_calls import traced_calls
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import IDLE, HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import lasting
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.hlo.parameters import base_name, changes, programs_of
from tpu_profile_plugin.columns import EventFilter

_COMPILED = re.compile(
    r"backend_compile|XlaCompil|::Compile(?:AndLoad)?\b|(?:Cpu|GPU|NVPTX|AMDGPU)Compiler|TpuCompile"
    r"|HLO passes through layout assignment"
)
"""Events of compilation itself; tracing and lowering alone may be short and happen for programs that are cached."""
_CALL = re.compile(r"PjitFunction\(")
"""A call of JAX, which traces and lowers what it compiles."""
_MODULE = re.compile(r"(?:HLO passes through layout assignment \(|XlaCompile:#(?:.*,)?module=)(?P<name>[\w.\-]+)")


def _is_compilation(name: str) -> bool:
    return compiles_torch(name) or _COMPILED.search(name) is not None


def _compiles(host: HostView) -> tuple[Times, Counter[str], Counter[str]] | None:
    """When a host compiled or traced, on any thread; how often each module, where events tell it, and each tf.function.

    Modules with most time come first. None, without reading any event, if their names do not allow for it.
    """
    plane = host.plane
    if plane is None:
        return None
    declared = plane.declared.event_metadata.names
    may_compile = any(map(_is_compilation, declared))
    if not may_compile and not any(one.expensive_ps for one in host.summary.functions):
        return None
    if not plane.decoded:
        wanted = [name for name in declared if _is_compilation(name) or _CALL.match(name)]
        read = host.reader.events if all(map(is_recognised, wanted)) else None
        plane = read or host.space.filtered(EventFilter(plane, event=set(wanted).__contains__))[0]
    names = plane.event_metadata.names
    compiling = rows_named(plane, _is_compilation)[plane.events.metadata]
    counts = np.bincount(plane.events.metadata, minlength=len(names))
    took = np.zeros(len(names), np.int64)
    np.add.at(took, plane.events.metadata, plane.events.duration_ps)
    modules: Counter[str] = Counter()
    for number in np.argsort(-took, kind="stable").tolist():
        if counts[number] and (module := _MODULE.match(names[number])):
            modules[base_name(module["name"])] += int(counts[number])
    events = times_of(*spans_at(plane, slice(None)), compiling)
    calls, traced = traced_calls(host)
    begin, end = spans_at(plane, np.flatnonzero(rows_named(plane, _CALL.match)[plane.events.metadata]))
    compiled = times_of(begin, end, covered_within(*events, begin, end) > 0)
    return join(events, calls, compiled), modules, traced


COMPILE_SHARE = 0.05
"""Compilation in a single step, as a share of the time of all steps: less is the usual first call."""
COMPILE_STEPS = 2
"""Compilation in this many steps is more than the first call of a program, which every run has once."""
COMPILE_LEAST = 0.01
"""Compilation in several steps, as a share of their time: less is not noticeable."""


def gather(host: HostView) -> tuple[HostLoss, bool] | None:
    """What one host compiles in its steps, and whether in several of them; None if nothing."""
    (begin, end), compiled = host.windows, _compiles(host)
    if compiled is None:
        return None
    times, of_modules, traces = compiled
    inside = covered_within(*times, begin, end)
    if not len(begin) or not inside.any():
        return None
    longest = int(covered_within(begin[:1], end[-1:], *times).argmax())
    window = int(times[0][longest]), int(times[1][longest])
    in_steps, steps, modules = int((inside > 0).sum()), len(begin), _counts(host, of_modules, len(times[0]))
    traced = [(name, count) for name, count in traces.most_common() if count > 1]
    changed = changes(host.hlo.programs, programs_of(host.hlo.programs).get(modules[0][0], [])) if modules else None
    evidence = [
        Evidence(f"Steps with compilation, of {steps}", in_steps),
        lasting("Longest compilation", host.name, window),
        *(Evidence(f"Compilations of {name}", count) for name, count in modules[:3]),
        *(Evidence("Parameter that changed", str(change)) for change in (changed or ())[:3]),
    ]
    if changed == ():
        evidence.append(Evidence("Parameters", "the same in all of its programs"))
    evidence += [Evidence(f"Traces of {name}", count) for name, count in traced[:3]]
    several = in_steps >= COMPILE_STEPS
    again = several or host.per == "recording"
    advice = ONCE if not again else UNKNOWN if changed is None else NEW_SHAPES if changed else SAME_SHAPES
    what = f"Compilation takes {{share}} of the {{base}}, in {in_steps} of {steps} steps"
    if not again:
        what = f"Compilation in one of {steps} steps takes {{share}} of the time of all"
    elif modules:
        changed_first = f" ({changed[0]})" if changed else ""
        name, count = modules[0]
        what = f"Compilation takes {{share}} of the {{base}}: {name} was compiled {count} times{changed_first}"
    elif traced:
        what = f"Tracing takes {{share}} of the {{base}}: {traced[0][0]} was traced {traced[0][1]} times"
    beside = host.beside(times)
    beside[list(IDLE)] = 0
    idle = host.by_part([times] * len(host.devices), set(IDLE) - {IDLE_COMPILE})
    spent = host.blame.by_part(host.blame.part % BETWEEN == IDLE_COMPILE) + idle + beside
    little = spent.sum() < (COMPILE_LEAST if several else COMPILE_SHARE) * host.time.cells * host.time.base_ps
    harmless = f"Compilation takes {{share}} of the {{base}}, in {in_steps} of {steps} steps." if little else ""
    return HostLoss(spent, what, tuple(evidence), advice, harmless=harmless, beside=bool(beside.any())), again


def _counts(host: HostView, modules: Mapping[str, int], compilations: int) -> tuple[tuple[str, int], ...]:
    """Modules that were compiled several times: by events, else by how many programs of a name there are.

    A profile has programs that were compiled before it began, too: no more were compiled than there are compilations.
    """
    if modules:
        return tuple((name, count) for name, count in modules.items() if count > 1)
    counts = ((name, min(len(one), compilations)) for name, one in programs_of(host.hlo.programs).items())
    return tuple(sorted(((name, count) for name, count in counts if count > 1), key=lambda one: -one[1]))


NEW_SHAPES = PARTS["compiled for new shapes"]
SAME_SHAPES = PARTS["compiled for the same shapes"]
UNKNOWN = PARTS["compiled again"]
ONCE = PARTS["compiled once"]


def judge(run: RunView, gathered: Sequence[tuple[HostLoss, bool] | None]) -> Finding | Silence:
    """The verdict on the host that loses most to compilation."""
    known = run.present(gathered)
    if not run.steps or (run.whole_recording and not run.has_devices):
        return lacks(NO_STEPS, "No steps recorded.")
    idle = run.has_devices and not any(one.beside for (one, _), _ in known)
    again = bool(known) and max(known, key=lambda one: one[0][0].ps)[0][1]
    found = verdict(
        run,
        [one and one[0] for one in gathered],
        title="{what}",
        label="Idle during compilation and tracing" if idle else "Compilation and tracing",
        formula="idle time during compilation and tracing, and half of what CPUs compute and launch meanwhile on "
        "one processor, per step and device; without devices, the time of both",
        nothing=f"Nothing was compiled in {run.steps} steps.",
        little="",
        least=0.0,
    )
    return replace(found, saving_ps=0.0) if isinstance(found, Finding) and not again else found


RULE = Rule("recompilation", "Compilation within steps", judge, gather)
