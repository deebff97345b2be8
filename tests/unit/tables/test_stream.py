"""Tables in parts, and what Arrow, pandas and files make of them."""

import io
import sys

import duckdb
import numpy as np
import pyarrow
import pytest

from tpu_profile_plugin.errors import MissingPackage
from tpu_profile_plugin.tables.coded import Coded, same
from tpu_profile_plugin.tables.stream import TableStream
from tpu_profile_plugin.tables.table import Table, flags, integers, numbers, texts

COLUMNS = (
    texts("name", "Name", "A name."),
    integers("time_ps", "Time", "ps", "A time."),
    numbers("share", "Share", "%", ""),
    flags("good", "Good", ""),
)
ONE = Table(
    COLUMNS,
    {
        "name": Coded(np.array([0, 1, -1], np.int32), ("a", "b")),
        "time_ps": [1, None, 2**62 + 1],
        "share": [1, 2, 3],
        "good": [True, None, False],
    },
)
TWO = Table(COLUMNS, {"name": ["c", "b"], "time_ps": [4, 5], "share": [0.5, None], "good": [True, True]})
ROWS = {
    "name": ["a", "b", None, "c", "b"],
    "time_ps": [1, None, 2**62 + 1, 4, 5],
    "share": [1.0, 2.0, 3.0, 0.5, None],
    "good": [True, None, False, True, True],
}


class Parts:
    """A stream of two parts that counts how many were made."""

    def __init__(self, *parts):
        self.parts, self.made = parts, 0
        self.stream = TableStream(COLUMNS, self.make, "things")

    def make(self):
        """The parts."""
        for part in self.parts:
            self.made += 1
            yield part


def test_all_parts_are_one_table_which_is_kept():
    parts = Parts(ONE, TWO)
    stream = parts.stream
    assert parts.made == 0
    assert {id_: stream.read().column(id_) for id_ in ROWS} == ROWS
    assert (len(stream), stream["time_ps"].dtype, stream["name"].texts) == (5, np.int64, ("a", "b", "c"))
    assert list(stream)[3] == {"name": "c", "time_ps": 4, "share": 0.5, "good": True}
    assert parts.made == 2
    with pytest.raises(KeyError):
        stream["x"]


def test_a_column_needs_no_other_and_the_parts_are_made_once():
    parts = Parts(ONE, TWO)
    stream = parts.stream
    assert stream["time_ps"].tolist() == ROWS["time_ps"]
    assert (len(stream), stream["name"].tolist(), stream["name"] is stream["name"]) == (5, ROWS["name"], True)
    assert stream.to_arrow().to_pydict() == {id_: stream.read().column(id_) for id_ in ROWS} == ROWS
    assert (len(stream), parts.made, stream["time_ps"].flags.writeable) == (5, 2, False)


def test_one_value_for_all_rows_takes_no_memory():
    same_, none = same("x", 10**6), np.ma.MaskedArray(np.broadcast_to(0, 10**6), np.broadcast_to(True, 10**6))
    nan = np.broadcast_to(np.nan, 10**6)
    part = Table(COLUMNS[:3], [same_, none, nan])
    stream = TableStream(COLUMNS[:3], lambda: iter([part, part]))
    assert [np.ma.getdata(stream[id_]).strides for id_ in ("time_ps", "share")] == [(0,), (0,)]
    assert stream["name"].codes.strides == (0,)
    assert (stream["name"].tolist()[-1], stream.read().column("time_ps")[:1], len(stream)) == ("x", [None], 2 * 10**6)
    for table in (stream.to_arrow(), pyarrow.table(TableStream(COLUMNS[:3], lambda: iter([part])))):
        assert table.slice(7, 1).to_pylist() == [{"name": "x", "time_ps": None, "share": None}]
    other = Table(COLUMNS[:3], [same("y", 2), none[:2], nan[:2]])
    assert TableStream(COLUMNS[:3], lambda: iter([part, other]))["name"].tolist()[-3:] == ["x", "y", "y"]


def test_arrow_has_types_nulls_units_and_a_chunk_per_part():
    table = Parts(ONE, TWO).stream.to_arrow()
    word = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    assert table.schema.types == [word, pyarrow.int64(), pyarrow.float64(), pyarrow.bool_()]
    assert table.to_pydict() == ROWS
    assert table.field("time_ps").metadata == {b"label": b"Time", b"unit": b"ps", b"sentence": b"A time."}
    assert (table.schema.metadata, table.column("name").num_chunks) == ({b"table": b"things"}, 2)
    # Arrow's own functions do not work on parts with different dictionaries.
    assert {chunk.dictionary.to_pylist() == ["a", "b", "c"] for chunk in table.column("name").chunks} == {True}
    sums = table.group_by("name").aggregate([("share", "sum")]).to_pydict()
    assert dict(zip(sums["name"], sums["share_sum"], strict=True)) == {"a": 1.0, "b": 2.0, None: 3.0, "c": 0.5}


