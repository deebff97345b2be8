"""Devices are idle because the host runs other code: the function and its line.

Fires if idle time that code of the main thread covers takes at least {LEAST_SHARE:.0%} of the time from step to step;
without Python functions, idle time without any event, with the calls that it follows. Of CPUs that is waste if three of
four steps have so much of it, after the same calls, that it takes {REGULAR_ON_CPUS:.0%}; with fewer than {LEAST_STEPS}
steps, from {UNEXPLAINED_ON_CPUS:.0%} on. For TensorFlow without devices, it is the main thread's time outside of
TensorFlow.

What to do depends on what the code is for: a checkpoint, logging, garbage collection, evaluation, a new iterator, a
debug mode, copies, texts, JSON, hashes, tables, conversions, files; a wait for another thread or program, a lock, the
network or requests. Else move the work to another thread or process, or make it cheaper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tpu_profile_plugin.analysis.blame.host_groups import MOST
from tpu_profile_plugin.analysis.blame.stacks import AFTER, NOWHERE, Stacks
from tpu_profile_plugin.analysis.budget.host_names import is_user_frame
from tpu_profile_plugin.analysis.budget.purpose import AS_CODE, Purpose
from tpu_profile_plugin.analysis.common.op_names import PYTORCH_SUFFIX
from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE
from tpu_profile_plugin.analysis.common.spans import intersect, total, union
from tpu_profile_plugin.analysis.devices.launched import Launched, longest_gap_ps
from tpu_profile_plugin.analysis.findings.evidence.host.calls import Calls, NamedPart, blame_of_calls, named_part
from tpu_profile_plugin.analysis.findings.evidence.host.code import GLUE_PS, HostCode, Idle, code_of
from tpu_profile_plugin.analysis.findings.evidence.host.launched import uncompiled
from tpu_profile_plugin.analysis.findings.evidence.host.usual import LEAST_STEPS
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.kinds import KINDS, again
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE as LEAST_SHARE
from tpu_profile_plugin.analysis.findings.lost import within
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import OFTEN, PARTS, REPEATED, advice_after, advice_within, led
from tpu_profile_plugin.analysis.findings.places import costs, event, lasting, most_label, shown
from tpu_profile_plugin.analysis.findings.rules.host import python_lock
from tpu_profile_plugin.analysis.findings.rules.host.python_lock import holding
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.columns.arrays import I64, Bools

ADVICE, AFTER_WAIT, INPUT = PARTS["code"], PARTS["after wait"], PARTS["code for input"]
"""Of code that nothing tells the purpose of: in general, after a wait for results, and if a device gets its result."""
UNTRACED, LOCKED = PARTS["untraced"], PARTS["beside a locked thread"]
LAUNCHING = 0.02
"""Share of the launches from which a function that encloses them does the launching."""
MOSTLY = 0.5
"""Share of the time budget's unexplained part from which all of it is reported: as far as known it is one cause."""
REGULAR, REGULAR_ON_CPUS = 0.25, 0.20
"""Idle time of CPUs without any event is the program's if this quantile of the steps has so much of it after the same
calls: in programs with nothing to mend that reaches 16%, while all such time reaches 46%, as threads of the program, of
its runtime and of others wait for the same processors."""
UNEXPLAINED_ON_CPUS = 0.50
"""The same of all such time, where steps are too few to tell."""
MOST_CALLS, LEAST_OF_CALLS = 3, 0.1
_UNKNOWN = "Python functions were not recorded"
_IDLE = "idle {share} of the {base} in code that was not recorded, after"
_LITTLE = "Code on the host takes {share} of the {base} while devices are idle."


def gather(host: HostView) -> HostLoss | None:
    """The code that costs most on a host; None if there is none.

    What Python does between operations that are not compiled is not meant.
    """
    return slow_code(host, uncompiled(host))


