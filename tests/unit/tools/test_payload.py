"""Every form of an answer becomes bytes with a type."""

import json

import numpy as np
import pytest

from tpu_profile_plugin.tables.table import Column, Table
from tpu_profile_plugin.tools.payload import Json, Raw, Records, encode, encode_object

TABLE = Table((Column("a", "A", "number"),), [[1]])


def test_forms():
    assert json.loads(encode(TABLE).body)["rows"] == [{"c": [{"v": 1.0}]}]
    assert [t["cols"][0]["id"] for t in json.loads(encode((TABLE, TABLE)).body)] == ["a", "a"]
    assert encode(()).body == b"[]"
    assert encode(Json({"é": [1, None]})) == Raw('{"é":[1,null]}'.encode())
    raw = Raw(b"\0", "application/octet-stream")
    assert encode(raw) is raw


def test_numbers_that_are_not_finite_are_null():
    value = {"a": [1.5, float("nan"), (float("inf"),)], "b": {"c": -float("inf"), "d": "x", "e": 2**70}}
    assert encode(Json(value)).body == b'{"a":[1.5,null,[null]],"b":{"c":null,"d":"x","e":%d}}' % 2**70


def test_objects_with_tables_records_and_arrays():
    records = Records(
        {
            "n": np.array([1, -(2**63)]),
            "row": np.array([[1, 2], [3, 4]]).T,
            "x": np.array([0.1, np.inf]),
            "é": ('"\n', ""),
        }
    )
    value = {"t": TABLE, "deep": {"r": records, "none": Records({"n": np.zeros(0, np.int64)})}, "plain": [1.5, None]}
    found = json.loads(
        encode_object(value | {"cube": np.arange(4).reshape(2, 1, 2), "empty": np.zeros((0, 3), np.int64)})
    )
    assert found["t"]["rows"] == [{"c": [{"v": 1.0}]}]
    assert found["deep"]["r"] == [
        {"n": 1, "row": [1, 3], "x": 0.1, "é": '"\n'},
        {"n": -(2**63), "row": [2, 4], "x": None, "é": ""},
    ]
    assert found["deep"]["none"] == []
    assert found["plain"] == [1.5, None]
    assert found["cube"] == [[[0, 1]], [[2, 3]]]
    assert found["empty"] == []


def test_members_of_records_are_of_equal_length():
    with pytest.raises(ValueError, match="columns of different length"):
        encode_object(Records({"a": np.zeros(2, np.int64), "b": ["x"]}))
