"""Columns of texts by code."""

import csv
import io
import json

import numpy as np

from tpu_profile_plugin.tables.coded import Coded, joined, same, together
from tpu_profile_plugin.tables.datatable import datatable_json
from tpu_profile_plugin.tables.table import Table, csv_text, numbers, texts

WORDS = Coded(np.array([1, 0, -1, 1], np.int32), ("a", "b"))
COLUMNS = (texts("word", "Word", "A word."), numbers("n", "N", "", ""))
TABLE = Table(COLUMNS, [WORDS, [1, 2, 3, 4]])


def test_cells_are_texts_or_none():
    assert (WORDS.tolist(), list(WORDS), len(WORDS)) == (["b", "a", None, "b"], ["b", "a", None, "b"], 4)
    assert (WORDS[0], WORDS[2], WORDS[1:].tolist(), WORDS[np.array([3, 2])].tolist()) == (
        *("b", None),
        *(["a", None, "b"], ["b", None]),
    )
    assert np.asarray(WORDS).tolist() == ["b", "a", None, "b"]


def test_rows_are_compared_with_a_text():
    assert (WORDS == "b").tolist() == [True, False, False, True]
    assert (WORDS != "b").tolist() == [False, True, True, False]
    assert (WORDS == "x").tolist() == [False] * 4
    assert (WORDS == None).tolist() == [False, False, True, False]  # noqa: E711
    assert (Coded(np.array([0, 1, -1, 0], np.int32), ("b", "z")) == WORDS).tolist() == [True, False, True, True]


def test_equal_texts_get_one_code_and_no_letters_none():
    made = Coded.of(np.array([3, 2, 1, 0], np.uint32), ["x", "", "y", "x"])
    assert (made.codes.tolist(), made.texts) == ([0, 1, -1, 0], ("x", "y"))
    codes = np.array([1, 0], np.uint32)
    assert np.shares_memory(Coded.of(codes, ["x", "y"]).codes, codes)


def test_columns_below_each_other():
    below = joined([WORDS, same("c", 2), Coded(np.array([0, 1], np.int32), ("b", "d"))])
    assert (below.tolist(), below.texts) == (["b", "a", None, "b", "c", "c", "b", "d"], ("a", "b", "c", "d"))
    assert joined([WORDS]).texts is WORDS.texts
    (codes,), known = together([same("b", 1)], ("a", "b"))
    assert (codes.tolist(), known) == ([1], ("a", "b"))


def test_a_table_holds_them_and_encoders_know_them():
    assert TABLE["word"] is WORDS
    assert TABLE.column("word") == ["b", "a", None, "b"]
    assert next(iter(TABLE)) == {"word": "b", "n": 1}
    assert TABLE.take([2, 1]).column("word") == [None, "a"]
    assert list(csv.reader(io.StringIO(csv_text(TABLE))))[1:3] == [["b", "1.0"], ["a", "2.0"]]
    assert json.loads(datatable_json(TABLE))["rows"][2] == {"c": [{"v": None}, {"v": 3.0}]}
