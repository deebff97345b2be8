"""Recording Python functions slows the program: what the steps show is partly the tracer.

Fires if recorded calls on the main thread, at 0.2 us each, take at least {TRACING_SHARE:.0%} of the time from step to
step while devices have nothing to do. Each call costs up to 1 us on slower processors.

Record again without Python functions and compare the steps, or mark the parts of the program with annotations.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.findings.evidence.host.tracer import Tracing, tracing
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.places import TIMELINE, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView

TRACING_SHARE = 0.10
"""Share of the step: less changes no order of causes, and the estimate is no better than that."""

ADVICE = Advice(
    "Record again without Python functions (capture with the Python tracer level 0) and compare the length of the "
    "steps. Parts of the program that matter can be marked with annotations, which cost as much as one call each.",
    jax="Record again with python_tracer_level=0 in jax.profiler.ProfileOptions and compare the length of the steps. "
    "Parts of the program that matter can be marked with jax.profiler.TraceAnnotation.",
    tensorflow="Record again with python_tracer_level=0 in tf.profiler.experimental.ProfilerOptions and compare the "
    "length of the steps. Parts of the program that matter can be marked with tf.profiler.experimental.Trace.",
)


def gather(host: HostView) -> Tracing | None:
    """Recorded calls of one host while its devices wait for it."""
    return tracing(host)


def judge(run: RunView, gathered: Sequence[Tracing | None]) -> Finding | Silence:
    """The verdict on the host with most calls; the program itself loses nothing, so that there is no saving."""
    known = run.present(gathered)
    if not known:
        return Silence("No Python functions were recorded while devices wait for the host.")
    worst, host = max(known, key=lambda one: one[0].tracing_ps)
    share = run.share(worst.tracing_ps / worst.cells)
    calls = worst.calls / worst.cells
    if share < TRACING_SHARE:
        return Silence(f"Recording Python functions takes about {share:.1%} of the {run.base}.")
    return Finding(
        f"About {share:.1%} of the {run.base} or more is the recording of {calls:,.0f} calls of Python functions",
        0,
        "no cost without the profiler",
        "medium",
        (
            Evidence(f"Recording them, of the {run.base} (estimated at 0.2 us per call)", 100 * share, "%"),
            Evidence(f"Calls per {run.per} while devices wait for the host", round(calls), "", TIMELINE,
                     timeline(host, *worst.window)),
        ),
        ADVICE,
        (host,),
    )  # fmt: skip


RULE = Rule("tracing_overhead", "The cost of recording Python functions", judge, gather)
