"""The parts of the step after an edit: what of each part of the time budget stays, and what devices then wait for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.budget import SpentTime
from tpu_profile_plugin.analysis.budget.categories import (
    CATEGORIES,
    COMPUTE,
    DATA_MOVEMENT,
    EXPOSED_COMMUNICATION,
    EXPOSED_COPY,
    IDLE_GAP,
    IDLE_HOST,
    IDLE_LAUNCH,
    IDLE_PEER,
    IDLE_TRANSFER,
    INPUT_COPY,
    MOVE_WAIT,
    NOT_RECORDED,
    OUTPUT_COPY,
    PARTS,
    PEER_TRANSFER,
)
from tpu_profile_plugin.analysis.common.spans import intersect, subtract
from tpu_profile_plugin.analysis.replay.edits import NOTHING, Places, Rate, Shorter, Sweep, both
from tpu_profile_plugin.analysis.replay.graph import Graph, Replayed
from tpu_profile_plugin.analysis.replay.host_graph import MAIN
from tpu_profile_plugin.columns.arrays import F64

_OF_OPS = (COMPUTE, DATA_MOVEMENT, MOVE_WAIT, EXPOSED_COMMUNICATION, PEER_TRANSFER, EXPOSED_COPY, INPUT_COPY,
           OUTPUT_COPY)  # fmt: skip
"""Parts in which the device runs ops; in the others it waits."""
_WAITS = tuple(part for part in PARTS if part not in (*_OF_OPS, IDLE_PEER, NOT_RECORDED))
_FIRST_LESS = (_WAITS, (EXPOSED_COMMUNICATION, PEER_TRANSFER, IDLE_PEER, EXPOSED_COPY, INPUT_COPY, OUTPUT_COPY), PARTS)
"""What a step that is shorter than what stays of its parts has less of."""
WAIT_OF = {"host code": IDLE_HOST, "launch": IDLE_LAUNCH, "wait": IDLE_TRANSFER, "idle": IDLE_GAP}
"""The part that a device is in while a part of the binding path of this kind passes."""


@dataclass(frozen=True, slots=True, eq=False)
class Shortened:
    """What an edit itself takes from the time of each part, from the begin of the first step to the end of the last.

    Attributes:
      whole_ps, gone_ps: float64[c + 1, d], by index in `CATEGORIES`; the last is all time between steps.
    """

    whole_ps: F64
    gone_ps: F64

    @property
    def kept(self) -> F64:
        """float64[c, d]: the share of each part of steps that stays."""
        kept: F64 = np.clip(1 - self.gone_ps / np.maximum(self.whole_ps, 1), 0.0, None)[:-1]
        return kept


def shortened(places: Sequence[Places], spent: Sequence[SpentTime], change: Shorter) -> Shortened:
    """What an edit takes from the parts; `spent` tells how the devices of each host spend their steps."""
    columns = []
    for number, (one, of_host) in enumerate(zip(places, spent, strict=True)):
        main = change.threads[number].get(MAIN, NOTHING)
        for device, time in enumerate(of_host.devices):
            of_ops = _rates(one, device, change.runs[number], main)
            column = np.zeros((2, len(CATEGORIES) + 1))
            for part, times in time.spent:
                rates = of_ops if part in _OF_OPS else (main,)
                for place, (begin, end) in (
                    (part, subtract(times, time.between)),
                    (-1, intersect(times, time.between)),
                ):
                    gone = sum(float(rate.within(begin, end).sum()) for rate in rates) / len(rates)
                    column[:, place] += float((end - begin).sum()), gone
            columns.append(column)
    whole, gone = np.stack(columns, axis=2)
    return Shortened(whole, gone)


def _rates(places: Places, device: int, kept: Sequence[F64], main: Rate) -> tuple[Rate, ...]:
    """What is taken from the ops of a device: with ops on cores of their own, and on shared ones where they may be."""
    chosen = [
        (on, content, share)
        for (on, content), share in zip(places.graph.contents, kept, strict=True)
        if content.device == device
    ]
    if not chosen:
        return (NOTHING,)
    share = np.concatenate([share for _, _, share in chosen])
    if not bool((share != 1).any()):
        return (main,) if chosen[0][0] == MAIN else (NOTHING,)
    sweep = Sweep.of(*(np.concatenate([getattr(content.spans, side) for _, content, _ in chosen]) for side in _SIDES))
    rates = (sweep.rate(share), sweep.shared(share)) if places.shared is not None else (sweep.rate(share),)
    return tuple(both(main, rate) for rate in rates) if chosen[0][0] == MAIN else rates


_SIDES = ("begin_ps", "end_ps")


def parts_after(graph: Graph, kept: F64, found: Sequence[Replayed], waits: Mapping[str, float]) -> F64:
    """float64[c + 1]: the parts of the average step after an edit, and the time until the next; they add up to it.

    A device that waits less for late devices than recorded has less of that. If the step is shorter than what stays of
    its parts, waits are, then communication. If it is longer, the device waits for what the binding path has more of.

    Args:
      graph: of the run.
      kept: float64[c, d], see `Shortened`.
      found: the replays whose mean is the step.
      waits: by kind of `WAIT_OF`, how much of it the binding path has more.
    """
    budget = graph.budget
    recorded = np.stack([budget.counted_ps(part).sum(axis=0) for part in PARTS]).astype(np.float64)
    parts = recorded * kept
    before = _meeting_waits(graph, graph.recorded)
    after = np.mean([_meeting_waits(graph, one) for one in found], axis=0)
    same = (before > 0) & (recorded[IDLE_PEER] > 0)
    parts[IDLE_PEER] *= np.where(same, after / np.maximum(before, 1), 1.0)
    grown = np.where(same, 0.0, np.maximum(after - before, 0.0))
    length = np.mean([_lengths(graph, one) for one in found], axis=0)
    for device in range(parts.shape[1]):
        lack = float(length[device] - parts[:, device].sum())
        if lack > 0:
            of_peers = min(lack, float(grown[device]))
            parts[IDLE_PEER, device] += of_peers
            for part, share in _shares(waits).items():
                parts[part, device] += (lack - of_peers) * share
        for some in _FIRST_LESS if lack < 0 else ():
            rows = list(some)
            there = float(parts[rows, device].sum())
            taken = min(-lack, there)
            if taken > 0:
                parts[rows, device] *= 1 - taken / there
                lack += taken
    mean = parts.sum(axis=1) / max(budget.cells, 1)
    whole = sum(graph.mean_ps(one) for one in found) / len(found)
    return np.append(mean, max(whole - float(mean.sum()), 0.0) if budget.between_step_ps and not graph.even else 0.0)


def _shares(waits: Mapping[str, float]) -> dict[int, float]:
    whole = sum(waits.values())
    return {WAIT_OF[kind]: ps / whole for kind, ps in waits.items()} if whole else {IDLE_GAP: 1.0}


def _lengths(graph: Graph, found: Replayed) -> F64:
    """float64[d]: the steps in which each device takes part."""
    if graph.even:
        return np.where(graph.budget.takes_part.any(axis=0), found.ends[-1] - found.begins[0], 0).astype(np.float64)
    length: F64 = np.where(graph.budget.takes_part, found.ends - found.begins, 0).sum(axis=0).astype(np.float64)
    return length


def _meeting_waits(graph: Graph, found: Replayed) -> F64:
    """float64[d]: how long each device waits for the last that takes part in its collectives."""
    met = graph.meetings
    node = met.node[met.instance]
    wait = found.end[node] - found.duration[node] - found.end[met.arrival]
    devices = graph.budget.takes_part.shape[1]
    return np.bincount(met.device, np.maximum(wait, 0), minlength=devices).astype(np.float64)
