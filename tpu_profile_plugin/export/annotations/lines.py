"""What all forms say of annotated lines: sentences with units, and the source around each line."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.errors import Forbidden, NotAvailable, NotFound
from tpu_profile_plugin.logdir.source_files import SourceRoot, SourceText
from tpu_profile_plugin.run.figures.annotations import Annotation, Annotations
from tpu_profile_plugin.run.figures.findings import Cause
from tpu_profile_plugin.units import duration, size

_AROUND = 2
"""Lines of the source that are shown before and behind an annotated one."""
_PLACES = {"cpu": "CPU", "device": "device", "framework device": "device", "framework host": "host"}


def source_of(sources: SourceRoot, file: str) -> SourceText | None:
    """The text of a file; None if it is not below the directory, or cannot be shown."""
    try:
        return sources.read(file)
    except (Forbidden, NotAvailable, NotFound):
        return None


def saving_of(cause: Cause, base: str) -> str:
    if not cause.saving_ps:
        return "no direct cost"
    return f"up to {duration(cause.saving_ps)}, {cause.share:.1%} of the {base}"


def costs_of(one: Annotation, found: Annotations) -> str:
    """The sentence about a line."""
    parts = []
    if one.self_ps:
        parts.append(
            f"{one.share:.1%} of the self time of all ops on the {_PLACES[found.place]} ({duration(one.self_ps)})"
        )
    if one.memory_bytes:
        parts.append(f"{size(one.memory_bytes)} at the peak of {found.memory_of} ({one.memory_share:.1%} of it)")
    return ", ".join(parts)


def sums_of(lines: Sequence[Annotation], found: Annotations) -> str:
    """What a file costs."""
    time = f"{sum(one.share for one in lines):.1%} of the time" if found.total_ps else ""
    held = sum(one.memory_bytes for one in lines)
    return ", ".join(filter(None, (time, f"{size(held)} at the peak" if held else ""))) or "findings"


def shown_lines(lines: Sequence[Annotation], text: SourceText | None) -> list[tuple[int, str, Annotation | None]]:
    """Numbers and texts of the lines that are shown, with their annotations; without the source those alone."""
    by_line = {one.line: one for one in lines}
    if text is None:
        return [(one.line, one.function, one) for one in lines]
    all_lines = text.text.splitlines()
    near = {line + step for line in by_line for step in range(-_AROUND, _AROUND + 1)}
    numbers = sorted(line for line in near if 1 <= line <= len(all_lines) or line in by_line)
    return [(at, all_lines[at - 1] if at <= len(all_lines) else "", by_line.get(at)) for at in numbers]


def about(found: Annotations) -> str:
    parts = []
    if found.total_ps:
        located = found.located_ps / found.total_ps
        whole = f"{duration(found.total_ps)} in all, {located:.1%} with a line"
        parts.append(f"time: self time of ops on the {_PLACES[found.place]}, {whole}")
    if found.memory_of:
        parts.append(f"memory: at the peak of {found.memory_of}, {size(found.peak_bytes)}")
    return "; ".join(parts) or "neither time nor memory has lines"
