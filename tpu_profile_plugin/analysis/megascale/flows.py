"""Flows between the parts of collectives between slices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tpu_profile_plugin.analysis.megascale.parts import KINDS, Parts
from tpu_profile_plugin.columns.arrays import I64

EDGES = (
    ("send", "DeviceToHost START"),
    ("DeviceToHost END", "send-done"),
    ("recv", "HostToDevice START"),
    ("HostToDevice END", "recv-done"),
    ("send", "send-done"),
    ("send", "recv-done"),
    ("recv", "recv-done"),
)
"""Pairs of kinds connected by flows within one run of a module: first to first, second to second."""


def flows(parts: Parts) -> tuple[I64, I64]:
    """Rows of the parts at the begin and the end of each flow, both int64[f]."""
    group = groups(parts.device, parts.run, parts.rendezvous)
    pairs = list(_pairs(parts.kind, group))
    return (
        np.concatenate([np.zeros(0, np.int64), *(one for one, _ in pairs)]),
        np.concatenate([np.zeros(0, np.int64), *(other for _, other in pairs)]),
    )


def groups(device: I64, run: I64, rendezvous: I64) -> I64:
    """A number for each device, run and rendezvous."""
    keys = np.stack([device, run, rendezvous], axis=1)
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1) if len(keys) else np.zeros(0, np.int64)


def _pairs(kind: I64, group: I64) -> Iterator[tuple[I64, I64]]:
    for source, target in EDGES:
        sources, targets = (np.flatnonzero(kind == KINDS.index(name)) for name in (source, target))
        left, right = ranked(group[sources]), ranked(group[targets])
        every, code = np.unique(np.concatenate([left, right]), axis=0, return_inverse=True)
        code = code.reshape(-1)
        row: I64 = np.full(len(every), -1, np.int64)
        row[code[: len(sources)]] = sources
        source_row = row[code[len(sources) :]]
        yield source_row[source_row >= 0], targets[source_row >= 0]


def ranked(group: I64) -> I64:
    """Group and position within the group, int64[n, 2]."""
    order = np.argsort(group, kind="stable")
    place = np.empty(len(group), np.int64)
    place[order] = np.arange(len(group)) - np.searchsorted(group[order], group[order], side="left")
    return np.stack([group, place], axis=1)
