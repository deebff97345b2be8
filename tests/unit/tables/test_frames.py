"""Tables as pandas and Arrow hold them."""

import sys

import numpy as np
import pandas
import pyarrow
import pytest

from tpu_profile_plugin.errors import MissingPackage
from tpu_profile_plugin.tables.table import Column, Table

NAME = Column("name", "Name", "string")
TIME = Column("time", "Time", "number", "ps", "How long.")
SHARE = Column("share", "Share", "number", "%")
GOOD = Column("good", "", "boolean")
TABLE = Table(
    (NAME, TIME, SHARE, GOOD), [["é", None], [2**62 + 1, 2], [0.5, None], [None, True]], {"total": "2", "bad": "\udc80"}
)


def test_a_data_frame_has_the_ids_as_names_and_units_as_attributes():
    frame = TABLE.to_pandas()
    assert list(frame.columns) == ["name", "time", "share", "good"]
    assert frame["time"].tolist() == [2**62 + 1, 2]
    assert (frame["name"][0], frame["good"][1], frame["share"].sum()) == ("é", True, 0.5)
    assert frame.isna().to_numpy().tolist() == [[False, False, False, True], [True, False, True, False]]
    assert [str(frame[name].dtype) for name in ("time", "share", "good")] == ["int64", "float64", "boolean"]
    assert frame.attrs["units"] == {"name": "", "time": "ps", "share": "%", "good": ""}
    assert frame.attrs["labels"] == {"name": "Name", "time": "Time", "share": "Share", "good": ""}


def test_an_arrow_table_has_types_nulls_and_declarations():
    table = TABLE.to_arrow()
    assert table.to_pydict() == {
        "name": ["é", None],
        "time": [2**62 + 1, 2],
        "share": [0.5, None],
        "good": [None, True],
    }
    assert table.schema.types == [pyarrow.string(), pyarrow.int64(), pyarrow.float64(), pyarrow.bool_()]
    assert table.field("time").metadata == {b"label": b"Time", b"unit": b"ps", b"sentence": b"How long."}
    assert table.schema.metadata == {b"total": b"2", b"bad": b"?"}


def test_other_libraries_read_a_table_through_the_arrow_stream():
    assert pyarrow.table(TABLE) == TABLE.to_arrow()


def test_tables_without_rows_keep_their_types():
    empty = Table((NAME, TIME, GOOD), [[], [], []])
    assert empty.to_arrow().schema.types == [pyarrow.string(), pyarrow.float64(), pyarrow.bool_()]
    assert list(empty.to_pandas().columns) == ["name", "time", "good"]


def test_widths_of_integers_are_kept():
    table = Table((TIME, SHARE), [np.array([2**64 - 1], np.uint64), np.array([1], np.uint8)])
    assert table.to_arrow().schema.types == [pyarrow.uint64(), pyarrow.uint8()]
    assert table.to_pandas()["time"][0] == 2**64 - 1


@pytest.mark.parametrize(
    ("package", "install", "method"),
    [("pandas", "pandas", Table.to_pandas), ("pyarrow", r'"tpu-profile-plugin\[sql\]"', Table.__arrow_c_stream__)],
)
def test_a_missing_package_is_named(package, install, method, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage, match=f"^{package} is not installed.*pip install {install}$"):
        method(TABLE)


def test_frames_do_not_change_the_table():
    frame = TABLE.to_pandas()
    frame.loc[0, "time"] = 7
    assert (pandas.isna(frame["share"][1]), TABLE.column("time")) == (True, [2**62 + 1, 2])
