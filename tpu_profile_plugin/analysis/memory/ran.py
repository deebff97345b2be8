"""Whose memory a recording tells: of the program that ran most of the time, if its HLO is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ALL_THE_TIME = 0.995
"""From this share of the time of all programs on, one ran all the time."""
RECORD_HLO = (
    "Record the HLO of programs with the profile (enable_hlo_proto, on by default in JAX and TensorFlow), "
    "on a host that runs the program."
)


@dataclass(frozen=True, slots=True)
class ProgramRan:
    """A program that devices ran.

    Attributes:
      name: `module(program id)`, or the id if its name was not recorded.
      time_ps: time of its ops on all devices; share: of the time of all programs.
      known: its HLO is in the profile.
    """

    name: str
    time_ps: int
    known: bool
    share: float = 0.0


def programs_ran(parts: Iterable[Sequence[ProgramRan]]) -> tuple[ProgramRan, ...]:
    """The programs of several hosts, most time first, with their shares; HLO of one host is enough."""
    time, known = Counter[str](), set[str]()
    for part in parts:
        for one in part:
            time[one.name] += one.time_ps
            known |= {one.name} if one.known else set()
    total = max(sum(time.values()), 1)
    return tuple(ProgramRan(name, ps, name in known, ps / total) for name, ps in time.most_common())


def unknown_memory(ran: Sequence[ProgramRan]) -> str:
    """Why the recording does not tell the memory that it needed; "" if it has the HLO of the program with most time."""
    if not ran or ran[0].known:
        return ""
    most = ran[0]
    if most.share >= ALL_THE_TIME:
        who = f"The program that ran all the time, {most.name},"
    else:
        who = f"The program that ran {most.share:.1%} of the time, {most.name},"
    return f"{who} has no HLO in this recording: its memory is unknown."
