"""The columns of the tables that compare two runs; times are per step and device that takes part."""

from __future__ import annotations

from tpu_profile_plugin.tables.table import flags, numbers, texts

_BASE = numbers("base_ps_per_step", "Base", "ps", "Time per step and device that takes part, in the base.")
_RUN = numbers("run_ps_per_step", "Run", "ps", "Time per step and device that takes part, in the run.")
_DELTA = numbers("delta_ps_per_step", "Difference", "ps", "Run minus base.")

CONTRIBUTIONS = (
    texts("what", "What", "The ops, programs or part of the step that changed."),
    texts("kind", "Change", "slower, faster, added, removed, split, merged, dtype_changed, shape_changed, more_often, "
          "fewer_often, more_executions, fewer_executions (of their program); single_steps: far above the median; "
          "machine: unchanged ops that all changed by one factor; rest: smaller changes and roundings."),
    numbers("delta_ps_per_step", "Difference", "ps", "What it adds to the compared time; the rows add up."),
    _BASE,
    _RUN,
    texts("where", "Category", "Id of the category of time."),
    texts("part", "Part", "Id of the part of the category; empty for ops."),
    numbers("low_ps", "From", "ps", "Lower end of the interval of the difference; empty with too few steps."),
    numbers("high_ps", "To", "ps", "Upper end of the interval."),
    flags("certain", "Beyond noise", "The difference exceeds how far steps and captures vary."),
    texts("ops", "Ops", "Instructions of the run, or of the base if removed: the 20 with most time."),
)  # fmt: skip
PROGRAMS = (
    texts("program", "Program", "Name in the run; in the base if it was removed."),
    texts("base_program", "In the base", "Name of the program that it corresponds to."),
    texts("kind", "Change", "same, renamed, added or removed."),
    _BASE,
    _RUN,
    _DELTA,
    numbers("ops", "Ops", "", "Distinct ops in the run."),
    numbers("matched", "Matched", "", "Ops with a counterpart in the base."),
)
OPS = (
    texts("name", "Op", "Instructions in the run, longest first; in the base if removed."),
    texts("kind", "Change", "As in the contributions; same if nothing but the time differs."),
    _DELTA,
    _BASE,
    _RUN,
    texts("base_name", "In the base", "Instructions that they correspond to."),
    texts("source", "Source", "File and line."),
    texts("framework_op", "Framework op", "The op that it was compiled from."),
    texts("category", "Category", "HLO category."),
    texts("program", "Program", "Program, without id."),
    numbers("base_runs", "Runs, base", "", "Per step and device that takes part."),
    numbers("run_runs", "Runs", "", "Per step and device that takes part."),
    texts("module", "Module", "Program of the run with its id, as in other tools."),
    texts("base_module", "Module in the base", "Program of the base with its id."),
)
MEMORY = (
    texts("program", "Program", "Name in the run."),
    numbers("base_bytes", "Base", "bytes", "Most memory that the program needs."),
    numbers("run_bytes", "Run", "bytes", "Most memory that it needs in the run."),
    numbers("delta_bytes", "Difference", "bytes", "Run minus base."),
)
ENVIRONMENT = (
    texts("what", "What", "A property of the run."),
    texts("base", "Base", "In the base."),
    texts("run", "Run", "In the run."),
    flags("same", "Same", "Whether both are equal."),
)
