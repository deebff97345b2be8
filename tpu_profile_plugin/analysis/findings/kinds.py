"""What code of the host is called in sentences, and what to do about it: by what it is for, and the framework."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.budget.purpose import Purpose
from tpu_profile_plugin.analysis.common.op_names import PYTORCH
from tpu_profile_plugin.analysis.common.rows import file_sections
from tpu_profile_plugin.analysis.findings.evidence.host.periodic import Kind
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence
from tpu_profile_plugin.analysis.findings.part_advice import by_framework


def again(frameworks: Sequence[str]) -> Evidence:
    """That Python functions are missing; the page offers to record again with them, if a server can."""
    if list(frameworks[:1]) == [PYTORCH]:
        return Evidence("Python functions", "not recorded")
    return Evidence("Python functions", "not recorded", "", "capture", {"python_tracer_level": "1"})


@dataclass(frozen=True, slots=True)
class Told:
    """What code with a purpose is called after "wait for" and after "goes to", and what to do about it."""

    wait: str
    work: str
    advice: Advice


def _read() -> dict[str, Told]:
    """The kinds of kinds.txt by name: those of `Purpose`, and others without names of their own in sentences."""
    found = {}
    for head, lines in file_sections(__file__, "kinds.txt"):
        name, wait, work = (part.strip() for part in " ".join(head).split("|"))
        found[name] = Told(wait, work, by_framework(lines))
    return found


_ALL = _read()
KINDS: dict[Purpose, Told] = {purpose: _ALL[purpose.name] for purpose in Purpose if purpose.name in _ALL}
OTHER = _ALL["OTHER"].advice


def advice(kind: Kind) -> Advice:
    """For a kind of work."""
    if kind.waits:
        return _ALL["WAITED"].advice
    if kind.purpose == Purpose.COLLECTION and kind.called:
        return _ALL["CALLED_COLLECTION"].advice
    told = KINDS.get(kind.purpose)
    return told.advice if told is not None else _ALL["PROGRAM"].advice if kind.program else OTHER
