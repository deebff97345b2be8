"""What each source line of the program costs: time, memory and the findings about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tpu_profile_plugin.analysis.ops.source_lines import NO_LOCATION
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.figures.findings import Cause, run_findings
from tpu_profile_plugin.run.figures.memory import run_allocator_uses
from tpu_profile_plugin.run.figures.ops import Place
from tpu_profile_plugin.run.figures.source import run_source_profile
from tpu_profile_plugin.run.hosts import RunHosts


@dataclass(frozen=True, slots=True)
class Annotation:
    """A source line.

    Attributes:
      file: as recorded; line: from 1.
      function: "" if it was not recorded.
      self_ps: of the ops compiled from the line or launched there; share: of the self time of all ops, 0 to 1.
      ops, occurrences: number of these ops, and of their runs.
      memory_bytes: what its buffers or allocations hold at the peak; memory_share: of that peak, 0 to 1.
      causes: findings that name the line, the largest saving first.
    """

    file: str
    line: int
    function: str = ""
    self_ps: int = 0
    share: float = 0.0
    ops: int = 0
    occurrences: int = 0
    memory_bytes: int = 0
    memory_share: float = 0.0
    causes: tuple[Cause, ...] = ()


@dataclass(frozen=True)
class Annotations:
    """The source lines of a run.

    Attributes:
      run: its name; headline: what the findings say in one line, "" if they cannot be told.
      place: where the ops ran; total_ps: self time of all ops, which shares are of; located_ps: of those with a line.
      memory_of: whose peak memory is of, such as a program; "" without memory; peak_bytes: that peak.
      lines: by file and line.
      others: findings that name no line.
      base: what savings are shares of.
    """

    run: str
    headline: str
    place: Place
    total_ps: int
    located_ps: int
    memory_of: str
    peak_bytes: int
    lines: tuple[Annotation, ...]
    others: tuple[Cause, ...] = field(default=(), repr=False)
    base: str = "step"

    @property
    def files(self) -> Mapping[str, tuple[Annotation, ...]]:
        """The lines by file, most time first, then most memory."""
        by_file: dict[str, list[Annotation]] = {}
        for one in self.lines:
            by_file.setdefault(one.file, []).append(one)

        def order(file: str) -> tuple[int, int, int, str]:
            lines = by_file[file]
            saved = sum(bool(one.causes) for one in lines)
            return (-sum(one.self_ps for one in lines), -saved, -sum(one.memory_bytes for one in lines), file)

        return {file: tuple(by_file[file]) for file in sorted(by_file, key=order)}


@dataclass(slots=True)
class _Sums:
    """What is known of a line so far."""

    function: str = ""
    self_ps: int = 0
    ops: int = 0
    occurrences: int = 0
    memory_bytes: int = 0
    causes: list[Cause] = field(default_factory=list)


def run_annotations(run: RunHosts) -> Annotations:
    """The lines of the chosen hosts. Raises NoData if neither time, nor memory, nor a finding has a line."""
    sums: dict[tuple[str, int], _Sums] = {}
    place: Place = "device"
    total_ps = located_ps = peak_bytes = 0
    memory_of, missing = "", None
    try:
        profile = run_source_profile(run)
    except NoData as error:
        missing = error
    else:
        lines = profile.lines
        place, total_ps, located_ps = profile.ops.place, int(lines.self_ps.sum()), profile.located_ps
        if profile.memory is not None:
            memory_of, peak_bytes = profile.memory.program, profile.memory.peak_bytes
        columns = (lines.self_ps, lines.ops, lines.occurrences, lines.peak_bytes)
        for frame, *values in zip(lines.line, *(column.tolist() for column in columns), strict=True):
            if frame == NO_LOCATION:
                continue
            file, function, line = frame
            known = sums.setdefault((file, line), _Sums())
            known.function = known.function or function
            known.self_ps += values[0]
            known.ops += values[1]
            known.occurrences += values[2]
            known.memory_bytes += values[3]
    if not memory_of:
        memory_of, peak_bytes = _allocated(run, sums)
    headline, base, causes = _causes(run)
    others = _place_causes(causes, sums)
    if not sums:
        if missing is not None:
            raise missing
        raise NoData("No op, no allocation and no finding of the run has a source line.")
    return Annotations(
        *(run.name, headline, place, total_ps, located_ps, memory_of, peak_bytes),
        lines=tuple(_annotation(*where, known, total_ps, peak_bytes) for where, known in sorted(sums.items())),
        others=others,
        base=base,
    )


def _annotation(file: str, line: int, known: _Sums, total_ps: int, peak_bytes: int) -> Annotation:
    return Annotation(
        *(file, line, known.function, known.self_ps, known.self_ps / max(1, total_ps), known.ops, known.occurrences),
        *(known.memory_bytes, known.memory_bytes / max(1, peak_bytes), tuple(known.causes)),
    )


def _allocated(run: RunHosts, sums: dict[tuple[str, int], _Sums]) -> tuple[str, int]:
    """Adds what lines allocated, of the fullest allocator that knows its lines; its name and its peak."""
    try:
        uses = run_allocator_uses(run)
    except NoData:
        return "", 0
    use = next((use for use in uses if any(one.source for one in use.allocations)), None)
    if use is None:
        return "", 0
    for one in use.allocations:
        file, _, line = one.source.rpartition(":")
        if line.isdecimal():
            sums.setdefault((file, int(line)), _Sums()).memory_bytes += one.size_bytes * one.count
    return use.title, use.in_use_bytes


def _causes(run: RunHosts) -> tuple[str, str, Sequence[Cause]]:
    """Headline, base and findings; nothing if the run has no steps to find anything in."""
    try:
        found = run_findings(run)
    except NoData:
        return "", "step", ()
    return found.headline.title, found.base, found.causes


def _place_causes(causes: Iterable[Cause], sums: dict[tuple[str, int], _Sums]) -> tuple[Cause, ...]:
    """Adds the findings to the lines that they name, whose files may be ends of recorded paths; the rest."""
    others = []
    for cause in causes:
        if cause.line is None:
            others.append(cause)
            continue
        file, _, line = cause.line.rpartition(":")
        ends = {known for known, _ in sums if known == file or known.replace("\\", "/").endswith(f"/{file}")}
        place = next(iter(ends)) if len(ends) == 1 else file
        sums.setdefault((place, int(line)), _Sums()).causes.append(cause)
    return tuple(others)
