"""Tables in parts as Parquet and Arrow files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow
import pytest
from pyarrow import feather, ipc, parquet

from tpu_profile_plugin.tables import files
from tpu_profile_plugin.tables.coded import Coded
from tpu_profile_plugin.tables.files import write_arrow, write_parquet
from tpu_profile_plugin.tables.stream import TableStream
from tpu_profile_plugin.tables.table import Table, flags, integers, numbers, texts

COLUMNS = (
    texts("name", "Name", "A name."),
    integers("begin_ps", "Begin", "ps", "A time."),
    integers("count", "Count", "", ""),
    numbers("share", "Share", "%", "A share."),
    flags("good", "Good", ""),
)


def part(names: list[str | None], first: int) -> Table:
    """Rows that begin at `first`; odd ones have no count, share or flag."""
    distinct = tuple({name: None for name in names if name is not None})
    codes = np.array([-1 if name is None else distinct.index(name) for name in names], np.int32)
    begin = np.arange(first, first + len(names))
    odd = begin % 2 == 1
    even = [None if one else True for one in odd.tolist()]
    return Table(
        COLUMNS,
        [Coded(codes, distinct), begin, np.ma.MaskedArray(begin, odd), np.where(odd, np.nan, begin / 4), even],
    )


PARTS = [part(["a", "b", None], 0), part([], 3), part(["c", "b"], 3), part(["d", "a", "a", None], 2**60)]
NAMES = ["a", "b", None, "c", "b", "d", "a", "a", None]
BEGINS = [0, 1, 2, 3, 4, *range(2**60, 2**60 + 4)]
ROWS = {
    "name": NAMES,
    "begin_ps": BEGINS,
    "count": [None if begin % 2 else begin for begin in BEGINS],
    "share": [None if begin % 2 else begin / 4 for begin in BEGINS],
    "good": [None if begin % 2 else True for begin in BEGINS],
}


def stream(*parts: Table) -> TableStream:
    return TableStream(COLUMNS, lambda: iter(parts), "things")


@pytest.mark.parametrize("most", [1 << 18, 4, 1])
def test_parquet_has_the_rows_in_row_groups(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROW_GROUP", most)
    counts: list[int] = []
    assert write_parquet(stream(*PARTS), tmp_path / "x.parquet", counts.append) == 9
    assert parquet.read_table(tmp_path / "x.parquet").to_pydict() == ROWS
    file = parquet.ParquetFile(tmp_path / "x.parquet")
    groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert (sum(groups), max(groups)) == (9, min(most, 9))
    assert counts == np.cumsum(groups).tolist()
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    found = duckdb.sql(f"select name, begin_ps, count, share, good from '{tmp_path}/x.parquet'").fetchall()
    assert found == list(zip(*ROWS.values(), strict=True))


@pytest.mark.parametrize("most", [1 << 18, 4, 1])
def test_an_arrow_file_has_one_list_of_texts(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROW_GROUP", most)
    counts: list[int] = []
    assert write_arrow(stream(*PARTS), tmp_path / "x.arrow", counts.append) == 9
    assert counts[-1] == 9
    assert feather.read_table(tmp_path / "x.arrow").to_pydict() == ROWS
    with pyarrow.memory_map(str(tmp_path / "x.arrow")) as mapped:
        table = ipc.open_file(mapped).read_all()
        texts_ = {tuple(chunk.dictionary.to_pylist()) for chunk in table.column("name").chunks}
        assert texts_ == {("a", "b", "c", "d")}
        del table
    assert list(tmp_path.iterdir()) == [tmp_path / "x.arrow"]


@pytest.mark.parametrize("write", [write_parquet, write_arrow])
def test_fields_have_their_units_and_sentences(write: Any, tmp_path: Path) -> None:
    for parts in ((), PARTS):
        path = tmp_path / "x"
        assert write(stream(*parts), path) == (9 if parts else 0)
        schema = parquet.read_schema(path) if write is write_parquet else ipc.open_file(path).schema
        assert schema.names == list(ROWS)
        assert schema.field("begin_ps").type == pyarrow.int64()
        described = {b"label": b"Begin", b"unit": b"ps", b"sentence": b"A time."}
        assert described.items() <= schema.field("begin_ps").metadata.items()


def test_parquet_is_written_to_open_files_too() -> None:
    file = io.BytesIO()
    write_parquet(stream(*PARTS), file)
    file.seek(0)
    assert parquet.read_table(file).to_pydict() == ROWS
