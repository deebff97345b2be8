"""Says which events of a recording have impossible times, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tpu_profile_plugin.columns import ImpossibleTimes

_MOST_NAMED = 3
_TIMES = "an impossible time (0, negative, or far from all others)"
_DURATIONS = "a duration that spans many later events of its stream"


def impossible_times(lines: Sequence[ImpossibleTimes]) -> Iterator[tuple[str, str]]:
    """Per kind a stable code and a sentence: how many events, what was done, and the lines with most of them."""
    for code, counts, what, done, kept in (
        ("impossible_times", [line.left_out for line in lines], _TIMES, "left out", "counted here"),
        ("impossible_durations", [line.shortened for line in lines], _DURATIONS, "cut short", "counted in full here"),
    ):
        total = sum(counts)
        if not total:
            continue
        affected = [(count, line) for count, line in zip(counts, lines, strict=True) if count]
        most = sorted(affected, key=lambda one: -one[0])
        named = [
            f"{count:,} on {line.line[:100] or 'an unnamed line'} of {line.plane[:100]}"
            for count, line in most[:_MOST_NAMED]
        ]
        more = len(most) - _MOST_NAMED
        named += [f"the others on {more} more {'line' if more == 1 else 'lines'}"] if more > 0 else []
        events, are = ("1 event has", "is") if total == 1 else (f"{total:,} events have", "are")
        verdict = kept if any(line.kept for _, line in most) else done
        yield code, f"{events} {what} and {are} {verdict}: {', '.join(named)}."