def slow_code(host: HostView, ops: Launched | None) -> HostLoss | None:
    """The same. `ops`: what steps launch that are not compiled; then short spans do not count, nor long ones in
    functions that launch ops as well: what Python does between two operations is the price of launching them.
    """
    code = code_of(host)
    if code is None:
        return None
    spans, calls = code.slow, code.calls
    if not calls.main.traced and code.unknown.total() > spans.total():
        spans = code.unknown
    if ops is not None and host.steps is not None:
        spans = spans.where(spans.ps >= longest_gap_ps(host.steps))
        spans = spans.where(~_launching(calls, ops)[calls.stacks.at(spans.middle)])
    if not len(spans):
        return None
    most = _most(code, host, *code.within(spans))
    mine = most.nodes[calls.stacks.at(spans.middle)]
    chosen = spans.where(mine) if mine.any() else spans
    longest, holder = int(chosen.ps.argmax()), ""
    if most.purpose in (Purpose.UNKNOWN, Purpose.LOCK):
        waits = intersect(calls.times(most.nodes), union(chosen.begin_ps, chosen.end_ps))
        holder = holding(host, waits, most.ps)
    window = int(chosen.begin_ps[longest]), int(chosen.end_ps[longest])
    after_wait, by_part = _after_wait(code, chosen.begin_ps), spans.by_part(host)
    names = (
        ("Function", most.name),
        ("Called by", most.place),
        ("Ends on another thread when the wait does", holder),
        ("Right before it the host waits for results in", after_wait),
        (most_label(most.inner_ps / max(most.ps, 1), known="call"), most.inner if most.inner != most.name else ""),
    )
    evidence = [event(label, host.name, window, name) for label, name in names if name]
    if most.name:
        share = 100 * most.ps / max(int(by_part.sum()), 1)
        evidence.insert(1, Evidence("Because of this function, of that time", share, "%"))
    evidence.append(lasting("Longest wait", host.name, window))
    traced = most.name.startswith(("$", "<built-in "))
    if not traced:
        evidence.append(again(host.summary.frameworks))
    if not most.name and host.devices:
        regular, after = _regular(host, calls.stacks, spans)
        if after:
            evidence.insert(0, Evidence("It follows", after))
        if not host.on_cpus or not after or regular < REGULAR_ON_CPUS * code.length_ps:
            return HostLoss(by_part, _IDLE, tuple(evidence), UNTRACED, "low")
        advice = advice_after(after.partition(" (")[0], UNTRACED)
        return HostLoss(by_part, f"{_IDLE} {after}", tuple(evidence), advice, "medium")
    known = KINDS.get(Purpose.LOCK if holder else most.purpose)
    named = shown(most.name) + (f" in {shown(most.place)}" if most.place and known else "")
    held = f", held by {shown(holder)} on another thread" if holder else ""
    reason = f"{known.wait if known else 'code on the host'}: {named}{held}"
    often = max(calls.per_step(name, host.windows) for name in (most.name, most.inner))
    if often >= OFTEN:
        evidence.append(Evidence("Calls per step", often))
    if known:
        advice = known.advice
    elif not traced:
        advice = UNTRACED
    elif python_lock.gather(host) is not None:
        advice = LOCKED
    else:
        advice = AFTER_WAIT if after_wait else INPUT if _sent(host, chosen) else ADVICE
        own = is_user_frame(most.name)
        advice = advice_within((most.inner,), advice) if own else advice_after(most.name, advice)
        advice = led(REPEATED, advice) if often >= OFTEN else advice
    what = (
        f"wait {{share}} of the {{base}} for {reason}" if host.devices else f": {named}" if named else f"; {_UNKNOWN}"
    )
    return HostLoss(by_part, what, tuple(evidence), advice, "high" if traced else "medium", reason if known else "")


def _most(code: HostCode, host: HostView, node: I64, ps: I64) -> NamedPart:
    calls, thread_ps = code.calls, blame_of_calls(host).thread_ps
    evaluating = int(thread_ps[calls.purpose[:-1] == Purpose.EVALUATION].sum())
    # What most of the time is the program itself, whatever it is called.
    silent = (*AS_CODE, Purpose.EVALUATION) if evaluating > MOST * thread_ps.sum() else AS_CODE
    most = named_part(host, node, ps, silent)
    if most.purpose == Purpose.QUEUE:
        waits = intersect(calls.times(calls.purpose == Purpose.QUEUE), union(code.slow.begin_ps, code.slow.end_ps))
        if 2 * total(intersect(waits, host.reader.time.batching)) > total(waits):
            return replace(most, purpose=Purpose.BATCHING)
    return most


def _regular(host: HostView, stacks: Stacks, spans: Idle) -> tuple[float, str]:
    """How much time without events enough steps have regularly, and the calls that most of it follows, in words."""
    steps = host.windows[0]
    if len(steps) < LEAST_STEPS:
        return 0.0, ""
    step = np.maximum(np.searchsorted(steps, spans.begin_ps, side="right") - 1, 0)
    names, which = _before(host, stacks, spans)
    of_step = np.zeros((len(names), len(steps)), np.int64)
    np.add.at(of_step, (which, step), spans.ps)
    of_name, counts = of_step.sum(axis=1), np.bincount(which) / len(steps)
    most = [row for row in np.argsort(-of_name)[:MOST_CALLS].tolist() if of_name[row] >= LEAST_OF_CALLS * of_name.sum()]
    told = ", ".join(f"{names[row]} ({max(round(counts[row]), 1)} per step)" for row in most if names[row])
    return float(np.quantile(of_step, REGULAR, axis=1).sum()) * len(steps), told


