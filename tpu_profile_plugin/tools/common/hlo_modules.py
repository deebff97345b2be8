"""Shared by the tools about HLO modules: parameters that name a module, and availability."""

from __future__ import annotations

from tpu_profile_plugin.analysis.common.reasons import NO_MODULES, NO_MODULES_IN_PYTORCH, Reason
from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.figures.programs import chosen_program
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query

PARAMS = (
    Param("module_name", "string", "", "An HLO module, `name(program id)` as in the list of modules."),
    Param("program_id", "string", "", "An HLO module by its program id."),
)


def lacks_modules(facts: RunFacts) -> Reason | None:
    """The reason why tools about HLO modules are unavailable for a run; None if they are available."""
    if facts.modules:
        return None
    return NO_MODULES_IN_PYTORCH if facts.pytorch else NO_MODULES


def requested_program(run: Run, query: Query) -> tuple[HostProfile, Program]:
    """The program that `PARAMS` name, and its host; see `run.programs.chosen_program`."""
    return chosen_program(run, query.text("module_name"), query.text("program_id"))
