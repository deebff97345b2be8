"""Every form of an answer becomes bytes with a type, and its tables are found by name."""

import json

import numpy as np
import pytest

from tpu_profile_plugin.errors import Problem
from tpu_profile_plugin.tables.table import Column, Table
from tpu_profile_plugin.tools.payload import (
    Json,
    Raw,
    encode,
    left_out_header,
    tables_in,
    with_left_out,
)

TABLE = Table((Column("a", "A", "number"),), [[1]])
TEXT = b'{"cols":[{"id":"a","label":"A","type":"number"}],"rows":[{"c":[{"v":1.0}]}]}'
NAMED = Table(TABLE.columns, TABLE.data, name="ops")


def test_forms():
    assert encode(TABLE).body == TEXT
    assert encode((TABLE, TABLE)).body == b"[" + TEXT + b"," + TEXT + b"]"
    assert encode(()).body == b"[]"
    assert encode(Json({"é": [1, None]})) == Raw('{"é":[1,null]}'.encode())
    assert encode(Json("\udc80")).body == b'"?"'
    raw = Raw(b"\0", "application/octet-stream")
    assert encode(raw) is raw


def test_numbers_that_are_not_finite_are_null():
    value = {"a": [1.5, float("nan"), (float("inf"),)], "b": {"c": -float("inf"), "d": "x", "e": 2**70}}
    assert encode(Json(value)).body == b'{"a":[1.5,null,[null]],"b":{"c":null,"d":"x","e":%d}}' % 2**70


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([TABLE, {}, {"t": TABLE}], b"[" + TEXT + b",{}," + b'{"t":' + TEXT + b"}]"),
        ({"x": float("nan"), "é": {"t": (TABLE,)}}, '{"x":null,"é":{"t":['.encode() + TEXT + b"]}}"),
        ({"t": TABLE, "x": [float("inf")]}, b'{"t":' + TEXT + b',"x":[null]}'),
        (np.arange(4).reshape(2, 1, 2), b"[[[0,1]],[[2,3]]]"),
        ([np.zeros((0, 3), np.int64), np.array([7], np.uint8)], b"[[],[7]]"),
        (np.array([0.5, np.nan]), b"[0.5,null]"),
    ],
)
def test_json_with_tables_records_and_arrays_at_any_depth(value, text):
    assert encode(Json(value)).body == text


def test_values_without_a_json_form_are_refused():
    with pytest.raises(TypeError, match="set is not JSON serializable"):
        encode(Json({"t": TABLE, "x": [{1}]}))


@pytest.mark.parametrize(
    ("payload", "names"),
    [
        (TABLE, [""]),
        (NAMED, ["ops"]),
        ((TABLE, NAMED), ["0", "ops"]),
        (
            Json({"x": 1, "steps": NAMED, "more": {"average": TABLE}, "parts": [None, TABLE]}),
            ["steps", "more.average", "parts.1"],
        ),
        (Json([TABLE, {}, {"steps": TABLE, "none": None}]), ["0", "2.steps"]),
        (Json({"cols": []}), []),
        (Raw(b"[]"), []),
    ],
)
def test_tables_are_found_by_name(payload, names):
    assert list(tables_in(payload)) == names
    assert set(tables_in(payload).values()) <= {TABLE, NAMED}


HOST = Problem("corrupt_profile", "Torn.", "b.xplane.pb", 7, host="b")
DESCRIBED = {"host": "b", "file": "b.xplane.pb", "code": "corrupt_profile", "message": "Torn.", "offset": 7}


def test_left_out_hosts_are_a_property_of_the_first_table_or_a_member():
    property_ = {"left_out": json.dumps([DESCRIBED])}
    for payload in (TABLE, (TABLE, NAMED), Json([TABLE, {}])):
        first, *others = tables_in(with_left_out(payload, [HOST])).values()
        assert first.properties == property_
        assert all(table.properties == {} for table in others)
    assert TABLE.properties == {}
    assert with_left_out(Json({"a": 1}), [HOST]) == Json({"a": 1, "left_out": [DESCRIBED]})


@pytest.mark.parametrize("payload", [Raw(b"{}"), Json([1]), Json("x"), ()])
def test_other_payloads_do_not_name_left_out_hosts(payload):
    assert with_left_out(payload, [HOST]) is payload


def test_the_header_names_twenty_hosts_and_counts_all():
    name, value = left_out_header([HOST] * 30)
    assert name == "X-Profile-Left-Out"
    assert json.loads(value) == {"count": 30, "hosts": [DESCRIBED] * 20}