def test_a_part_is_made_when_it_is_read():
    parts = Parts(ONE, TWO)
    reader = parts.stream.reader()
    assert parts.made == 0
    assert reader.read_next_batch().num_rows == 3
    assert parts.made == 1


def test_arrow_shares_the_memory_of_numbers_and_codes():
    codes, times = np.zeros(1000, np.int32), np.arange(1000)
    plain = Table(COLUMNS[:2], [Coded(codes, ("a",)), times])
    batch = next(TableStream(COLUMNS[:2], lambda: iter([plain])).reader())
    assert batch.column(0).indices.buffers()[1].address == codes.ctypes.data
    assert batch.column(1).buffers()[1].address == times.ctypes.data
    masked = np.ma.MaskedArray(times, times > 500)
    batch = next(TableStream(COLUMNS[1:2], lambda: iter([Table(COLUMNS[1:2], [masked])])).reader())
    assert (batch.column(0).null_count, batch.column(0).buffers()[1].address) == (499, times.ctypes.data)


def test_pandas_has_categories_and_missing_values():
    frame = Parts(ONE, TWO).stream.to_pandas()
    assert [str(kind) for kind in frame.dtypes] == ["category", "Int64", "float64", "boolean"]
    assert frame.attrs["units"]["time_ps"] == "ps"
    assert frame["time_ps"].tolist()[2:] == [2**62 + 1, 4, 5]
    assert frame.isna().sum().tolist() == [1, 1, 1, 1]
    assert frame.groupby("name", observed=True)["share"].sum().to_dict() == {"a": 1.0, "b": 2.0, "c": 0.5}


def test_other_programs_read_the_stream():
    stream = Parts(ONE, TWO).stream
    assert pyarrow.table(stream).to_pydict() == ROWS
    connection = duckdb.connect()
    connection.register("things", pyarrow.RecordBatchReader.from_stream(stream))
    found = connection.sql("select name, count(*), sum(time_ps) from things group by name order by name nulls last")
    assert found.fetchall() == [("a", 1, 1), ("b", 2, 5), ("c", 1, 4), (None, 1, 2**62 + 1)]


def test_a_file_of_arrow_holds_growing_dictionaries():
    third = Table(COLUMNS, [same("b", 1), [6], [0.0], [False]])
    file = io.BytesIO()
    reader = Parts(ONE, TWO, third).stream.reader(growing=True)
    options = pyarrow.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    with pyarrow.ipc.new_file(file, reader.schema, options=options) as writer:
        for batch in reader:
            writer.write_batch(batch)
    read = pyarrow.ipc.open_file(pyarrow.py_buffer(file.getvalue())).read_all()
    assert read.column("name").to_pylist() == [*ROWS["name"], "b"]


def test_equal_texts_and_lone_surrogates_are_mended_for_arrow():
    odd = Table(COLUMNS[:1], [Coded(np.array([0, 1, 2], np.int32), ("a", "a", "\udc80"))])
    found = odd.to_arrow().column("name").combine_chunks()
    assert (found.to_pylist(), found.dictionary.to_pylist()) == (["a", "a", "?"], ["a", "?"])


def test_no_parts_are_an_empty_table():
    stream = Parts().stream
    assert [len(stream[id_]) for id_ in ROWS] == [0, 0, 0, 0]
    assert stream.to_arrow().num_rows == 0
    assert stream.to_arrow().schema == Parts(ONE).stream.to_arrow().schema
    assert (stream["time_ps"].dtype, stream.to_pandas()["time_ps"].dtype) == (np.int64, np.int64)


def test_without_pyarrow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackage, match=r'pip install "tpu-profile-plugin\[sql\]"'):
        Parts(ONE).stream.to_arrow()


def test_whole_numbers_are_not_fractions_and_texts_no_numbers():
    with pytest.raises(ValueError, match="time_ps, which holds int64"):
        Table(COLUMNS[1:2], [np.array([0.5])])
    with pytest.raises(ValueError, match="texts for time_ps"):
        Table(COLUMNS[1:2], [same("a", 1)])


def test_notebooks_show_the_first_rows_escaped():
    table = Table(COLUMNS[:2], [["<b>", "x" * 200, *"abcdefghijklmnopqrst"], [None, *range(21)]])
    html = table._repr_html_()
    assert '<th title="A time.">time_ps (ps)</th>' in html
    assert '<tr><td style="text-align:left">&lt;b&gt;</td><td></td></tr>' in html
    assert f"{'x' * 119}…</td><td>0</td>" in html
    assert html.endswith("<p>The first 20; 22 rows.</p>")
    parts = Parts(ONE, TWO)
    assert parts.stream._repr_html_().endswith("<p>The first 3; more rows may follow.</p>")
    assert parts.made == 1
    assert "<p>" not in ONE._repr_html_()
