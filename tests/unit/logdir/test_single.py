"""Single files as logdirs: their hosts, and what a server asks of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpu_profile_plugin.logdir.single import SingleFile, is_local_file


@pytest.mark.parametrize(
    ("file", "host"),
    [
        ("h.xplane.pb", "h"),
        ("h.xplane.riegeli", "h"),
        ("space.pb", "space"),
        ("rank-3.pt.trace.json.gz", "rank-3"),
        ("vm_7.1700000000000000000.pt.trace.json", "vm_7"),
        ("trace.json", "trace.json"),
    ],
)
def test_the_host_is_named_after_the_file(tmp_path: Path, file: str, host: str) -> None:
    (tmp_path / file).write_bytes(b"1")
    assert SingleFile(str(tmp_path / file)).newest().host_names == (host,)


def test_what_a_server_asks_of_it(tmp_path: Path) -> None:
    path = tmp_path / "odd name (1).json"
    path.write_bytes(b"content")
    single = SingleFile(str(path))
    run = single.newest()
    assert (single.names(), single.runs(), single.newest_first()) == ([run.name], [run], [run])
    assert list(single.scan().locations) == [run.name]
    assert (single.has_runs(), single.absolute_path) == (True, str(path))
    assert bytes(single.read(run.hosts[0])) == b"content"
    path.unlink()
    assert not single.has_runs()


def test_an_empty_file_has_a_problem(tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb").touch()
    run = SingleFile(str(tmp_path / "h.xplane.pb")).newest()
    assert [problem.code for problem in run.problems] == ["empty_file"]
    assert run.hosts[0].problem == run.problems[0]


def test_a_file_is_told_from_a_directory(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    names = (str(tmp_path / "f"), str(tmp_path), str(tmp_path / "none"), f"file://{tmp_path / 'f'}")
    assert [is_local_file(name) for name in names] == [True, False, False, False]
