"""The catalogue of columns: each once, chosen by id, computed from a figure; rows are made of nothing else."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from builders.checks.sources import PACKAGE, parsed

from tpu_profile_plugin.tables.catalogue import Catalogue
from tpu_profile_plugin.tables.column import integers, numbers, texts
from tpu_profile_plugin.tables.table import Table

THINGS = Catalogue(
    texts("name", "Name", "Name of the thing."),
    integers("runs", "Runs", "", "Number of runs."),
    numbers("mean_ps", "Mean", "ps", "Mean time of a run.", lambda thing: thing.time_ps / thing.runs),
)
COLUMNS = THINGS.typed("mean_ps", THINGS.column("name", "Which thing."), "runs")


def test_tables_choose_columns() -> None:
    assert [(column.id, column.sentence, column.dtype) for column in COLUMNS] == [
        *(("mean_ps", "Mean time of a run.", ""), ("name", "Which thing.", ""), ("runs", "Number of runs.", "int64")),
    ]
    assert [column.dtype for column in THINGS.columns(*COLUMNS)] == ["", "", ""]
    assert (THINGS.type_of("runs"), THINGS.type_of("unknown")) == ("number", "string")
    with pytest.raises(KeyError):
        THINGS.columns("unknown")
    with pytest.raises(ValueError, match="column name is declared twice"):
        Catalogue(texts("name", "Name", ""), numbers("name", "Name", "", ""))


def test_columns_are_computed_from_a_figure_or_from_what_rows_are_about() -> None:
    things = [SimpleNamespace(name="a", time_ps=6, runs=4), SimpleNamespace(name="b", time_ps=1, runs=2)]
    rows = [{"mean_ps": 1.5, "name": "a", "runs": 4}, {"mean_ps": 0.5, "name": "b", "runs": 2}]
    table = Table.of_rows(COLUMNS, things, name="things")
    assert (list(table), table.name) == (rows, "things")
    whole = SimpleNamespace(name=["a"], time_ps=table["runs"][:1], runs=table["runs"][1:])
    assert list(Table.of(COLUMNS, whole, {"name": ["given"]})) == [{"mean_ps": 2.0, "name": "given", "runs": 2}]


def test_tables_can_be_pickled() -> None:
    table = Table.of_rows(COLUMNS, [SimpleNamespace(name="a", time_ps=6, runs=4)])
    again = pickle.loads(pickle.dumps(table))
    assert (again.columns, list(again)) == (table.columns, list(table))


def _declared(room: str) -> Iterator[tuple[str, str]]:
    """Places in a room of the package where a column is declared, with its id."""
    kinds = ("Column", "texts", "numbers", "integers", "flags")
    for path in sorted((PACKAGE / room).rglob("*.py")):
        for node in ast.walk(parsed(path)):
            match node:
                case ast.Call(func=ast.Name(id=kind), args=[ast.Constant(value=id_), *_]) if kind in kinds:
                    yield f"{path.relative_to(PACKAGE)}:{node.lineno}", str(id_)


@pytest.mark.parametrize("room", ["run/relations", "run/figures", "answers", "export", "sql", "report", "agents"])
def test_relations_and_verbs_declare_no_column_of_their_own(room: str) -> None:
    assert list(_declared(room)) == []


def test_the_catalogue_declares_columns() -> None:
    assert len(list(_declared("run/catalogue"))) > 300
