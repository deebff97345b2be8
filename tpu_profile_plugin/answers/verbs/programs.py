"""The verb `programs`: which compiled programs ran, and which were compiled more than once."""

from __future__ import annotations

from typing import Any

from tpu_profile_plugin.analysis.common.reasons import PROGRAMS
from tpu_profile_plugin.answers.answer import Answer, Link, Next
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.run.catalogue.ops import PROGRAMS_ANSWERED
from tpu_profile_plugin.tables.table import Table

_MOST_NAMED = 5


def programs(asked: Asked) -> Answer:
    """The compiled programs by the time of their ops, and modules that were compiled more than once."""
    found = asked.run.program_times()
    rows = found.programs
    ran = [one for one in rows if one.time_ps is not None]
    facts: dict[str, Any] = {"programs_found": len(rows), "programs_that_ran": len(ran)}
    if found.total_ps:
        facts["observed_ps"] = found.total_ps
    again = sorted(found.compiled_again.items(), key=lambda one: -one[1])[:_MOST_NAMED]
    facts["compiled_more_than_once"] = [f"{name}: {count} programs" for name, count in again]
    columns = [
        [one.name for one in rows],
        [one.time_ps for one in rows],
        [one.ops for one in rows],
        [one.in_profile for one in rows],
    ]
    further = [Next("ops", {"find": one.name}, "the ops of the program") for one in ran[:2]]
    with_hlo = [one for one in rows if one.in_profile]
    further += [Next("memory", {"program": one.name}, "its memory at the peak") for one in with_hlo[:1]]
    if again:
        further.append(Next("explain", {}, "what compiling again costs, if that is in the recording"))
    return Answer(Link("op_profile"), facts, Table(PROGRAMS_ANSWERED, columns, name="programs"), next=tuple(further))


VERB = verb(
    programs,
    needs=PROGRAMS,
)
