"""Summaries of hosts on disk: after a restart no profile is read again, except those that changed."""

import json
import os
from contextlib import contextmanager
from pathlib import Path

import pytest
from builders.logdirs import build, settle, write
from builders.profiles.step_profiles import worker
from builders.programs import hlo
from builders.programs.hlo import op, program
from builders.servers.board import Board

from tpu_profile_plugin.cache.profiles import _METADATA

SESSION = "plugins/profile/s"
TOOLS = (
    "overview_page",
    "pod_viewer",
    "op_profile",
    "framework_op_stats",
    "hlo_stats",
    "time_budget",
    "roofline_model",
)


@contextmanager
def started(root: Path, home: Path, executor: str = "threads"):
    """A server that has answered nothing yet, with the paths that it reads."""
    board = Board(root, home, "--profile_executor", executor, "--profile_workers", "2")
    try:
        yield board
    finally:
        board.plugin.server.results()._disk.flush()
        board.plugin.server.source().kept.flush()
        board.plugin.server.close()


@pytest.fixture
def opened(monkeypatch):
    """Names of the profiles that this process reads, from now on."""
    from tpu_profile_plugin.logdir import files

    names = []
    original = files.LocalFiles.read

    def read(self, path, *args, **more):
        names.append(Path(path).name)
        return original(self, path, *args, **more)

    monkeypatch.setattr(files.LocalFiles, "read", read)
    return names


@pytest.fixture
def logdir(tmp_path):
    root = tmp_path / "logs"
    write(root, {f"train/{SESSION}/w{i}.xplane.pb": worker(f"w{i}", wait_us=50 * i) for i in range(4)})
    settle(root)
    return root


FUSION = op("fusion.1", "fusion", "f32[8]", "x", called=["fused"], fusion_kind="kLoop")
OUTSIDE = [op("x", "parameter", "f32[8]"), FUSION]
INSIDE = [op("p", "parameter", "f32[8]"), op("n", "negate", "f32[8]", "p")]
FUSED = f"""{hlo.metadata_plane(jit_f=(7, program(OUTSIDE, fused=INSIDE)))}
plane 2 "/device:TPU:0" {{device_type_string="TPU v9"}}
  metadata "%fusion.1 = f32[8]" {{program_id=7, symbol_id=1, hlo_category="loop fusion"}} display=fusion.1
  metadata "%own = f32[8]" {{program_id=7, symbol_id=2, hlo_category="loop fusion"}} display=own
  line 5 "XLA Ops"
    0us +10us "%fusion.1 = f32[8]"
    20us +10us "%own = f32[8]"
"""


def test_programs_are_not_read_again_for_the_details_of_ops(tmp_path, opened):
    root = tmp_path / "logs"
    write(root, {f"train/{SESSION}/w{i}.xplane.pb": FUSED for i in range(3)})
    with started(root, tmp_path / "home") as board:
        first = ask(board, "op_profile").data
        spaces = [entry.values.get(_METADATA) for entry in board.plugin.server.source().cache._entries.values()]
        assert sum(space is not None for space in spaces) == 1, "those of the first host only stay in memory"
    assert b'"name":"n"' in first, "the instruction in the fusion"
    forget_answers(tmp_path / "home")
    opened.clear()
    with started(root, tmp_path / "home") as board:
        assert ask(board, "op_profile").data == first
    assert opened == []


def ask(board: Board, tool: str):
    return board.get("page", run="train/s", tag=tool, host="ALL_HOSTS")


def forget_answers(home: Path) -> None:
    """Deletes the answers on disk and leaves the summaries."""
    kept = [path for path in home.rglob("*") if path.is_file() and "results" in path.parts]
    assert kept
    for path in kept:
        path.unlink()


def look(logdir: Path, home: Path) -> dict[str, bytes]:
    with started(logdir, home) as board:
        board.get("run_info", run="train/s")
        return {tool: ask(board, tool).data for tool in TOOLS if ask(board, tool).status_code == 200}


def test_after_a_restart_no_profile_is_read(logdir, tmp_path, opened):
    first = look(logdir, tmp_path / "home")
    assert set(opened) == {f"w{i}.xplane.pb" for i in range(4)}
    assert len(first) > 4
    forget_answers(tmp_path / "home")
    opened.clear()
    assert look(logdir, tmp_path / "home") == first
    assert opened == []


def test_only_the_host_that_changed_is_read_again(logdir, tmp_path, opened):
    first = look(logdir, tmp_path / "home")
    opened.clear()
    changed = logdir / f"train/{SESSION}/w2.xplane.pb"
    changed.write_bytes(build(worker("w2", wait_us=700)))
    os.utime(changed, (1_700_000_000, 1_700_000_000))
    second = look(logdir, tmp_path / "home")
    assert set(opened) == {"w2.xplane.pb"}
    assert second["overview_page"] != first["overview_page"]


def test_what_workers_computed_is_kept_as_well(logdir, tmp_path, opened):
    with started(logdir, tmp_path / "home", "processes") as board:
        first = ask(board, "overview_page").data
    forget_answers(tmp_path / "home")
    opened.clear()
    with started(logdir, tmp_path / "home", "processes") as board:
        assert ask(board, "overview_page").data == first
        assert board.plugin.server._executor._workers.alive == 0, "no worker was started"
    assert opened == []


def test_a_damaged_summary_is_read_from_its_profile(logdir, tmp_path, opened):
    first = look(logdir, tmp_path / "home")
    forget_answers(tmp_path / "home")
    for path in (tmp_path / "home").rglob("summaries/*/*"):
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    opened.clear()
    assert look(logdir, tmp_path / "home") == first
    assert set(opened) == {f"w{i}.xplane.pb" for i in range(4)}


def test_a_run_with_one_host_leaves_no_summaries(tmp_path):
    root = tmp_path / "logs"
    write(root, {f"train/{SESSION}/w.xplane.pb": worker("w")})
    settle(root)
    with started(root, tmp_path / "home") as board:
        assert json.loads(ask(board, "overview_page").data)
    assert not list((tmp_path / "home").rglob("summaries/*/*"))
