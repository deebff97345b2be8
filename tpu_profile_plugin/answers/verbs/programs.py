"""The verb `programs`: which compiled programs ran, and which were compiled more than once."""

from __future__ import annotations

from typing import Any

from tpu_profile_plugin.analysis.common.reasons import PROGRAMS
from tpu_profile_plugin.answers.answer import Answer, Link, Next
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.tables.table import Table, flags, integers, texts

_COLUMNS = (
    texts("id", "Program", "The HLO module with its program id, for the argument program of memory and find of ops."),
    integers("time_ps", "Time", "ps", "Time of its ops, summed over devices; none if no op ran."),
    integers("ops", "Ops", "", "Number of its ops that ran."),
    flags("hlo_in_profile", "HLO in profile", "Whether its HLO text is in the profile, for hlo and memory."),
)
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
    return Answer(Link("op_profile"), facts, Table(_COLUMNS, columns, name="programs"), next=tuple(further))


VERB = verb(
    programs,
    needs=PROGRAMS,
)
