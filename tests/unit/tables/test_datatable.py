"""Tables as DataTable JSON."""

import json

import numpy as np

from tpu_profile_plugin.tables.datatable import datatable_json
from tpu_profile_plugin.tables.table import Column, Table

NAME = Column("name", "Name", "string")
COUNT = Column("count", "Count", "number", "", "How often.")
TIME = Column("time", "Time", "number", "ps")
ADDRESS = Column("addr", "Address", "number")
SIZE = Column("size", "Size", "number", "bytes")
LINK = Column("link", "Link", "string")
GOOD = Column("good", "", "boolean", role="tooltip")


def rows(table: Table) -> str:
    """The text of the rows."""
    return datatable_json(table).decode().partition('"rows":')[2]


def test_declarations_values_and_properties():
    columns = (NAME, COUNT, TIME, ADDRESS, SIZE, LINK, GOOD)
    data = [['a"é'], [400], [0.1], np.array([2**63 + 1], np.uint64), [22938], ["1"], [True]]
    formatted = {"addr": ["0x8000000000000001"], "size": ["22.4K"], "link": ['"\udc80']}
    table = Table(columns, data, {"total": "400"}, formatted=formatted)
    assert datatable_json(table).decode() == (
        '{"cols":[{"id":"name","label":"Name","type":"string"},'
        '{"id":"count","label":"Count","type":"number","help":"How often."},'
        '{"id":"time","label":"Time","type":"number","unit":"ps"},'
        '{"id":"addr","label":"Address","type":"number"},'
        '{"id":"size","label":"Size","type":"number","unit":"bytes"},'
        '{"id":"link","label":"Link","type":"string"},'
        '{"id":"good","label":"","type":"boolean","p":{"role":"tooltip"}}],'
        '"rows":[{"c":[{"v":"a\\"é"},{"v":400.0},{"v":0.1},{"v":9.223372036854776e+18,"f":"0x8000000000000001"},'
        '{"v":22938.0,"f":"22.4K"},{"v":"1","f":"\\"?"},{"v":true}]}],'
        '"p":{"total":"400"}}'
    )


def test_empty_cells_are_null():
    table = Table((NAME, COUNT, GOOD), [[None, "x"], [None, float("inf")], [None, False]])
    assert rows(table) == '[{"c":[{"v":null},{"v":null},{"v":null}]},{"c":[{"v":"x"},{"v":null},{"v":false}]}]}'


def test_lone_surrogates_do_not_break_the_answer():
    assert rows(Table((NAME,), [["a\udc80"]], {"k": "\udc80"})) == '[{"c":[{"v":"a?"}]}],"p":{"k":"?"}}'


def test_tables_without_rows_or_columns():
    assert rows(Table((COUNT,), [[]])) == "[]}"
    assert datatable_json(Table((), ())) == b'{"cols":[],"rows":[]}'


def test_rows_of_several_blocks_are_one_list():
    count = 10_000
    table = Table((TIME, SIZE), [np.arange(count)] * 2, formatted={"size": [f"{i}B" for i in range(count)]})
    assert json.loads(datatable_json(table))["rows"] == [
        {"c": [{"v": float(i)}, {"v": float(i), "f": f"{i}B"}]} for i in range(count)
    ]
