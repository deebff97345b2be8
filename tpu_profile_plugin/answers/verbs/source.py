"""The verb `source`: which lines of the program's source take the time."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import SOURCES
from tpu_profile_plugin.analysis.findings.places import cell
from tpu_profile_plugin.answers.answer import Answer, Link, Next
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.answers.verbs.ops import BASES, next_op, next_source, page_of
from tpu_profile_plugin.run.catalogue.ops import OF_LINE, OF_LINES
from tpu_profile_plugin.run.figures.source import SourceLines
from tpu_profile_plugin.tables.table import Table


def source(
    asked: Asked,
    *,
    place: Annotated[str, "FILE or FILE:LINE; FILE may be the end of a path. Without it: all lines."] = "",
) -> Answer:
    """The lines of the program's source by the time of the ops compiled from them; of one line, its ops."""
    found = asked.run.source_lines(place)
    ops, whole = found.ops, not place
    facts: dict[str, Any] = {"lines_found": len(found.line), "ops_found": len(found.at)}
    if not whole:
        facts |= {"self_ps": int(found.self_ps.sum()), "share_percent": 100 * float(found.share.sum())}
    if found.by_stack:
        facts["found_by"] = "call stack: the place calls the lines of these ops"
    one_line = len(found.line) == 1 or found.by_stack
    table = _ops(found) if one_line else _lines(found)
    query = {"chart": "source"} | ({} if whole or found.by_stack else {"filter": cell("source_info", place)})
    if one_line:
        further = [next_op(ops, at) for at in found.at[:3].tolist()]
    else:
        further = [next_source(line) for line in found.line[:3]] + [next_op(ops, int(found.longest[0]))]
    if not whole:
        further.append(Next("source", {}, "the lines with most time, of all files"))
    return Answer(Link(page_of(ops), query), facts, table, BASES[ops.place], tuple(further))


def _lines(found: SourceLines) -> Table:
    columns = [found.line, found.self_ps, 100 * found.share, found.count, found.ops.id[found.longest]]
    return Table(OF_LINES, columns, name="lines")


def _ops(found: SourceLines) -> Table:
    ops, at = found.ops, np.sort(found.at)
    values = [ops.id, ops.self_ps, 100 * ops.share, ops.occurrences, ops.category, ops.source]
    shown = len(values) if found.by_stack else len(values) - 1  # all are from the line that was asked for
    return Table(OF_LINE[:shown], [column[at] for column in values[:shown]], name="ops")


VERB = verb(
    source,
    needs=SOURCES,
)