def _before(host: HostView, stacks: Stacks, spans: Idle) -> tuple[list[str], I64]:
    """What spans follow, calls of the host, else the last ops of their devices, and which of these; "" is nothing."""
    row = np.searchsorted(stacks.begin_ps, spans.begin_ps, side="right") - 1
    node = np.where(row >= 0, np.append(stacks.after, NOWHERE)[row], NOWHERE)
    called = [*stacks.names, ""]
    key = np.where(node >= 0, np.append(stacks.name, 0)[node], len(stacks.names))
    for number, device in enumerate(host.devices):
        order = np.argsort(device.runs.end_ps, kind="stable")
        last = np.searchsorted(device.runs.end_ps[order], spans.begin_ps, side="right") - 1
        mine = np.flatnonzero((spans.device == number) & (last >= 0) & (node < 0))
        key[mine] = len(called) + device.runs.op[order[last[mine]]]
        called += [op.name for op in device.ops]
    keys, of_key = np.unique(key, return_inverse=True)
    told = [called[i].removeprefix(AFTER).removeprefix("EagerLocalExecute: ") for i in keys.tolist()]
    names, which = np.unique([one.removesuffix(PYTORCH_SUFFIX) for one in told], return_inverse=True)
    return names.tolist(), which.reshape(-1)[of_key.reshape(-1)]


def _after_wait(code: HostCode, begin: I64) -> str:
    """The kind of call that most spans with these begins follow at once; short calls are left out."""
    long = code.fetches.end_ps - code.fetches.begin_ps >= GLUE_PS
    end, name = code.fetches.end_ps[long], code.fetches.name[long]
    if not len(end):
        return ""
    last = np.searchsorted(end, begin, side="right") - 1
    close = (last >= 0) & (begin - end[np.maximum(last, 0)] < GLUE_PS)
    if 2 * int(close.sum()) <= len(begin):
        return ""
    return code.calls.main.names[int(np.bincount(name[last[close]]).argmax())]


def _sent(host: HostView, spans: Idle) -> bool:
    begin, end = union(spans.begin_ps, spans.end_ps)
    upload = host.reader.time.upload[0]
    until = np.append(begin[1:], np.iinfo(np.int64).max)
    return 2 * int((np.searchsorted(upload, until) > np.searchsorted(upload, end)).sum()) > len(end)


def _launching(calls: Calls, ops: Launched) -> Bools:
    """Per node, whether the program's function around it launches ops."""
    share = calls.inclusive(*np.unique(calls.stacks.at(ops.at_ps), return_counts=True))
    launches: Bools = share >= LAUNCHING * len(ops.at_ps)
    around = np.where(calls.function >= 0, calls.function, np.arange(len(calls.function)))
    return launches[around] & (np.arange(len(around)) < len(around) - 1)


def judge(run: RunView, gathered: Sequence[HostLoss | None]) -> Finding | Silence:
    """The verdict on the host whose code costs most."""
    known = run.present(gathered)
    if not run.has_devices and not known:
        return lacks(NO_DEVICE)
    worst = max((loss for loss, _ in known), key=lambda one: one.ps, default=None)
    code = "idle time that one event of the main thread covers to at least 80%, per step and device"
    found = verdict(
        run,
        gathered,
        title="Devices {what}" if run.has_devices else "Code outside of TensorFlow takes {share} of the {base}{what}",
        label="Devices idle because of code on the host" if run.has_devices else "Main thread outside of TensorFlow",
        formula="time of the main thread outside of calls into TensorFlow, per step"
        if not run.has_devices
        else code
        if worst is None or not worst.what.startswith(_IDLE)
        else "idle time during which no event of the main thread was recorded, per step and device",
        nothing=_LITTLE,
        little=_LITTLE,
    )
    return _unexplained(run, found) if isinstance(found, Finding) and found.confidence == "low" else found


def _unexplained(run: RunView, found: Finding) -> Finding:
    """No event tells what the host does, nor what it did before: then only the part of the time budget is known."""
    lost, whole = within(run.budget, found.saving_ps, found.segments), run.lost_in("idle_other")
    lost = whole if lost.ps >= MOSTLY * whole.ps else lost
    waste = not run.on_cpus or (run.steps < LEAST_STEPS and lost.share >= UNEXPLAINED_ON_CPUS)
    return replace(
        found,
        title=f"Devices idle {lost.share:.1%} of the {run.base}, and the profile does not show why: {_UNKNOWN}",
        saving_ps=lost.ps if waste else 0.0,
        formula=found.formula + ("" if waste else "; no waste is known: it may be threads that wait for a processor"),
        evidence=(*costs(run, "Devices idle without a recorded cause", lost), *found.evidence[2:]),
        segments=lost.segments,
    )


RULE = Rule("slow_host_code", "Slow code on the host", judge, gather, neutral=True)
