"""The verb `query`: rows of a SQL statement over the tables of runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from tpu_profile_plugin.answers.answer import Answer, Link, Next, sent_id
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.errors import BadRequest, NotFound, QueryFailed, QueryRefused, QueryStopped
from tpu_profile_plugin.run.catalogue.runs import NUMBER_OF_ROW
from tpu_profile_plugin.sql import Limits
from tpu_profile_plugin.tables.table import Table

_COLUMNS = 60
_MOST_IN_ADDRESS = 6_000
_SECONDS = 60.0
_NEEDS = 'Install DuckDB and pyarrow where this runs: pip install "tpu-profile-plugin[sql]".'


def query(
    asked: Asked,
    *,
    statement: Annotated[str, "A SELECT of DuckDB over events, steps, ops and other tables of profiles."],
    runs: Annotated[str, "Only runs whose name matches this pattern, such as train/*."] = "*",
    rows: Annotated[int, "The most rows; further ones are left out, which a note tells."] = 10_000,
    seconds: Annotated[float, "The most time that the statement may take, at most 60."] = 30.0,
) -> Answer:
    """The rows of a SQL query over runs and hosts, in its order; columns `run` and `host` tell them apart.

    The statement `DESCRIBE ops` lists the columns of a table.
    """
    limits = _limits(rows, seconds)
    try:
        result = asked.logdir.sql(statement, runs, rows=limits.rows, seconds=limits.seconds)
    except (QueryFailed, QueryRefused) as error:
        raise type(error)(with_place(error), argument="statement", choices=[]) from None
    except QueryStopped as error:
        raise QueryStopped(error.message, argument="statement", choices=[]) from None
    except NotFound as error:
        names = [run.name for run in asked.logdir.runs()]
        raise NotFound(error.message, code=error.code, argument="runs", choices=names) from None
    table = _numbered(result.table)
    facts: dict[str, Any] = {"rows_found": len(table)}
    if result.notes:
        facts["notes"] = list(result.notes)
    base = {column.id: "as the statement computes it" for column in table.columns if column.unit == "%"}
    address = {"sql": statement, "ran": "1"} if len(statement) <= _MOST_IN_ADDRESS else {}
    return Answer(Link("query", {**address, "runs": runs}), facts, table, base, _further(statement))


def with_place(error: QueryFailed | QueryRefused) -> str:
    """The message, with line and column of the statement if they are known."""
    place = ", ".join(f"{name} {error.details[name]}" for name in ("line", "column") if name in error.details)
    return f"{error.message} ({place})" if place else error.message


def _limits(rows: int, seconds: float) -> Limits:
    """Raises BadRequest."""
    try:
        limits = Limits(rows, seconds)
    except BadRequest as error:
        raise BadRequest(error.message, argument=error.details["parameter"], choices=[]) from None
    if seconds > _SECONDS:
        raise BadRequest(f"seconds must be at most {_SECONDS:g}.", argument="seconds", choices=[])
    return limits


def _numbered(table: Table) -> Table:
    """The rows with their numbers as ids, under names that differ as they are sent, too."""
    if len(table.columns) > _COLUMNS:
        message = f"The rows have {len(table.columns)} columns; an answer shows at most {_COLUMNS}: select fewer."
        raise BadRequest(message, argument="statement", choices=[])
    taken = {"id"}
    columns = []
    for column in table.columns:
        id_, number = column.id, 1
        while sent_id(id_) in taken:
            number += 1
            id_ = f"{column.id} {number}"
        taken.add(sent_id(id_))
        columns.append(replace(column, id=id_))
    numbers = np.char.mod("%d", np.arange(1, len(table) + 1))
    return Table((NUMBER_OF_ROW, *columns), [numbers, *table.data], name="rows")


def _further(statement: str) -> tuple[Next, ...]:
    if "describe" in statement.casefold():
        return (Next("query", {"statement": "SHOW TABLES"}, "the tables"),)
    return (Next("query", {"statement": "DESCRIBE ops"}, "the columns of a table"),)


VERB = verb(query, needs=_NEEDS, of_run=False)
