"""Matrix products whose sizes do not fill the matrix units, which compute padding for much of the time.

Fires if padding costs at least {LEAST_SHARE:.0%} of the step. Products count that are bound by computation and whose
padded work is at least {PADDING_SHARE:.0%} padding.

Choose sizes of layers, heads and batches that are multiples of the unit's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.blame.op_nature import Nature
from tpu_profile_plugin.analysis.common.reasons import NO_COSTS, NO_PEAKS
from tpu_profile_plugin.analysis.findings.evidence.device.matrix_units import MatrixUnit, matrix_unit, roof
from tpu_profile_plugin.analysis.findings.evidence.device.op_evidence import of_op
from tpu_profile_plugin.analysis.findings.evidence.device.op_places import Place, longest_run
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import NamedOp, ReadOp, work_of
from tpu_profile_plugin.analysis.findings.evidence.device.products import Product, products_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.run_view import RunView

PADDING_SHARE = 0.2
"""Least share of padding in a product's work: less is hard to avoid."""

_UNITS = "contracted and output dimensions that are multiples of {0} fill this device's matrix units"


@dataclass(frozen=True, slots=True)
class Padded:
    """One host: the unit, None if unknown; time of all ops and of padding; the op with most of it, and its waste."""

    unit: MatrixUnit | None
    known: bool = False
    counted_ps: int = 0
    saving_ps: int = 0
    most: NamedOp | None = None
    wasted: float = 0.0
    sizes: tuple[int, int, int, int] = (0, 0, 0, 0)
    longest: Place | None = None


def gather(host: HostView) -> Padded:
    """What padding costs the products that compute more than they wait for memory."""
    unit = matrix_unit(host)
    if unit is None:
        return Padded(None)
    work, total, best, known = work_of(host), 0.0, 0.0, False
    most: tuple[ReadOp, float, Product] | None = None
    for op in work.of(Nature.MATRIX):
        products = [] if op.rows is None or op.at is None else products_of(op.rows, op.at)
        sized = [product for product in products if product.sizes]
        if not sized or len(sized) < len(products):
            continue
        cost = _cost(host, unit, op, sized)
        if cost is None:
            continue
        known = True
        saving, wasted = cost
        total += saving
        if saving > best:
            best, most = saving, (op, wasted, max(sized, key=lambda product: product.flops))
    if most is None or most[2].sizes is None:
        return Padded(unit, known, work.counted_ps)
    named, row = work.named(most[0]), most[0].index
    longest = longest_run(host, work.table.module[row], named.name) if total >= LEAST_SHARE * work.counted_ps else None
    return Padded(unit, known, work.counted_ps, round(total), named, most[1], most[2].sizes, longest)


def _cost(host: HostView, unit: MatrixUnit, op: ReadOp, products: Sequence[Product]) -> tuple[float, float] | None:
    """(time in ps that padding costs an op at most, share of the unit's work that is padding); None if unknown.

    The padded product takes its time at the peak rate, but not more than the op took; without padding it takes the time
    of the product or of its bytes, whichever is longer.
    """
    assert all(product.sizes for product in products)
    flops = sum(product.flops for product in products)
    padded = sum(product.flops / unit.used(product.sizes, product.bits) for product in products if product.sizes)
    limits = roof(host, op, flops)
    if limits is None or not padded:
        return None
    wasted = 1 - flops / padded
    if wasted < PADDING_SHARE:
        return 0.0, wasted
    self_ps = float(work_of(host).table.self_ps[op.index])
    spent = min(self_ps, limits.compute_ps / (1 - wasted))
    return max(0.0, spent - max(limits.compute_ps, limits.memory_ps)), wasted


def judge(run: RunView, parts: Sequence[Padded]) -> Finding | Silence:
    """The verdict on the padding of all hosts."""
    if not any(part.unit for part in parts):
        return lacks(NO_PEAKS, "The size of this device's matrix units is unknown.")
    if not any(part.known for part in parts):
        return lacks(NO_COSTS, "No matrix products of known size and cost recorded.")
    counted = sum(part.counted_ps for part in parts)
    of_ops = sum(part.saving_ps for part in parts) / counted if counted else 0.0
    lost = run.lost_in("compute", ps=run.part_ps("compute") * of_ops)
    host = max(range(len(parts)), key=lambda i: parts[i].saving_ps)
    part = parts[host]
    if lost.share < LEAST_SHARE or part.most is None or part.unit is None:
        return Silence(f"Padding in matrix units takes at most {lost.share:.1%} of the {run.base}.")
    _, rows, columns, depth = part.sizes
    return Finding(
        f"Padding takes up to {lost.share:.1%} of the {run.base}, most of it in {part.most.label}: "
        f"{rows} x {depth} times {depth} x {columns}, {part.wasted:.0%} of the units' work is padding",
        lost.ps,
        "per product, the time of the padded product at the peak rate less that of the product or of its bytes",
        "medium",
        (
            Evidence("Padding, of the matrix units' work on this op", 100 * part.wasted, "%"),
            *of_op(run.hosts[host], part.most, part.longest),
        ),
        _advice(part.unit),
        tuple(run.hosts[i] for i, one in enumerate(parts) if one.saving_ps),
        lost.segments,
    )


def _advice(unit: MatrixUnit) -> Advice:
    fills = _UNITS.format(f"{unit.lanes} bytes" if unit.in_bytes else unit.lanes)
    return Advice(
        f"Choose sizes of layers, heads and batches so that {fills}; a size just above a multiple costs as much as the "
        "next one. Several small products that share an operand can be one larger product."
    )


RULE = Rule("padding", "Padding in matrix units", judge, gather)
