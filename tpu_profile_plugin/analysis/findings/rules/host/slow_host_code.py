"""Devices are idle because the host runs other code: the function and its line.

Fires if idle time that code of the main thread covers takes at least {LEAST_SHARE:.0%} of the time from step to step;
without Python functions, idle time without any event, which is then unexplained. For TensorFlow without devices, it is
the main thread's time outside of TensorFlow.

What to do depends on what the code is for: a checkpoint, logging, garbage collection, evaluation, a new iterator, a
debug mode, copies, texts, JSON, hashes, tables, conversions, files; a wait for another thread or program, a lock, the
network or requests. Else move the work to another thread or process, or make it cheaper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE
from tpu_profile_plugin.analysis.findings.evidence.host.launched import uncompiled
from tpu_profile_plugin.analysis.findings.evidence.host.slow_code import SlowCode, slow_code
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE as LEAST_SHARE
from tpu_profile_plugin.analysis.findings.lost import within
from tpu_profile_plugin.analysis.findings.model import Advice, Confidence, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import costs, event, lasting, shown
from tpu_profile_plugin.analysis.findings.rules.host import python_lock
from tpu_profile_plugin.analysis.findings.rules.host.kinds import KINDS, again
from tpu_profile_plugin.analysis.findings.run_view import RunView

ADVICE = Advice(
    "Move this work to another thread or process so that it runs while the devices compute, or make it cheaper. "
    "The devices have nothing to do until it has finished.",
    jax="Launch the next step before this work begins (JAX returns before the devices have finished), move it to "
    "another thread or process, or do it every N-th step. Work on arrays that are on a device belongs into the jitted "
    "function.",
    tensorflow="Move this work into the tf.data pipeline (map with num_parallel_calls, then prefetch) or into the "
    "tf.function. What the loop does besides should run every N-th step.",
    keras="Run callbacks that take long every N-th batch (on_train_batch_end is called after each), and preprocess in "
    "the tf.data pipeline (map with num_parallel_calls, then prefetch).",
)
"""Of code that nothing tells the purpose of."""
AFTER_WAIT = Advice(
    "The host waits for results before it comes to this code, so that the devices have nothing to do meanwhile. Launch "
    "the next step first and read results one step late, or prepare what the next step needs on another thread.",
)
"""Of code that devices wait for because a wait for results comes before it."""
INPUT = Advice(
    "Prepare the next batch on another thread or process while the devices compute, and send it to them early. "
    "The devices have nothing to do until it has finished.",
    jax="Prepare the next batch on another thread or process while the devices compute; JAX returns before they have "
    "finished. Work on arrays that are already on a device belongs into the jitted function.",
    tensorflow=ADVICE.tensorflow,
    keras=ADVICE.keras,
)
"""Of code whose result is sent to a device."""
UNTRACED = Advice(
    "Record again with Python functions (`tpu-profile capture --python-tracer 1`): then this finding names the "
    "function and its line. This profile does not show what the devices wait for.",
    jax="Record again with Python functions (`tpu-profile capture --python-tracer 1`, or python_tracer_level=1 in "
    "jax.profiler.ProfileOptions): then this finding names the function and its line.",
    tensorflow="Look at what the loop and its callbacks do between calls of TensorFlow: meanwhile nothing is computed. "
    "With `tpu-profile capture --python-tracer 1`, TensorFlow up to 2.15 names them.",
    pytorch="Record again with with_stack=True of torch.profiler.profile: then this finding names the function and its "
    "line. This profile does not show what the devices wait for.",
    pytorch_xla="Record again with Python functions (`tpu-profile capture --python-tracer 1`): then this finding names "
    "the function and its line.",
)
LOCKED = Advice(
    "Another thread of the program runs Python all the time, so that one more would make this slower: move the work to "
    "another process, or make it cheaper. The devices have nothing to do until it has finished.",
)

MOSTLY = 0.5
"""Share of the time budget's unexplained part from which all of it is reported: as far as known it is one cause."""
_UNKNOWN = "Python functions were not recorded"
_LITTLE = "Code on the host takes {share} of the {base} while devices are idle."


