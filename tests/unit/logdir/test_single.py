"""Single files as logdirs: their hosts, and a logdir for what needs a directory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tpu_profile_plugin.logdir.files import LocalFiles
from tpu_profile_plugin.logdir.single import SingleFile, as_logdir


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


def test_a_single_file_is_put_into_a_session(tmp_path: Path) -> None:
    path = tmp_path / "rank-3.pt.trace.json.gz"
    path.write_bytes(b"content")
    run = SingleFile(str(path)).newest()

    def read(file):
        return np.array(LocalFiles().read(file.path, file.size, file.mtime_ns, file.tag))

    with as_logdir(str(path), "../odd name", run.hosts, read) as (logdir, name):
        (stored,) = Path(logdir).rglob("*.gz")
        assert stored.relative_to(logdir) == Path("plugins/profile") / name / path.name
        assert (name, stored.read_bytes()) == ("_odd_name", b"content")
    assert not Path(logdir).exists()


def test_a_directory_is_a_logdir_already(tmp_path: Path) -> None:
    with as_logdir(str(tmp_path), "run", (), lambda _: np.zeros(0, np.uint8)) as found:
        assert found == (str(tmp_path), "run")
