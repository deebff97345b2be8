"""Table declarations: DataTable JSON, CSV, readable numbers."""

import json

import numpy as np
import pytest

from tpu_profile_plugin.tables.table import Column, Table, bytes_text, csv_of, markdown_of, property_text, table_in

NAME = Column("name", "Name", "string")
COUNT = Column("count", "Count", "number", "", "How often.")
SIZE = Column("size", "Size", "number", "bytes", format="bytes")
ADDRESS = Column("addr", "Address", "number", format="hex")
GOOD = Column("good", "", "boolean")


def test_numbers_are_doubles_and_bytes_carry_a_readable_form():
    table = Table((NAME, COUNT, SIZE, ADDRESS, GOOD), [["a"], [400], [1536], [255], [True]], {"total": "400"})
    assert table.to_json().decode() == (
        '{"cols":[{"id":"name","label":"Name","type":"string"},'
        '{"id":"count","label":"Count","type":"number","help":"How often."},'
        '{"id":"size","label":"Size","type":"number","unit":"bytes"},'
        '{"id":"addr","label":"Address","type":"number"},'
        '{"id":"good","label":"","type":"boolean"}],'
        '"rows":[{"c":[{"v":"a"},{"v":400.0},{"v":1536.0,"f":"1.5KiB"},{"v":255.0,"f":"0xff"},{"v":true}]}],'
        '"p":{"total":"400"}}'
    )


def test_arrays_are_taken_as_columns():
    table = Table((COUNT, GOOD), [np.array([1, 2], dtype=np.uint32), np.array([True, False])])
    assert json.loads(table.to_json())["rows"] == [{"c": [{"v": 1.0}, {"v": True}]}, {"c": [{"v": 2.0}, {"v": False}]}]
    assert len(table) == 2


def test_missing_and_infinite_values_are_null():
    table = Table((COUNT, NAME, SIZE), [[None, float("nan"), float("inf")], [None, "x", 3], [None, 0, 1]])
    rows = json.loads(table.to_json())["rows"]
    assert [[c["v"] for c in row["c"]] for row in rows] == [[None, None, None], [None, "x", 0.0], [None, "3", 1.0]]


def test_lone_surrogates_do_not_break_the_answer():
    assert json.loads(Table((NAME,), [["a\udc80"]]).to_json())["rows"] == [{"c": [{"v": "a?"}]}]


def test_row_properties():
    table = Table((COUNT,), [[1, 2]], row_properties=[{}, {"k": "v"}])
    assert json.loads(table.to_json())["rows"] == [{"c": [{"v": 1.0}]}, {"c": [{"v": 2.0}], "p": {"k": "v"}}]


def test_empty_table():
    assert json.loads(Table((COUNT,), [[]]).to_json())["rows"] == []
    assert Table.from_rows((COUNT, NAME), []).to_csv() == '"Count","Name"\n'


@pytest.mark.parametrize("data", [[[1]], [[1], [1, 2]], []])
def test_columns_and_data_must_fit(data):
    with pytest.raises(ValueError, match="columns"):
        Table((COUNT, NAME), data)


def test_csv_quotes_all_uses_labels_and_leaves_null_empty():
    table = Table.from_rows((NAME, COUNT, GOOD), [('say "hi", you', 400, True), (None, None, None)])
    assert table.to_csv() == '"Name","Count","good"\n"say ""hi"", you","400.0","True"\n"","",""\n'


def test_csv_of_null_cells():
    assert csv_of({"cols": [{"id": "a"}], "rows": [{"c": [None]}, {"c": [{"v": 0.0}]}]}) == '"a"\n""\n"0.0"\n'


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0B"),
        (17, "17B"),
        (1023, "1023B"),
        (1024, "1.0KiB"),
        (1536, "1.5KiB"),
        (1 << 20, "1.00MiB"),
        (int(2.25 * (1 << 20)), "2.25MiB"),
        (3 << 30, "3.00GiB"),
        (1 << 60, "1024.00PiB"),
        (-2048, "-2.0KiB"),
    ],
)
def test_bytes_text(count, text):
    assert bytes_text(count) == text


@pytest.mark.parametrize(("value", "text"), [(1525.5, "1525.5"), (2516584.2, "2.51658e+06"), (0, "0"), (100.0, "100")])
def test_property_text(value, text):
    assert property_text(value) == text


def test_documentation_reads_the_declarations():
    assert markdown_of((COUNT,)) == (
        "| Column | Type | Unit | Meaning |\n|---|---|---|---|\n| Count (`count`) | number |  | How often. |\n"
    )


def test_the_csv_of_an_object_is_that_of_its_first_table():
    table = {"cols": [{"id": "a"}], "rows": []}
    assert table_in(table) is table
    assert table_in({"steps": [], "average": table, "other": {"cols": []}}) is table
    assert (table_in({"steps": []}), table_in([table]), table_in(None)) == (None, None, None)
