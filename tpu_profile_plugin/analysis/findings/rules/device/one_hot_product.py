"""Products with one-hot rows look up rows of a large table: they multiply all of the table to read a few rows.

Fires if such products with tables of at least {LEAST_ENTRIES} rows, and the ops that make the one-hot rows for them,
take at least {PRODUCT_SHARE:.0%} of the time from step to step. The program shows them: an operand compares indices
with 0, 1, 2 and so on along the dimension that the product sums over.

Index the table instead. On TPUs small tables may be faster as products; there compare both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tpu_profile_plugin.analysis.blame.op_nature import MATRICES, Nature
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import UNREAD, OpKind, Telling, kind_rule, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import OpWork, ProgramOp, time_ps, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Silence
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.shapes import leaves
from tpu_profile_plugin.analysis.hlo.text import literal_text

_SAME_ELEMENTS = frozenset(("bitcast", "convert", "copy", "reshape", "transpose"))
_PRODUCTS = frozenset((*MATRICES, "custom-call"))


@dataclass(frozen=True, slots=True)
class Lookup:
    """A product with one-hot rows; `entries`: rows of the table, the contracted size.

    `made_by`: the rows of the program, outside of fusions, that make the one-hot rows, if only products read them.
    """

    op: ProgramOp
    entries: int
    made_by: tuple[int, ...]


def lookups(work: OpWork) -> list[Lookup]:
    """The products that look up rows of a table, the most costly first."""
    products = (op for op in work.in_programs if op.nature is Nature.MATRIX)
    return [found for op in products if (found := _lookup(op)) is not None]


def _lookup(op: ProgramOp) -> Lookup | None:
    rows = op.rows
    for product in rows.inside(op.at):
        operands = rows.links.operands(product)[:2] if rows.opcodes[product] in _PRODUCTS else []
        if len(operands) < 2 or min(operands) < 0:
            continue
        for one, table in (operands, operands[::-1]):
            entries, made_by = _one_hot(rows, one)
            if entries and entries in _sizes(rows, table) and entries not in _sizes(rows, product):
                return Lookup(op, entries, tuple(made_by if _only_for_products(rows, made_by) else ()))
    return None


def _sizes(rows: ProgramRows, row: int) -> Sequence[int]:
    """The sizes of an array; of a tuple those of its first."""
    arrays = leaves(rows.shape(row))
    return list(arrays[0][1].dimensions) if arrays else []


def _only_for_products(rows: ProgramRows, made_by: Sequence[int]) -> bool:
    users = {user for row in made_by for user in rows.links.users(row)}.difference(made_by)
    return all(any(rows.opcodes[one] in _PRODUCTS for one in rows.inside(user)) for user in users)


def _one_hot(rows: ProgramRows, row: int) -> tuple[int, list[int]]:
    """How long the one-hot rows of an operand are, 0 if it has none, and the rows outside of fusions that make them."""
    outside: list[int] = []
    for one in rows.back(row, lambda one: rows.opcodes[one] in _SAME_ELEMENTS or _same_or_zero(rows, one)):
        outside += [] if rows.links.home(one) in rows.links.fusion_of else [one]
        if rows.opcodes[one] == "compare":
            return _compared(rows, one), outside
    return 0, outside


def _same_or_zero(rows: ProgramRows, row: int) -> bool:
    """Whether a row is a select that gives one value where its condition holds and zeros elsewhere."""
    operands = rows.links.operands(row) if rows.opcodes[row] == "select" else []
    if len(operands) != 3 or min(operands) < 0 or any(rows.opcodes[one] != "broadcast" for one in operands[1:]):
        return False
    sources = [rows.links.operands(one)[0] for one in operands[1:] if rows.links.operands(one)]
    if len(sources) != 2 or min(sources) < 0 or any(rows.opcodes[one] != "constant" for one in sources):
        return False
    return literal_text(rows.instruction(sources[1]).literal) == "0"


def _compared(rows: ProgramRows, row: int) -> int:
    """The size of the dimension in which a comparison finds each index among 0, 1, 2, ...; 0 if it does not."""
    operands = rows.links.operands(row)
    if rows.instruction(row).comparison_direction != "EQ" or len(operands) != 2 or min(operands) < 0:
        return 0
    for counts, indices in (operands, operands[::-1]):
        along = _counts_along(rows, counts)
        if along is not None and rows.opcodes[indices] == "broadcast":
            sizes = _sizes(rows, row)
            repeated = along not in rows.instruction(indices).dimensions
            return int(sizes[along]) if repeated and along < len(sizes) else 0
    return 0


def _counts_along(rows: ProgramRows, row: int) -> int | None:
    """The dimension along which an array counts from 0 on; None if it does not."""
    if rows.opcodes[row] == "iota":
        return next(iter(rows.instruction(row).dimensions), 0)
    operands = rows.links.operands(row)
    if rows.opcodes[row] != "broadcast" or not operands or operands[0] < 0 or rows.opcodes[operands[0]] != "iota":
        return None
    inner = next(iter(rows.instruction(operands[0]).dimensions), 0)
    outer = rows.instruction(row).dimensions
    return int(outer[inner]) if inner < len(outer) else None


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
    found = [one for one in lookups(work) if one.entries >= LEAST_ENTRIES]
    products = [one.op for one in found]
    rows = {(id(one.op.rows), row) for one in found for row in one.made_by}
    making = [op for op in work.in_programs if (id(op.rows), op.at) in rows]
    kind = op_kind(host, [*products, *making], PRODUCT_SHARE)
    if not found:
        return kind if work.in_programs else UNREAD
    return replace(
        kind,
        what=f"a look-up in a table of {found[0].entries} rows",
        evidence=(
            Evidence("The products alone, of this time", 100 * time_ps(products) / kind.ops_ps, "%"),
            Evidence("Rows of the table", found[0].entries),
        ),
        advice=_advice(on_tpus=host.summary.environment.hardware is Hardware.TPU),
        confidence="medium",
    )


def _advice(*, on_tpus: bool) -> Advice:
    end = f"{_INDEX}{_SHARDED if on_tpus else ''}"
    return Advice(
        f"Index the table instead of multiplying it with one-hot rows. {end}",
        jax=f"Index the table, table[tokens] or jnp.take(table, tokens, axis=0), instead of jax.nn.one_hot and a "
        f"product. {end}",
        tensorflow=f"Use tf.gather(table, tokens) or tf.nn.embedding_lookup instead of tf.one_hot and a product. {end}",
        keras=f"Use a keras.layers.Embedding, or keras.ops.take, instead of one_hot and a product. {end}",
    )


RULE = kind_rule("one_hot_product", "Tables read by one-hot products", gather, _TELLING)
