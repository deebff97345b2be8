"""How much of a run's time another run has as well."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from tpu_profile_plugin.analysis.compare.fingerprint import Fingerprint
from tpu_profile_plugin.analysis.compare.match import LEAST_SHARED, Match, by_key, known_ops
from tpu_profile_plugin.analysis.compare.run import WorkedOp


def matched_share(
    ops: Sequence[WorkedOp], others: Sequence[WorkedOp], pairs: Iterable[tuple[str, str]], matches: Iterable[Match]
) -> float | None:
    """Share of the time of ops that the other run has as well, 0 to 1, or that is in its programs; None without time.

    A name alone makes no program the same: at least `LEAST_SHARED` of the smaller one's ops must come from the same
    place.

    Args:
      ops: of one run.
      others: of the other run.
      pairs: names of programs of both that correspond.
      matches: of all ops of both runs.
    """
    ours, theirs = (by_key(side, lambda op: op.program) for side in (known_ops(ops), known_ops(others)))
    total = sum(op.ps for side in ours.values() for op in side)
    both = {one for one, other in pairs if _related(ours.get(one, []), theirs.get(other, []))}
    matched = {id(op) for one in matches if one.base and one.run for op in (*one.base, *one.run)}
    shared = sum(op.ps for name, side in ours.items() for op in side if name in both or id(op) in matched)
    return shared / total if total else None


def _related(base: Sequence[WorkedOp], run: Sequence[WorkedOp]) -> bool:
    """Whether ops of two programs come from the same places, or are the same ops wherever they are written."""
    origins = [{_origin(op.print) for op in side} for side in (base, run)]
    kinds = [{op.print.anywhere for op in side if op.print.shapes} for side in (base, run)]
    return any(old & new and len(old & new) >= LEAST_SHARED * min(len(old), len(new)) for old, new in (origins, kinds))


def _origin(one: Fingerprint) -> Hashable:
    return (one.framework, one.source) if one.framework or one.source else (one.kind, one.shapes)
