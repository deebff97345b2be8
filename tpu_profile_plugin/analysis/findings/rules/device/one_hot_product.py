"""Products with one-hot rows look up rows of a large table: they multiply all of the table to read a few rows.

Fires if such products with tables of at least {LEAST_ENTRIES} rows, and the ops that make the one-hot rows for them,
take at least {PRODUCT_SHARE:.0%} of the time from step to step. The program shows them: an operand compares indices
with 0, 1, 2 and so on along the dimension that the product sums over.

Index the table instead. On TPUs small tables may be faster as products; there compare both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import NO_PROGRAMS
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.evidence.device.one_hot import Lookup, lookups
from tpu_profile_plugin.analysis.findings.evidence.device.op_shares import OpShare, op_share, run_share
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import OpWork, ReadOp, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.run_view import RunView

PRODUCT_SHARE = 0.1
"""Products with one-hot rows, as a share of the time from step to step: reading rows costs something too, and with
less a tenth cannot be gained."""
LEAST_ENTRIES = 512
"""Rows of a table: up to a few times the width of a TPU's matrix unit, 128 or 256, a product takes few passes and may
be faster than reading single rows."""

_INDEX = "A product with a one-hot row reads and multiplies every row of the table; indexing reads one."
_SHARDED = (
    " On TPUs, and for a table whose rows are sharded over devices, a product may have been chosen on purpose: compare "
    "both."
)


@dataclass(frozen=True, slots=True)
class Looked:
    """The look-ups of one host, those that make one-hot rows included; `entries`: of the most costly product."""

    share: OpShare
    entries: int = 0
    products_ps: int = 0


def gather(host: HostView) -> Looked | None:
    """The products with one-hot rows of one host; None if no program is known."""
    work = work_of(host)
    if not any(op.rows is not None for op in work.read):
        return None
    found = [one for one in lookups(work) if one.entries >= LEAST_ENTRIES]
    products = [one.op for one in found]
    share = op_share(host, [*products, *_made(work, found)], PRODUCT_SHARE)
    return Looked(share, found[0].entries if found else 0, work.time_ps(products))


def _made(work: OpWork, found: Sequence[Lookup]) -> list[ReadOp]:
    """The ops that only make the one-hot rows."""
    made = {(id(one.op.rows), row) for one in found for row in one.made_by}
    return [op for op in work.read if op.at is not None and (id(op.rows), op.at) in made]


def judge(run: RunView, parts: Sequence[Looked | None]) -> Finding | Silence:
    """The verdict on the look-ups of all hosts."""
    known = run.present(parts)
    if not known:
        return lacks(NO_PROGRAMS, "No ops with known programs recorded.")
    found = run_share(run, [None if part is None else part.share for part in parts])
    if found is None or found.lost.share < PRODUCT_SHARE:
        share = found.lost.share if found else 0.0
        return Silence(f"Products with one-hot rows of large tables take {share:.1%} of the {run.base}.")
    part = next(part for part, host in known if host == found.host)
    return Finding(
        f"Products with one-hot rows take {found.lost.share:.1%} of the {run.base}, most of it in {found.most.label}: "
        f"a look-up in a table of {part.entries} rows",
        found.lost.ps,
        "device compute times the share of these products, and of making the one-hot rows, in the ops' time",
        "medium",
        (
            Evidence("Products and the making of their one-hot rows, of the time of all ops", 100 * found.of_ops, "%"),
            Evidence("The products alone, of this time", 100 * part.products_ps / part.share.ops_ps, "%"),
            Evidence("Rows of the table", part.entries),
            *found.evidence(),
        ),
        _advice(run),
        found.hosts,
        found.lost.segments,
    )


def _advice(run: RunView) -> Advice:
    end = f"{_INDEX}{_SHARDED if run.hardware is Hardware.TPU else ''}"
    return Advice(
        f"Index the table instead of multiplying it with one-hot rows. {end}",
        jax=f"Index the table, table[tokens] or jnp.take(table, tokens, axis=0), instead of jax.nn.one_hot and a "
        f"product. {end}",
        tensorflow=f"Use tf.gather(table, tokens) or tf.nn.embedding_lookup instead of tf.one_hot and a product. {end}",
        keras=f"Use a keras.layers.Embedding, or keras.ops.take, instead of one_hot and a product. {end}",
    )


RULE = Rule("one_hot_product", "Tables read by one-hot products", judge, gather)
