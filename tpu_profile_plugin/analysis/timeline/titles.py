"""Names of sections and tracks as the user documents have them, where they differ from those of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tpu_profile_plugin.analysis.common.op_names import JAX, TENSORFLOW, parse_op
from tpu_profile_plugin.analysis.common.planes import (
    FRAMEWORK_OPS,
    HOST_THREADS,
    ExtraLine,
    is_sparse_core,
    is_tensor_core,
)
from tpu_profile_plugin.analysis.environment.environment import core_details
from tpu_profile_plugin.analysis.timeline.host import HostTrace
from tpu_profile_plugin.analysis.timeline.sections import Section
from tpu_profile_plugin.columns import XSpace

_THREADS, _TENSORFLOW_OPS = "Host Threads", "TensorFlow Ops"


@dataclass(frozen=True, slots=True)
class Titles:
    """Displayed names: of sections by process id, of tracks by index; those without one keep the name of the file."""

    sections: dict[int, str] = field(default_factory=dict)
    tracks: dict[int, str] = field(default_factory=dict)


def titles(space: XSpace, trace: HostTrace) -> Titles:
    """TPU planes by chip and core if the profile says so, the host's threads, and TensorFlow's ops."""
    tensorflow = {
        section.pid
        for section in trace.sections
        if any(_is_tensorflow(line) for line in trace.extras.planes[section.plane].lines)
    }
    tracks = {
        i: track.name.replace(FRAMEWORK_OPS, _TENSORFLOW_OPS, 1)
        for i, track in enumerate(trace.tracks)
        if track.pid in tensorflow and track.name.startswith(FRAMEWORK_OPS)
    }
    return Titles(section_titles(space, trace.sections), tracks)


def section_titles(space: XSpace, sections: Iterable[Section]) -> dict[int, str]:
    """The displayed names of sections by process id, of those that have one of their own."""
    named = {section.pid: _section(space, section.plane, section.name) for section in sections}
    uses = Counter(named.values())
    return {pid: title for pid, title in named.items() if title and uses[title] == 1}


def _section(space: XSpace, plane: int, name: str) -> str:
    if name == HOST_THREADS:
        return _THREADS
    of_section = space.planes[plane]
    sparse = is_sparse_core(of_section)
    details = core_details(space, of_section) if sparse or is_tensor_core(of_section) else None
    if details is None:
        return ""
    core = f"SparseCore {name.rpartition(' ')[2]}" if sparse else f"TPU Core {details.core_num}"
    return f"Chip {details.global_chip_id}: {core}"


def _is_tensorflow(line: ExtraLine) -> bool:
    """Whether a line of framework ops has more ops of TensorFlow than of JAX."""
    if not line.name.startswith(FRAMEWORK_OPS):
        return False
    kinds = Counter(parse_op(name).category for name in line.names)
    return kinds[TENSORFLOW] > kinds[JAX]
