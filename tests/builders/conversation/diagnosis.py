"""What an agent says of a run after the usual questions: runs, overview, explain, its first finding, the evidence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from builders.conversation.talk import Conversation

EVIDENCE = ("timeline", "op", "source", "collectives", "memory", "budget", "gaps", "programs")
_PLACE = re.compile(r"[\w./-]+\.py:\d+(?: [\w<>.]+)?")


@dataclass(frozen=True)
class Diagnosis:
    """The cause that an agent names.

    Attributes:
      cause: id of the first finding; "" if nothing costs time.
      title: of the finding, or the headline of the run.
      places: files and lines in its evidence.
      saving_percent: how much of the step it costs at most.
      seen: the tools that showed the evidence.
    """

    cause: str
    title: str
    places: tuple[str, ...]
    saving_percent: float
    seen: tuple[str, ...]


def diagnose(talk: Conversation, run: str = "") -> Diagnosis:
    """What costs the time of a run whose name contains a text, the newest by default."""
    overview = talk.deeper(talk.start(run), "overview")
    explained = talk.deeper(overview, "explain", finding=None)
    findings = explained["answer"].get("findings") or []
    if not findings:
        return Diagnosis("", explained["answer"].get("headline", ""), (), 0.0, ())
    first = findings[0]
    whole = talk.deeper(explained, "explain", finding=first["id"])
    shown = talk.deeper(whole, *EVIDENCE)
    told = [str(first), str(whole["answer"]), str(shown["answer"] if shown else "")]
    places = dict.fromkeys(place for text in told for place in _PLACE.findall(text))
    return Diagnosis(
        first["id"],
        first["title"],
        tuple(places),
        float(first.get("share_percent") or 0),
        tuple(one.partition(" ")[0] for one in talk.calls[4:]),
    )
