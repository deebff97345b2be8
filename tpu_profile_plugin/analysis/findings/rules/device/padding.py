"""Matrix products whose sizes do not fill the matrix units, which compute padding for much of the time.

Fires if padding costs at least {LEAST_SHARE:.0%} of the step. Products count that are bound by computation and whose
padded work is at least {PADDING_SHARE:.0%} padding.

Choose sizes of layers, heads and batches that are multiples of the unit's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tpu_profile_plugin.analysis.common.reasons import NO_COSTS, NO_PEAKS
from tpu_profile_plugin.analysis.environment.matrix_units import MatrixUnit, matrix_unit
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import OpKind, Telling, kind_rule, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import ProgramOp, roof, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Silence, lacks
from tpu_profile_plugin.analysis.hlo.products import Product, products_of
from tpu_profile_plugin.analysis.ops.op_nature import Nature

PADDING_SHARE = 0.2
"""Least share of padding in a product's work: less is hard to avoid."""

_UNITS = "contracted and output dimensions that are multiples of {0} fill this device's matrix units"


_TELLING = Telling(
    "Padding takes up to {share:.1%} of the {base}{most}: {what}",
    "Padding in matrix units takes at most {share:.1%} of the {base}.",
    "",
    "per product, the time of the padded product at the peak rate less that of the product or of its bytes",
    LEAST_SHARE,
    moves=False,
)


def gather(host: HostView) -> OpKind | Silence:
    """What padding costs the products that compute more than they wait for memory."""
    unit = matrix_unit(host.space, host.summary.environment)
    if unit is None:
        return lacks(NO_PEAKS, "The size of this device's matrix units is unknown.")
    padded: list[tuple[float, float, ProgramOp, Product]] = []
    for op in work_of(host).in_programs:
        products = products_of(op.rows, op.at) if op.nature is Nature.MATRIX else []
        if products and all(product.sizes for product in products):
            cost = _cost(host, unit, op, products)
            if cost is not None:
                padded.append((*cost, op, max(products, key=lambda product: product.flops)))
    if not padded:
        return lacks(NO_COSTS, "No matrix products of known size and cost recorded.")
    padded.sort(key=lambda one: -one[0])
    _, wasted, _, product = padded[0]
    saving = sum(one[0] for one in padded)
    kind = op_kind(host, [op for saved, _, op, _ in padded if saved], LEAST_SHARE, saving)
    assert product.sizes is not None
    _, rows, columns, depth = product.sizes
    return replace(
        kind,
        what=f"{rows} x {depth} times {depth} x {columns}, {wasted:.0%} of the units' work is padding",
        evidence=(Evidence("Padding, of the matrix units' work on this op", 100 * wasted, "%"),),
        advice=_advice(unit),
        confidence="medium",
    )


def _cost(host: HostView, unit: MatrixUnit, op: ProgramOp, products: Sequence[Product]) -> tuple[float, float] | None:
    """(time in ps that padding costs an op at most, share of the unit's work that is padding); None if unknown.

    The padded product takes its time at the peak rate, but not more than the op took; without padding it takes the time
    of the product or of its bytes, whichever is longer.
    """
    flops = sum(product.flops for product in products)
    padded = sum(product.flops / unit.used(product.sizes, product.bits) for product in products if product.sizes)
    limits = roof(host, op, flops)
    if limits is None or not padded:
        return None
    wasted = 1 - flops / padded
    if wasted < PADDING_SHARE:
        return 0.0, wasted
    spent = min(float(op.self_ps), limits.compute_ps / (1 - wasted))
    return max(0.0, spent - max(limits.compute_ps, limits.memory_ps)), wasted


def _advice(unit: MatrixUnit) -> Advice:
    fills = _UNITS.format(f"{unit.lanes} bytes" if unit.in_bytes else unit.lanes)
    return Advice(
        f"Choose sizes of layers, heads and batches so that {fills}; a size just above a multiple costs as much as the "
        "next one. Several small products that share an operand can be one larger product."
    )


RULE = kind_rule("padding", "Padding in matrix units", gather, _TELLING)
