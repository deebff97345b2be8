"""Devices wait for the host to launch compiled work: too many launches, or too small ones.

Fires if waiting for launches, with short code between two of them, takes at least {LAUNCH_SHARE:.0%} of the time from
step to step, and the host does not wait for the results of most launches. TensorFlow's executor on the CPU does not
record when launched work begins: there each call may account for at most {LONGEST_CALL}, as more is idle time within
the graph.

Launch less and larger work: several steps in one program, larger batches, fused kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, IDLE_LAUNCH
from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE
from tpu_profile_plugin.analysis.common.spans import contains, times_of
from tpu_profile_plugin.analysis.devices.launches import LaunchSummary
from tpu_profile_plugin.analysis.findings.evidence.device.torch_ops import optimizer_launches
from tpu_profile_plugin.analysis.findings.evidence.host.code import code_of
from tpu_profile_plugin.analysis.findings.evidence.host.launched import synced
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import within
from tpu_profile_plugin.analysis.findings.model import Advice, Confidence, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import TIMELINE, per_step, share_of, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_US

LAUNCH_SHARE = 0.15
"""Waiting for launches, as a share of the step: steps of a few milliseconds always lose about a tenth."""
LONGEST_CALL_PS = 300 * PS_PER_US
"""Idle time per call of devices that do not record when launched work begins: calling a tf.function takes Python about
0.1 to 0.3 ms. In longer calls the graph runs, but its threads wait for a core, or run what is not recorded: fewer calls
would not change that."""
LONGEST_CALL = f"{LONGEST_CALL_PS / PS_PER_MS:g} ms"
TINY_KERNELS = 0.50
"""Share of kernels below 10 us from which they are named as the reason."""

ADVICE = Advice(
    "Launch less and larger work: several steps in one program, larger batches, or fused kernels. What the host does "
    "between two launches should not wait for the device.",
    jax="Run several steps in one program with jax.lax.scan, or use a larger batch; on GPUs, let XLA put the kernels "
    "into a command buffer (--xla_gpu_enable_command_buffer). What runs between two calls should not wait for results.",
    tensorflow="Run several steps per call with a loop inside the tf.function, or use a larger batch. With "
    "jit_compile=True many small ops become a few kernels.",
    keras="Run several steps per call (steps_per_execution in compile()), or use a larger batch. With jit_compile=True "
    "in compile() many small ops become a few kernels.",
    pytorch="Compile the step with torch.compile(mode='reduce-overhead'), which replays it as a CUDA graph, or use a "
    "larger batch. What runs between two launches should not wait for the device.",
    pytorch_xla="Run several steps in one graph (call torch_xla.sync() every N-th step), or use a larger batch. "
    "What runs between two launches should not wait for the device.",
)
OPTIMIZER = 0.50
"""Share of kernels from which an optimizer is named as the reason."""
OPTIMIZER_ADVICE = Advice(
    "Let the optimizer update all parameters in a few kernels instead of a few per parameter.",
    pytorch="Make the optimizer with fused=True (or foreach=True), which updates all parameters in a few kernels, or "
    "compile its step with torch.compile. The rest of the step launches far less.",
)


@dataclass(frozen=True, slots=True, eq=False)
class Launching:
    """Waits for launches on a host: idle time summed over steps and devices, without code
    in launches that has another purpose (`told`), and of the device that waits longest the step with the longest wait
    and what GPUs record; `glue`: idle time while short code runs between two launches, by
    part of the time budget, int64[c + 1]; `synced`: the program waits for the result of most launches; `calls`:
    launches on the host in all steps, where devices do not record when launched work begins, else 0.
    """

    lost_ps: int
    told: int
    glue: I64
    synced: bool
    calls: int
    window: tuple[int, int]
    summary: LaunchSummary | None


def gather(host: HostView) -> Launching | None:
    """Waits for launches on a host; None without devices."""
    steps, time = host.steps, host.budget.time_ps
    if steps is None or 0 in time.shape:
        return None
    lost = np.where(host.time.takes_part, time[IDLE_LAUNCH], 0)
    device = int(lost.sum(axis=0).argmax())
    step = int(lost[:, device].argmax())
    window = int(steps.begin_ps[step, device]), int(steps.end_ps[step, device])
    known, code = host.communication.launches, code_of(host)
    nothing = np.zeros(len(CATEGORIES) + 1, np.int64)
    glue, told = (nothing, 0) if code is None else (code.launching.by_part(host), code.slow.by_part(host)[IDLE_LAUNCH])
    between = (float(glue.sum()) - told) / max(host.time.cells, 1)
    late = host.time.part_ps("idle_launch") + between >= LAUNCH_SHARE * host.time.base_ps
    waits = late and code is not None and synced(host, steps, code.fetched)
    summary = known[device] if device < len(known) else None
    calls = _calls(host, device) if late else 0
    return Launching(int(lost.sum()) - int(told), int(told), glue, waits, calls, window, summary)


def _calls(host: HostView, device: int) -> int:
    """Launches on the host in the steps, at least 1, if a CPU does not record when launched work begins; else 0."""
    steps, one = host.steps, host.devices[device]
    if steps is None or one.kind != "cpu" or len(one.starts):
        return 0
    called = contains(times_of(steps.begin_ps[:, device], steps.end_ps[:, device]), host.reader.time.launch[0])
    return max(int(called.sum()), 1)


def judge(run: RunView, gathered: Sequence[Launching | None]) -> Finding | Silence:
    """The verdict on the time budget's waits for launches."""
    known = run.present(gathered)
    if not run.has_devices or not known:
        return lacks(NO_DEVICE)
    told = sum(one.told for one, _ in known) / run.cells
    waits = run.lost_in("idle_launch", ps=max(run.part_ps("idle_launch") - told, 0.0))
    glue = run.located([one.glue for one, _ in known])
    segments = dict.fromkeys((*waits.segments, *(glue.segments if glue.ps else ())))
    lost = within(run.budget, waits.ps + glue.ps, tuple(segments)) if glue.ps else waits
    share = lost.share
    if share < LAUNCH_SHARE:
        return Silence(f"Devices wait {share:.1%} of the {run.base} for launches.")
    worst, host = max(known, key=lambda one: one[0].lost_ps)
    if worst.synced:
        return Silence(
            f"Devices wait {share:.1%} of the {run.base} for launches, because the host waits for results first."
        )
    if worst.calls and worst.lost_ps > worst.calls * LONGEST_CALL_PS:
        return Silence(
            f"Devices wait {share:.1%} of the {run.base} during calls of TensorFlow, "
            f"{worst.lost_ps / worst.calls / PS_PER_MS:.3g} ms in each: longer than a call takes: the graph's "
            "threads waited for a core, or ran what is not recorded."
        )
    where = timeline(host, *worst.window)
    evidence = [
        share_of("Waits for launches", lost, run.base),
        per_step("Waits for launches", lost, run.per),
        *_kernels(worst.summary, host),
        Evidence("Length of the recording" if run.whole_recording else "Length of the step that loses most",
                 (worst.window[1] - worst.window[0]) / PS_PER_MS, "ms", TIMELINE, where),
    ]  # fmt: skip
    small = worst.summary is not None and worst.summary.tiny >= TINY_KERNELS * worst.summary.launches
    optimizer, launched = optimizer_launches(run.summary.device)
    of_optimizer = launched >= OPTIMIZER
    why = "; most kernels are shorter than 10 us" if small else ""
    if of_optimizer:
        why = f"; {launched:.0%} of the kernels are of the optimizer {optimizer}"
        page = {"filter": optimizer}
        evidence.append(Evidence(f"Kernels of {optimizer}, of all", 100 * launched, "%", "framework_op_stats", page))
    title = f"Devices wait {share:.1%} of the {run.base} for the host to launch work{why}"
    formula = "idle time while the host launches, runs short code between two launches, or until launched work begins, "
    formula += "per step and device"
    confidence: Confidence = "high" if small else "medium"
    advice = OPTIMIZER_ADVICE if of_optimizer else ADVICE
    return Finding(title, lost.ps, formula, confidence, tuple(evidence), advice, (host,), lost.segments)


def _kernels(summary: LaunchSummary | None, host: str) -> list[Evidence]:
    if summary is None or not summary.step_ps:
        return []
    page = {"host": host}
    starved = 100 * summary.starved_ps / summary.step_ps
    return [
        Evidence("GPU with nothing launched, of the steps", starved, "%", "communication", page),
        Evidence("Launches per step", summary.per_step, "", "communication", page),
        Evidence("Kernels shorter than 10 us, of the launches", 100 * summary.tiny / summary.launches, "%",
                 "communication", page),
        Evidence("Median duration of a launch on the host", summary.call_ps / PS_PER_US, "us", "communication", page),
    ]  # fmt: skip


RULE = Rule("launch_bound", "Waiting for launches", judge, gather, ("not_compiled", "recompilation"))
