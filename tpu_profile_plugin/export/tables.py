"""The tables of a run as files, one per table: Parquet and Arrow."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.export.write import Form, Options, Report
from tpu_profile_plugin.run.relations import RELATIONS
from tpu_profile_plugin.run.relations.relation import Relation
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.files import write_arrow, write_parquet
from tpu_profile_plugin.tables.stream import TableStream

Writer = Callable[[TableStream, Path, Callable[[int], None]], int]


def chosen(names: tuple[str, ...]) -> tuple[Relation, ...]:
    """The tables with these names, each once, in the order of the documentation; without names all of them.

    Raises BadRequest for other names.
    """
    known = [relation.name for relation in RELATIONS]
    for name in names:
        if name not in known:
            like = difflib.get_close_matches(name, known, 1)
            hint = f" (did you mean {like[0]}?)" if like else ""
            message = f"There is no table {name[:80]!r}{hint}; there are {', '.join(known)}."
            raise BadRequest(message, parameter="tables")
    return tuple(relation for relation in RELATIONS if not names or relation.name in names)


def _write(suffix: str, write: Writer, run: Run, directory: Path, options: Options, report: Report) -> None:
    for relation in chosen(options.tables):
        report(relation.name)
        write(relation.of(run), directory / f"{relation.name}{suffix}", partial(_count, report, relation.name))


def _count(report: Report, name: str, rows: int) -> None:
    report(f"{name}, {rows:,} rows")


def _form(name: str, summary: str, write: Writer) -> Form:
    return Form(name, summary, directory=True, takes=("tables",), write=partial(_write, f".{name}", write))


PARQUET = _form("parquet", "a compressed file per table", write_parquet)
ARROW = _form("arrow", "an Arrow file (Feather) per table, to be mapped into memory", write_arrow)
