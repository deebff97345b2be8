"""Products with one-hot rows look up rows of a large table: they multiply all of the table to read a few rows.

Fires if such products with tables of at least {LEAST_ENTRIES} rows, those of their gradients, and the ops that make
the one-hot rows for them take at least {PRODUCT_SHARE:.0%} of the time from step to step. The program shows them: an
operand compares indices with 0, 1, 2 and so on along the dimension that the product sums over.

Index the table instead. On TPUs small tables may be faster as products; there compare both.
"""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import UNREAD, OpKind, Telling, kind_rule, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import time_ps, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.hlo.one_hot import looked_up
from tpu_profile_plugin.analysis.ops.op_nature import Nature

PRODUCT_SHARE = 0.1
"""Products with one-hot rows, as a share of the time from step to step: reading rows costs something too, and with
less a tenth cannot be gained."""
LEAST_ENTRIES = 512
"""Rows of a table: up to a few times the width of a TPU's matrix unit, 128 or 256, a product takes few passes and may
be faster than reading single rows."""

_TELLING = Telling(
    "Products with one-hot rows take {share:.1%} of the {base}{most}: {what}",
    "Products with one-hot rows of large tables take {share:.1%} of the {base}.",
    "Products and the making of their one-hot rows, of the time of all ops",
    "device compute times the share of these products, and of making the one-hot rows, in the ops' time",
    PRODUCT_SHARE,
)


def gather(host: HostView) -> OpKind | Silence:
    """The products with one-hot rows of one host, and the ops that only make the rows for them."""
    work = work_of(host)
    found = [
        (op, look_up)
        for op in work.in_programs
        if op.nature is Nature.MATRIX and (look_up := looked_up(op.rows, op.at)) and look_up.entries >= LEAST_ENTRIES
    ]
    tables = {(id(op.rows), one.entries): one.entries for op, one in found if not one.is_gradient}
    found = [(op, one) for op, one in found if (id(op.rows), one.entries) in tables]
    products = [op for op, _ in found]
    rows = {(id(op.rows), row) for op, one in found for row in one.makers}
    making = [op for op in work.in_programs if (id(op.rows), op.at) in rows]
    kind = op_kind(host, [*products, *making], PRODUCT_SHARE)
    if not products:
        return kind if work.in_programs else UNREAD
    entries = next(iter(tables.values()))
    return replace(
        kind,
        what=f"a look-up in a table of {entries} rows",
        evidence=(
            Evidence("The products alone, of this time", 100 * time_ps(products) / kind.ops_ps, "%"),
            Evidence("Rows of the table", entries),
        ),
        advice=PARTS["one-hot rows" + " of TPUs" * (host.summary.environment.hardware is Hardware.TPU)],
        confidence="medium",
    )


RULE = kind_rule("one_hot_product", "Tables read by one-hot products", gather, _TELLING)
