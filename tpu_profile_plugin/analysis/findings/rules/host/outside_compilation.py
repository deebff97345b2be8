"""Parts of a compiled TPU program run on the host, and the device waits for them.

Fires if ops that exchange values with such parts take more than {OUTSIDE_SHARE:.0%} of the op time on the devices.

Move these ops out of the training loop, or run them less often.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.common.op_names import is_outside_compilation
from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE
from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, OpOf, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import cell
from tpu_profile_plugin.analysis.findings.run_view import RunView

OUTSIDE_SHARE = 0.05
"""Least share of the devices' op time: less is hardly noticeable."""
ADVICE = PARTS["outside compilation"]


def judge(run: RunView, _: Sequence[object]) -> Finding | Silence:
    """The verdict on the ops of all devices."""
    table = run.summary.device
    if not table.op_ps:
        return lacks(NO_DEVICE, "No device ops recorded.")
    rows = [
        row
        for row, (provenance, category) in enumerate(zip(table.provenance, table.category, strict=True))
        if is_outside_compilation(provenance) or category == "host send-done"
    ]
    spent = int(table.self_ps[rows].sum())
    share = ratio(spent, table.op_ps)
    what = f"{share:.1%} of the op time on devices exchanges values with parts of the program on the host"
    if share <= OUTSIDE_SHARE:
        return Silence(f"{what}.")
    lost = run.lost_in("exposed_copy", ps=spent / run.cells)
    most = max(rows, key=lambda row: int(table.self_ps[row]))
    name, of = table.name[most], OpOf(table.name[most], table.module[most])
    return Finding(
        what,
        lost.ps,
        "time of these ops per step and device, at most that of host copies",
        "high",
        (
            Evidence("Exchange with the host, of the op time on devices", 100 * share, "%"),
            Evidence("The op with the largest part", name, "", "hlo_stats", {"row": cell("hlo_op_name", name)}, of),
        ),
        ADVICE,
        segments=lost.segments,
    )


RULE = Rule("outside_compilation", "Parts of programs on the host", judge, implied_by=("debug_callbacks",))
