"""The program without a finding's cause, as changes of what was recorded, which a replay can try."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tpu_profile_plugin.analysis.budget.categories import GROUP_OF
from tpu_profile_plugin.analysis.findings.model import Evidence
from tpu_profile_plugin.analysis.findings.places import TIMELINE
from tpu_profile_plugin.analysis.replay.edits import Edit, kind_of_name

_DEVICES = ("collectives", "device_to_device")
LEAST_TAKEN, MOST_BESIDE = 0.8, 0.25
"""An edit stands for a finding if it takes away so much of the finding's time, and no more of what other parts take."""


def edits_without(segments: Sequence[str], evidence: Sequence[Evidence]) -> Iterator[Edit]:
    """Edits that may take away what a finding is about, the most general of them first.

    Which of them do is seen by what they take from the finding's segments.
    """
    groups = {GROUP_OF.get(segment, segment) for segment in segments}
    if groups and groups <= {"input"}:
        yield Edit(input_free=True)
    if set(segments) == {"idle_peer"}:
        yield Edit(ranks_equal=True)
    elif groups and groups <= {*_DEVICES}:
        yield Edit(hide_collectives=True)
    places: list[str] = []
    for one in evidence:
        if one.op is not None:
            line = f"{one.op.file}:{one.op.line}" if one.op.file else ""
            places += [kind_of_name(one.op.name), line, one.op.name]
        elif one.tool == TIMELINE and (event := one.query.get("find")):
            places.append(event.removeprefix("$"))
    for place in dict.fromkeys(filter(None, places)):
        yield Edit(((place, 0.0),))
