"""Shared by the verbs about ops: the page that shows an op's figures, what its share is of, and links to go deeper."""

from __future__ import annotations

from tpu_profile_plugin.analysis.findings.places import cell
from tpu_profile_plugin.answers.answer import Link, Next
from tpu_profile_plugin.run.figures.op_rates import OpRates, Place

BASES: dict[Place, str] = {
    "device": "of the time of all devices in the recording, idle time included",
    "cpu": "of the time from the first to the last op of the CPU backend, or of the ops' time if that is longer",
    "framework device": "of the time of all devices in the recording, idle time included",
    "framework host": "of the recorded time of the host's threads with ops, idle time included",
}
"""What `share_percent` is a share of."""


def page_of(ops: OpRates) -> str:
    """The tool that shows the ops."""
    return "framework_op_stats" if ops.rates is None else "hlo_stats"


def link_to(ops: OpRates, name: str, program_id: int) -> Link:
    """The page with the row of an op marked."""
    if ops.rates is None:
        return Link(page_of(ops), {"t1.row": cell("operation", name)})
    return Link(page_of(ops), {"row": f"{cell('hlo_op_name', name)};{cell('program_id', str(program_id))}"})


def next_op(ops: OpRates, at: int, why: str = "its rates, limit, source and what is fused into it") -> Next:
    """The question about one op."""
    return Next("op", {"name": ops.id[at]}, why)


def next_source(place: str) -> Next:
    """The question about a source line."""
    return Next("source", {"place": place}, "all ops from this line, and their time together")
