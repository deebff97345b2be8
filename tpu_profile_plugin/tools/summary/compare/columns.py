"""The columns of the tables that compare two runs; times are per step and device."""

from __future__ import annotations

from tpu_profile_plugin.tables.table import Column

_BASE = Column("base_ps_per_step", "Base", "number", "ps", "Time per step and device in the base.")
_RUN = Column("run_ps_per_step", "Run", "number", "ps", "Time per step and device in the run.")
_DELTA = Column("delta_ps_per_step", "Difference", "number", "ps", "Run minus base.")

CONTRIBUTIONS = (
    Column("what", "What", "string", "", "The ops, programs or part of the step that changed."),
    Column("kind", "Change", "string", "", "slower, faster, added, removed, split, merged, dtype_changed, "
           "shape_changed, more_often, fewer_often; rest: what is left of the difference."),
    Column("delta_ps_per_step", "Difference", "number", "ps", "What it adds to the step; the rows add up."),
    _BASE,
    _RUN,
    Column("where", "Where", "string", "", "Id of the part of the time budget."),
    Column("low_ps", "From", "number", "ps", "Lower end of the interval of the difference; empty with too few steps."),
    Column("high_ps", "To", "number", "ps", "Upper end of that interval."),
    Column("certain", "Beyond noise", "boolean", "", "The difference is larger than steps and captures vary."),
    Column("ops", "Ops", "string", "", "Instructions of the run, of the base if they were removed; 20 with most time."),
)  # fmt: skip
PROGRAMS = (
    Column("program", "Program", "string", "", "Name in the run; in the base if it was removed."),
    Column("base_program", "In the base", "string", "", "Name of the program that it corresponds to."),
    Column("kind", "Change", "string", "", "same, renamed, added or removed."),
    _BASE,
    _RUN,
    _DELTA,
    Column("ops", "Ops", "number", "", "Distinct ops in the run."),
    Column("matched", "Matched", "number", "", "Those with a counterpart in the base."),
)
OPS = (
    Column("name", "Op", "string", "", "Instructions in the run, longest first; in the base if removed."),
    Column("base_name", "In the base", "string", "", "Instructions that they correspond to."),
    Column("program", "Program", "string", "", "Program, without id."),
    Column("category", "Category", "string", "", "HLO category."),
    Column("framework_op", "Framework op", "string", "", "The op that it was compiled from."),
    Column("source", "Source", "string", "", "File and line."),
    Column("kind", "Change", "string", "", "As in the contributions; same if nothing but the time differs."),
    _BASE,
    _RUN,
    _DELTA,
    Column("base_runs", "Runs, base", "number", "", "Per step and device."),
    Column("run_runs", "Runs", "number", "", "Per step and device."),
    Column("module", "Module", "string", "", "Program of the run with its id, as in other tools."),
    Column("base_module", "Module in the base", "string", "", "Program of the base with its id."),
)
MEMORY = (
    Column("program", "Program", "string", "", "Name in the run."),
    Column("base_bytes", "Base", "number", "bytes", "Most memory that the program needs."),
    Column("run_bytes", "Run", "number", "bytes", "The same in the run."),
    Column("delta_bytes", "Difference", "number", "bytes", "Run minus base."),
)
ENVIRONMENT = (
    Column("what", "What", "string", "", "A property of the run."),
    Column("base", "Base", "string", "", "In the base."),
    Column("run", "Run", "string", "", "In the run."),
    Column("same", "Same", "boolean", "", "Whether both are equal."),
)
