"""Tables: columns as arrays, access by id, rows for display."""

import numpy as np
import pytest

from tpu_profile_plugin.tables.datatable import datatable_json
from tpu_profile_plugin.tables.table import Column, Table, csv_text, integers, property_text

NAME = Column("name", "Name", "string")
TIME = Column("time", "Time", "number", "ps", "How long.")
GOOD = Column("good", "", "boolean")


def test_whole_numbers_stay_exact_and_others_are_doubles():
    table = Table((TIME, TIME, TIME), [[1, 2**62 + 1], np.array([1, 2], np.uint32), np.array([1, 2], np.float32)])
    assert [values.dtype for values in table.data] == [np.int64, np.uint32, np.float64]
    assert table.column("time") == [1, 2**62 + 1]


@pytest.mark.parametrize("values", [[1, None, 2.5], [1, float("inf"), 2.5], np.array([1, -np.inf, 2.5])])
def test_an_empty_number_is_nan_in_the_array_and_none_in_rows(values):
    table = Table((TIME,), [values])
    np.testing.assert_array_equal(table["time"], [1, np.nan, 2.5])
    assert table.column("time") == [1, None, 2.5]


def test_texts_and_flags():
    table = Table((NAME, GOOD, GOOD), [["é", None, 3], [True, None, 0], np.array([True, True, False])])
    assert table["name"].tolist() == ["é", None, "3"]
    assert table["good"].tolist() == [True, None, False]
    assert table.data[2].dtype == bool


def test_lone_surrogates_become_question_marks():
    assert Table((NAME,), [["a\udc80", None, "é"]]).column("name") == ["a?", None, "é"]


def test_arrays_are_shared_and_read_only():
    values = np.array([1, 2])
    table = Table((TIME,), [values])
    assert np.shares_memory(table["time"], values)
    with pytest.raises(ValueError, match="read-only"):
        table["time"][0] = 5
    values[0] = 5


def test_rows_ids_labels_and_units():
    table = Table((NAME, TIME), [["a", "b"], [7, None]], name="ops")
    assert list(table) == [{"name": "a", "time": 7.0}, {"name": "b", "time": None}]
    assert (table.ids, table.labels, table.units) == (["name", "time"], ["Name", "Time"], ["", "ps"])
    assert repr(table) == "<Table 'ops', 2 rows: name, time>"


def test_rows_of_several_blocks_keep_their_order():
    table = Table((TIME,), [np.arange(9000)])
    assert [row["time"] for row in table.rows()] == list(range(9000))


def test_unknown_columns_raise_key_error():
    with pytest.raises(KeyError, match="nope"):
        Table((TIME,), [[1]])["nope"]
    with pytest.raises(KeyError, match="nope"):
        Table((TIME,), [[1]]).column("nope")


def test_further_properties_share_the_data():
    table = Table((TIME,), [[1.0]], {"a": "1"}, "t", {"time": ["1 ps"]})
    more = table.with_properties({"b": "2"})
    assert (table.properties, more.properties) == ({"a": "1"}, {"a": "1", "b": "2"})
    assert (more.data is table.data, more.name, more.formatted) == (True, "t", {"time": ["1 ps"]})


def test_rows_are_taken_in_the_given_order():
    table = Table((TIME, NAME), [[1, 2, 3], ["a", "b", "c"]], {"p": "1"}, "t", {"time": ["1 ps", "2 ps", "3 ps"]})
    taken = table.take([2, 0])
    assert [list(values) for values in taken.data] == [[3, 1], ["c", "a"]]
    assert (taken.properties, taken.name, taken.formatted) == ({"p": "1"}, "t", {"time": ["3 ps", "1 ps"]})
    assert len(table.take([])) == 0


def test_data_by_id_is_put_into_the_order_of_the_columns():
    table = Table((NAME, TIME), {"time": [1], "name": ["a"]})
    assert [list(values) for values in table.data] == [["a"], [1]]


@pytest.mark.parametrize("data", [{"name": ["a"]}, {"name": ["a"], "time": [1], "more": [1]}])
def test_data_by_id_is_complete(data):
    with pytest.raises(ValueError, match="columns name, time, but data for name"):
        Table((NAME, TIME), data)


@pytest.mark.parametrize("data", [[[1]], [[1], [1, 2]], []])
def test_columns_and_data_must_fit(data):
    with pytest.raises(ValueError, match="columns"):
        Table((TIME, NAME), data)


@pytest.mark.parametrize(("value", "text"), [(1525.5, "1525.5"), (2516584.2, "2.51658e+06"), (0, "0"), (100.0, "100")])
def test_property_text(value, text):
    assert property_text(value) == text


def test_absent_integers_are_masked_and_empty_in_every_form():
    table = Table((integers("a", "A", "ps", ""),), [[1, None, 2**60]])
    assert (table["a"].dtype, table["a"].mask.tolist()) == (np.int64, [False, True, False])
    assert table.column("a") == [1, None, 2**60]
    assert table.take([2, 1]).column("a") == [2**60, None]
    assert csv_text(table) == '"A"\n"1.0"\n""\n"1.152921504606847e+18"\n'
    assert b'[{"v":1.0}]},{"c":[{"v":null}]' in datatable_json(table)
    assert type(Table(table.columns, [[1, 2, 3]])["a"]) is np.ndarray
