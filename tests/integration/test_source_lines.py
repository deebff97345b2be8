"""On every sample: time by line adds up to the op tables, memory by line and by kind to the heap at every instant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from builders.recorded import chosen, opened
from builders.servers.board import Board

from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.figures.memory import history_of, host_allocations, host_memory_at_peak
from tpu_profile_plugin.run.figures.memory_over_time import host_memory_over_time
from tpu_profile_plugin.run.figures.programs import programs_of
from tpu_profile_plugin.run.figures.recorded_memory import host_recorded_memory

ROOT = Path(__file__).parents[2]
LOGDIRS = [ROOT / "demo", ROOT.parent / "shared/traces/logdir"]
RUNS = [
    pytest.param(path, id=str(path.relative_to(logdir)).replace("/plugins/profile", ""))
    for logdir in LOGDIRS
    for path in sorted(logdir.glob("**/plugins/profile/*"))
    if chosen(path)
]
LOCATED = ("jax_mlp", "jax_scan", "jax_scan_conv", "train_prefetched", "train_slow_input", "tpu_v6e4_inference")
"""Programs of JAX whose ops carry locations."""
SMALL = 4096
"""Programs of fewer bytes, such as that of a key for random numbers, are mostly tables of pointers."""


@pytest.mark.parametrize("path", RUNS)
def test_time_by_line_is_that_of_the_op_tables(path: Path) -> None:
    run = opened(path).run()
    try:
        found = run.source_profile()
    except NoData:
        with pytest.raises(NoData):
            run.ops()
        return
    assert found.lines.self_ps.sum() == run.ops().self_ps[run.ops().occurrences > 0].sum()
    assert [line for line in found.lines.line[:-1] if line[0] == ""] == []  # what has no location is one row, the last


@pytest.mark.parametrize("path", RUNS)
def test_memory_by_line_and_kind_is_the_heap_of_the_memory_viewer(path: Path) -> None:
    for host in opened(path).run().readable:
        for number in programs_of(host).modules:
            history = history_of(host, number)
            layout = history.layout
            temporary = np.zeros(1, np.int64) if layout.replay is None else layout.replay.heap
            assert np.array_equal(history.heap, temporary + layout.indefinite_bytes)
            assert history.heap.max() == layout.peak_bytes
            kinds = np.unique(np.array(history.categories, object), return_inverse=True)[1]
            assert np.array_equal(history.series(kinds, kinds.max(initial=0) + 1).sum(axis=0), history.heap)


@pytest.mark.parametrize("path", RUNS)
def test_what_the_page_stacks_adds_up_at_every_instant(path: Path) -> None:
    for host in opened(path).run().readable:
        for number in programs_of(host).modules:
            found = host_memory_over_time(host, number, -1, (), ())
            assert np.array_equal(np.sum([*found.categories.values()], axis=0), found.heap) or not found.heap.any()
            assert (
                np.array_equal(np.sum([sizes for _, sizes in found.lines], axis=0), found.heap) or not found.heap.any()
            )
            assert found.heap.max() == found.peak_bytes == found.live_bytes
            assert (
                max((fixed + scaled for fixed, scaled, above in found.corners if above < 1), default=0)
                == found.peak_bytes
            )


@pytest.mark.parametrize("path", RUNS)
def test_what_allocators_hold_adds_up_at_every_instant(path: Path) -> None:
    for host in opened(path).run().readable:
        recorded, _ = host_allocations(host, since_recording=True)
        for name, rows in (recorded.by_memory() if recorded else {}).items():
            found = host_recorded_memory(host, name, -1)
            for by in ("region", "op", "step"):
                assert np.array_equal(np.sum([*found.stacks[by].values()], axis=0), found.heap) or not found.heap.any()
            assert found.heap.max() >= rows.in_use.max()
            assert found.live_bytes + found.rest_bytes == found.heap.max()


@pytest.mark.parametrize("path", RUNS)
def test_the_bytes_at_the_peak_of_every_program_have_lines(path: Path) -> None:
    for host in opened(path).run().readable if path.parents[2].name in LOCATED else ():
        for number in programs_of(host).modules:
            found = host_memory_at_peak(host, number)
            has = [bool(one.stack or (one.category == "parameter" and one.framework_op)) for one in found.buffers]
            program = programs_of(host).program(number)
            assert program is not None
            if any(program.source_files) or program.frames:
                assert found.size[has].sum() >= 0.95 * found.peak_bytes or found.peak_bytes < SMALL, found.program


@pytest.mark.parametrize("path", RUNS)
def test_the_bytes_at_the_peak_have_lines(path: Path) -> None:
    try:
        found = opened(path).run().source_profile()
    except NoData:
        return
    if found.memory is None:
        return
    assert found.lines.peak_bytes.sum() == found.memory.size.sum() == found.memory.peak_bytes
    known = sum(size for one, size in zip(found.memory.buffers, found.memory.size.tolist(), strict=True)
                if one.stack or (one.category == "parameter" and one.framework_op))  # fmt: skip
    if path.parents[2].name in LOCATED:
        assert known >= 0.95 * found.memory.peak_bytes


class TestText:
    """The route for the text of a file."""

    @pytest.fixture
    def board(self, tmp_path: Path) -> Board:
        (tmp_path / "src").mkdir()
        (tmp_path / "src/train_images.py").write_text("import jax\n")
        (tmp_path / "secret.py").write_text("no\n")
        return Board(ROOT / "demo", tmp_path / "home", "--profile_source_root", str(tmp_path / "src"))

    def test_the_file_that_a_profile_names(self, board: Board) -> None:
        found = board.json("source_text", file="/srv/demo/train_images.py")
        assert found == {"file": "train_images.py", "text": "import jax\n"}

    def test_paths_out_of_the_root_name_nothing(self, board: Board, tmp_path: Path) -> None:
        for path in ("../secret.py", str(tmp_path / "secret.py"), "/etc/passwd"):
            found = board.json("source_text", file=path)
            assert (found["text"], found["code"]) == (None, "source_not_found")
            assert str(tmp_path / "src") not in found["reason"]

    def test_without_the_flag_there_is_no_text(self, tmp_path: Path) -> None:
        off = Board(ROOT / "demo", tmp_path / "home")
        found = off.json("source_text", file="train_images.py")
        assert (found["text"], found["code"]) == (None, "source_root_off")
        assert "--profile_source_root" in found["reason"]
