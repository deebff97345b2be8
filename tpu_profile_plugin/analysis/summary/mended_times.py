"""Says which times of a recording cannot be as recorded, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tpu_profile_plugin.columns import DeviceClock, ImpossibleTimes
from tpu_profile_plugin.units import duration

_MOST_NAMED = 3
_TIMES = "an impossible time (0, negative, or far from all others)"
_DURATIONS = "a duration that spans many later events of its stream"


def mended_times(lines: Sequence[ImpossibleTimes], clocks: Sequence[DeviceClock]) -> Iterator[tuple[str, str]]:
    """A stable code and a sentence for each kind of times that cannot be as recorded: how many, and what was done."""
    yield from _impossible_times(lines)
    yield from _clock_skews(clocks)


def _impossible_times(lines: Sequence[ImpossibleTimes]) -> Iterator[tuple[str, str]]:
    """Per kind the lines with most of the events."""
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


def _clock_skews(clocks: Sequence[DeviceClock]) -> Iterator[tuple[str, str]]:
    """Per device by how much its clock disagrees with its host's."""
    for clock in clocks:
        device = clock.device.removeprefix("/device:").replace(":", " ")
        count = (
            f"all {clock.pairs:,}" if clock.impossible == clock.pairs else f"{clock.impossible:,} of {clock.pairs:,}"
        )
        proof = f"{count} launches and waits cannot have been as recorded"
        if clock.offset_ps:
            which = "behind" if clock.offset_ps > 0 else "ahead of"
            far = duration(abs(clock.offset_ps))
            yield "clock_skew", f"The clock of {device} is {far} {which} its host's: {proof}. Its times are moved."
        else:
            yield (
                "clock_skew",
                f"The clock of {device} disagrees with its host's: {proof}, and no offset makes them agree.",
            )
