"""Files over 4 GiB: nothing counts their bytes in 32 bits. The files are sparse: 5 GiB that take no space."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.damage.wire import text, varint
from builders.logdirs import SMALL, settle
from builders.records import BLOCK, BLOCK_HEADER, CHUNK_HEADER, RecordFile, appended, header
from builders.servers.board import Board
from builders.xspace_text import build

import tpu_profile_plugin
from tpu_profile_plugin.columns import peek

GAP = 5 << 30
MODULES = build(
    """
plane 3 "/host:metadata"
  metadata "jit_step(14)" id=14 {"Hlo Proto"=0x0a00}
"""
)
_UNKNOWN = 15
"""A field that neither XSpace nor XPlane has; readers skip it."""


def write(path: Path, parts: list[bytes | int]) -> Path:
    """A file of bytes, and of zeros that are not stored."""
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        for part in parts:
            if isinstance(part, bytes):
                file.write(part)
            else:
                file.truncate(file.tell() + part)
                file.seek(part, 1)
    if path.stat().st_blocks * 512 > 1 << 20:
        path.unlink()
        pytest.skip("this filesystem stores the zeros of sparse files")
    settle(path.parent)
    return path


def gap(size: int = GAP) -> list[bytes | int]:
    """An unknown field of zeros."""
    return [text(_UNKNOWN, b"")[:1] + varint(size), size]


def moved(space: bytes) -> list[bytes | int]:
    """Both planes; in the first one the gap lies before all other fields, so that the plane is over 4 GiB."""
    length, at = 0, 1
    for shift in range(0, 70, 7):
        length |= (space[at] & 127) << shift
        at += 1
        if space[at - 1] < 128:
            break
    head, size = gap()
    assert isinstance(head, bytes)
    return [space[:1] + varint(length + len(head) + GAP) + head, size, space[at:]]


@pytest.fixture
def board(tmp_path):
    small = build(SMALL)
    profiles = {"small": [small, MODULES], "between": [*gap(), small, MODULES], "inside": [*moved(small), MODULES]}
    for name, parts in profiles.items():
        write(tmp_path / "logs/plugins/profile" / name / "h.xplane.pb", parts)
    return Board(tmp_path / "logs", tmp_path / "home")


@pytest.mark.parametrize("run", ["between", "inside"])
def test_tools_answer_as_of_a_small_file(board, run):
    info = {name: board.json("run_info", run=name) for name in ("small", run)}
    assert info[run]["hosts"][0]["bytes"] > 1 << 32
    assert info[run]["problems"] == []
    assert board.json("run_tools", run=run) == board.json("run_tools", run="small")
    assert board.get("module_list", run=run).text == "jit_step(14)"
    for tool in board.json("run_tools", run="small", own="true"):
        small, large = (board.get("data", run=name, tag=tool, host="h") for name in ("small", run))
        expected = small.text.replace('"small"', f'"{run}"')
        if tool == "what_if" and run == "inside":  # a host of so many bytes is replayed only when asked
            expected = expected.replace('"large":false', '"large":true')
        if tool != "profile_contents":  # has the sizes of planes
            assert (large.status_code, large.text) == (small.status_code, expected), tool


def test_sizes_are_exact(board, tmp_path):
    path = tmp_path / "logs/plugins/profile/inside/h.xplane.pb"
    run = tpu_profile_plugin.open(path).run()
    assert run.size == path.stat().st_size > GAP
    with path.open("rb") as file:
        import mmap

        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        sizes = [plane.bytes for plane in peek(data).planes]
    assert GAP < sizes[0] < GAP + 1000 > sizes[1] * 2


def test_a_plane_cut_behind_four_gigabytes_is_reported_at_its_byte(tmp_path):
    small = build(SMALL)
    path = write(tmp_path / "logs/plugins/profile/cut/h.xplane.pb", [*gap(), small[:-7]])
    board = Board(tmp_path / "logs", tmp_path / "home")
    status, code, _, details = board.refused("data", run="cut", tag="overview_page")
    assert (status, code) == (422, "corrupt_profile")
    assert GAP < details["offset"] < path.stat().st_size


def test_record_files_beyond_four_gigabytes(tmp_path):
    """Between two parts lies a chunk of padding that ends with a block, behind 5 GiB."""
    one, other = (build(f"plane {part}") for part in SMALL.split("plane ")[1:])
    file = RecordFile()
    file.records([one])
    begin, blocks = len(file.data), GAP // BLOCK
    size = GAP - begin - CHUNK_HEADER - (blocks - 1) * BLOCK_HEADER
    file.data += header("p", 0, 0, b"", size)
    parts = [bytes(file.data), GAP - len(file.data), appended([other])]
    write(tmp_path / "logs/plugins/profile/large/h.xplane.riegeli", parts)
    write(tmp_path / "logs/plugins/profile/small/h.xplane.pb", [build(SMALL)])
    board = Board(tmp_path / "logs", tmp_path / "home")
    assert board.json("run_info", run="large")["problems"] == []
    for tool in ("overview_page", "trace_viewer@"):
        small, large = (board.get("data", run=name, tag=tool, host="h") for name in ("small", "large"))
        assert (large.status_code, large.text) == (200, small.text)