def gather(host: HostView) -> HostLoss | None:
    """The code that costs most on a host; None if there is none.

    What Python does between operations that are not compiled is not meant.
    """
    code = slow_code(host, uncompiled(host))
    if code is None:
        return None
    known, evidence, devices = KINDS.get(code.purpose), _evidence(host, code), bool(host.devices)
    if not code.name and devices:
        return HostLoss(code.by_part, "", evidence, UNTRACED, "low")
    named = shown(code.name) + (f" in {shown(code.place)}" if code.place and known else "")
    held = f", held by {shown(code.holder)} on another thread" if code.holder else ""
    reason = f"{known.wait if known else 'code on the host'}: {named}{held}"
    alone = f": {named}" if named else f"; {_UNKNOWN}"
    advice = known.advice if known else _advice(host, code)
    confidence: Confidence = "high" if code.name.startswith("$") else "medium"
    return HostLoss(code.by_part, reason if devices else alone, evidence, advice, confidence, reason if known else "")


def _advice(host: HostView, code: SlowCode) -> Advice:
    if not code.name.startswith("$"):
        return UNTRACED
    if python_lock.gather(host) is not None:
        return LOCKED
    return AFTER_WAIT if code.after_wait else INPUT if code.sent else ADVICE


def _evidence(host: HostView, code: SlowCode) -> tuple[Evidence, ...]:
    names = (
        ("Function", code.name),
        ("Called by", code.place),
        ("Ends on another thread when the wait does", code.holder),
        ("Right before it the host waits for results in", code.after_wait),
        ("Most of it in", code.inner if code.inner != code.name else ""),
    )
    evidence = [event(label, host.name, code.window, name) for label, name in names if name]
    if code.name:
        share = 100 * code.name_ps / max(int(code.by_part.sum()), 1)
        evidence.insert(1, Evidence("Because of this function, of that time", share, "%"))
    evidence.append(lasting("Longest wait", host.name, code.window))
    return (*evidence, *(() if code.name.startswith("$") else (again(host.summary.frameworks),)))


def judge(run: RunView, gathered: Sequence[HostLoss | None]) -> Finding | Silence:
    """The verdict on the host whose code costs most."""
    known = run.present(gathered)
    if not run.has_devices and not known:
        return lacks(NO_DEVICE)
    found = verdict(
        run,
        gathered,
        title="Devices wait {share} of the {base} for {what}"
        if run.has_devices
        else "Code outside of TensorFlow takes {share} of the {base}{what}",
        label="Devices idle because of code on the host" if run.has_devices else "Main thread outside of TensorFlow",
        formula="idle time that one event of the main thread covers to at least 80%, per step and device"
        if run.has_devices
        else "time of the main thread outside of calls into TensorFlow, per step",
        nothing=_LITTLE,
        little=_LITTLE,
    )
    return _unexplained(run, found) if isinstance(found, Finding) and found.confidence == "low" else found


def _unexplained(run: RunView, found: Finding) -> Finding:
    """No event tells what the host does: then only the part of the time budget is known."""
    lost, whole = within(run.budget, found.saving_ps, found.segments), run.lost_in("idle_other")
    lost = whole if lost.ps >= MOSTLY * whole.ps else lost
    return replace(
        found,
        title=f"Devices idle {lost.share:.1%} of the {run.base}, and the profile does not show why: {_UNKNOWN}",
        saving_ps=lost.ps,
        formula="idle time during which no event of the main thread was recorded, per step and device",
        evidence=(*costs(run, "Devices idle without a recorded cause", lost), *found.evidence[2:]),
        segments=lost.segments,
    )


RULE = Rule("slow_host_code", "Slow code on the host", judge, gather, neutral=True)
