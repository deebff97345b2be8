"""Columns about runs: their problems, findings and differences, and the tables of SQL."""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, BETWEEN_LABEL, CATEGORIES, LABELS
from tpu_profile_plugin.run.catalogue import HOST, RUN
from tpu_profile_plugin.tables.catalogue import Catalogue
from tpu_profile_plugin.tables.column import flags, integers, numbers, texts

RELATION = (
    RUN,
    replace(HOST, sentence="Host whose data it is about; empty for the whole run."),
    texts("code", "Code", "Kind of the problem; never changes."),
    texts("message", "Message", "What is wrong, in a sentence."),
    texts("remedy", "Remedy", "What to do about it."),
    texts("file", "File", "Name of the file that it is about."),
    integers("offset", "Offset", "bytes", 'Where in the file the damage begins; in SQL, write "offset" in quotes.'),
    integers("count", "Count", "", "Number of events, bytes or parts that were left out, if known."),
)
"""Of the relation `problems`."""
PARTS_OF_RUN = (*CATEGORIES, BETWEEN)
OF_RUNS = (
    RUN,
    integers("recorded_ms", "Recorded", "ms", "When, since 1970; epoch_ms(recorded_ms) is a timestamp."),
    texts("program", "Program", "Program with most time, without its id."),
    texts("device", "Device", "Type of the devices."),
    integers("devices", "Devices", "", "Number of devices; empty if unknown."),
    integers("hosts", "Hosts", "", "Number of hosts."),
    texts("frameworks", "Frameworks", "Frameworks, separated by commas."),
    texts("commit", "Commit", "The label commit."),
    texts("labels", "Labels", "All labels as a JSON object: labels ->> 'batch' is one of them."),
    integers("steps", "Steps", "", "Number of steps; empty for a run without any."),
    integers("step_ps", "Step", "ps", "Mean of the ordinary steps, with the time until the next."),
    integers("step_sd_ps", "Deviation", "ps", "Standard deviation of these steps."),
    *(integers(f"{part}_ps", LABELS[part].name, "ps", LABELS[part].sentence) for part in CATEGORIES),
    integers(f"{BETWEEN}_ps", BETWEEN_LABEL.name, "ps", BETWEEN_LABEL.sentence),
    integers("memory_peak_bytes", "Memory peak", "bytes", "Largest peak of a program; empty if none is known."),
    texts("problem", "Problem", "Why it has no steps, or what is odd about it; empty if nothing is."),
)
"""Of the relation `runs`."""
SQL = (
    texts("table", "Table", "Name of the table in SQL."),
    texts("column", "Column", "Name of the column in SQL."),
    texts("type", "Type", "Kind of the values: number, string or boolean."),
    texts("unit", "Unit", "Unit of the numbers; empty for texts and counts."),
    texts("meaning", "Meaning", "What the values say."),
)
"""Of the tool `query`."""
NUMBER_OF_ROW = texts("id", "Row", "Number of the row, from 1.")
"""The first column of the verb `query`."""
RUNS = (
    texts("id", "Run", "Name of the run, for the argument run."),
    texts("hosts", "Hosts", "Names of its hosts."),
    integers("size_bytes", "Size", "bytes", "Size of its profiles."),
    texts("written", "Written", "When its profiles were last written."),
    texts("problems", "Problems", "Problems of its files; empty without any."),
)
"""Of the verb `runs`."""
_FINDINGS = Catalogue(
    texts("id", "Id", "Id of the finding, for the argument finding."),
    texts("title", "Title", "The cause in one line."),
    numbers("share_percent", "Share", "%", "What a step could gain at most, of the base."),
    numbers("saving_ps", "Saving", "ps", "The same as time per step."),
    texts("confidence", "Confidence", "high: events show cause and effect; medium: inferred; low: a possibility."),
    texts("line", "Line", "The line of code that it names."),
    texts("evidence", "Evidence", "The most telling numbers."),
    texts("advice", "Advice", "What to do."),
)
FINDINGS = _FINDINGS.columns("id", "title", "share_percent", "saving_ps", "confidence", "line", "evidence", "advice")
"""Of the verb `explain`."""
FINDINGS_IN_SHORT = _FINDINGS.columns(
    _FINDINGS.column("id", "Id of the finding, for the argument finding of explain."),
    *("title", "share_percent", "confidence", "line"),
)
"""Of the verb `overview`."""
CHANGES = (
    texts("id", "Id", "The ops, programs or part of the step that changed."),
    texts("change", "Change", "How: slower, faster, added, removed, more_often, machine, single_steps, rest, ..."),
    numbers("delta_ps", "Difference", "ps", "What it adds to the compared time; the rows add up."),
    numbers("delta_percent", "Share", "%", "Share of the difference of the compared time; empty within noise."),
    numbers("base_ps", "Base", "ps", "Time per step and device in the base."),
    numbers("run_ps", "Run", "ps", "Time per step and device in the run."),
    flags("certain", "Beyond noise", "The difference exceeds how far steps and captures vary."),
    texts("ops", "Ops", "Instructions of the run, or of the base if removed, longest first."),
    texts("line", "Line", "File and line of the ops, or the function of the program."),
)
"""Of the verb `compare`."""
SHIFTS = (
    texts("id", "Id", "The series and the first run that has the shift."),
    texts("series", "Series", "Program, devices and frameworks of comparable runs."),
    texts("since", "Since", "Name of the first run that has it."),
    texts("until", "Until", "Name of the first run in which the step is back at the level before; empty if it is not."),
    texts("kind", "Kind", "step: the step takes longer or shorter; moved, places: only places do; machine: all ops."),
    numbers("before_ps", "Before", "ps", "Step before, without what all ops share; empty for the machine."),
    numbers("after_ps", "After", "ps", "The same afterwards."),
    numbers("change_percent", "Change", "%", "Difference as a share of the level before."),
    numbers("low_percent", "Low", "%", "Lower end of its interval of 95%."),
    numbers("high_percent", "High", "%", "Upper end."),
    texts("places", "Places", "Where the time went, the largest difference first."),
    texts("labels", "Labels", "Labels that differ between the runs on both sides."),
)
"""Of the verb `trend`."""
