"""Logdirs for scripts: the newest run, files as logdirs of one run, tables by name, errors that say what there is."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from builders.logdirs import SMALL, build, write
from builders.planes import tpu
from builders.xspace_text import build_message

import tpu_profile_plugin as tp
from tpu_profile_plugin.errors import BadRequest, CorruptProfile, NoData, NotAvailable, NotFound
from tpu_profile_plugin.opening import OpenLogdir
from tpu_profile_plugin.protos import message
from tpu_profile_plugin.run.run import Run

PLACE = "plugins/profile"


def opened(root: Path, *sessions: str) -> OpenLogdir:
    write(root, {f"{session.replace('/', f'/{PLACE}/', 1)}/h.xplane.pb": SMALL for session in sessions})
    return tp.open(root)


def test_the_newest_run_is_the_latest_session_whatever_its_directory(tmp_path: Path) -> None:
    logdir = opened(tmp_path, "b/2026_01_01_10_00_00", "a/2026_01_02_10_00_00", "c/2025_12_31_10_00_00")
    assert logdir.run().name == "a/2026_01_02_10_00_00"
    assert [run.name[0] for run in logdir.runs()] == ["a", "b", "c"]
    assert logdir.run("c/2025_12_31_10_00_00").hosts == ["h"]


def test_a_file_is_a_logdir_of_one_run(tmp_path: Path) -> None:
    file = tmp_path / "worker.xplane.pb"
    file.write_bytes(build(SMALL))
    logdir = tp.open(file)
    assert len(logdir) == len(logdir.runs()) == 1
    assert logdir.run().hosts == ["worker"]
    assert logdir.run(logdir.run().name).columns().planes
    with pytest.raises(NotFound, match="single file"):
        logdir.run("other")
    with pytest.raises(NotFound, match=r"no file gone\.xplane\.pb"):
        tp.open(tmp_path / "gone.xplane.pb")


def test_errors_name_what_there_is(tmp_path: Path) -> None:
    logdir = opened(tmp_path, "a/2026_01_02_10_00_00")
    with pytest.raises(NotFound, match="2026_01_02_10_00_00"):
        logdir.run("a/2026_01_02_10_00_01")
    run = logdir.run()
    with pytest.raises(NotFound, match="no host 'x'; the hosts are h"):
        run.on("x")
    with pytest.raises(BadRequest, match="has no parameter 'colour'"):
        run.table("hlo_stats", colour="red")
    with pytest.raises(NotFound, match="no tool 'hlo_statistics'"):
        run.table("hlo_statistics")
    with pytest.raises(NotFound, match="does not exist"):
        tp.open(tmp_path / "a" / PLACE / "nothing").run()


def test_tables_of_an_answer_by_name_and_position(tmp_path: Path) -> None:
    write(tmp_path, {f"{PLACE}/s/h.xplane.pb": tpu("0 5 x\n10 5 y")})
    run = tp.open(tmp_path).run()
    tables = run.tables("time_budget")
    assert list(tables) == ["average"]
    average = run.table("time_budget", "average")
    assert average.ids == ["device", "category", "time_ps", "percent"]
    assert average.units == ["", "", "ps", "%"]
    assert run.table("time_budget", -1).ids == average.ids
    assert average.to_pandas()["category"].tolist() == average.column("category")
    assert average.to_arrow().column_names == average.ids
    with pytest.raises(NoData, match=r"has no table 'ops'; it has: average"):
        run.table("time_budget", "ops")
    with pytest.raises(NoData, match="has no table 0; it has: none"):
        run.table("op_profile")


def test_a_run_without_a_readable_host_says_so(tmp_path: Path) -> None:
    write(tmp_path, {f"{PLACE}/s/{name}.xplane.pb": b"\xff" * 9 for name in "ab"})
    run = tp.open(tmp_path).run()
    for _ in range(2):
        with pytest.raises(CorruptProfile, match="XSpace"):
            run.ops()
    with pytest.raises(NoData, match="no profile"):
        Run("empty", ()).ops()


def test_bytes_messages_and_profile_data_are_a_logdir_of_one_run() -> None:
    raw = build(f"host worker-3\n{SMALL}")
    message = build_message(f"host worker-3\n{SMALL}")
    for source in (raw, bytearray(raw), memoryview(raw), gzip.compress(raw), message, tp.ProfileData(raw)):
        logdir = tp.open(source)
        assert (logdir.path, len(logdir), logdir.run().hosts) == ("memory", 1, ["worker-3"])
        assert logdir.run("memory").columns().planes[0].name == logdir.runs()[0].columns().planes[0].name
    assert tp.open(build(SMALL)).run().hosts == ["host"]
    identities = {
        tp.open(data).run().files.hosts[0].identity for data in (raw, bytearray(raw), raw.replace(b"-3", b"-4"))
    }
    assert len(identities) == 2, "caches tell different bytes of one length apart"
    with pytest.raises(NotFound, match="single file"):
        tp.open(raw).run("other")


def test_what_holds_no_profile_is_refused() -> None:
    with pytest.raises(CorruptProfile):
        tp.open(b"\xff" * 9)
    with pytest.raises(BadRequest, match=r"a path, bytes or a message tensorflow\.profiler\.XSpace, not int"):
        tp.open(3)  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match=r"not xla\.HloProto"):
        tp.open(message("xla.HloProto")())

    class FromJax:
        """The public methods of JAX's class."""

        def find_plane_with_name(self, name: str) -> None:
            """Finds nothing."""

    with pytest.raises(NotAvailable, match="rounds times"):
        tp.open(FromJax())  # type: ignore[arg-type]
