"""Where tables are written when their directory takes no files."""

from __future__ import annotations

import errno
import logging
import tempfile
from pathlib import Path
from typing import Any

import pytest
from builders.logdirs import SMALL, write

import tpu_profile_plugin
from tpu_profile_plugin.cache.files import FileCache
from tpu_profile_plugin.errors import QueryStopped
from tpu_profile_plugin.sql import table_files
from tpu_profile_plugin.sql.running import start
from tpu_profile_plugin.sql.table_files import TableFiles

COUNT = "SELECT count(*) FROM events"
MIB = 1 << 20


@pytest.fixture
def runs(tmp_path: Path) -> Any:
    logs = write(tmp_path / "logs", {"plugins/profile/s/h.xplane.pb": SMALL})
    return tpu_profile_plugin.open(str(logs)).runs()


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def counted(runs: Any, files: TableFiles) -> int:
    return int(start(runs, COUNT, files=files).result(60).to_pandas().iloc[0, 0])


def below_a_file(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(b"")
    return tmp_path / "file" / "cache"


@pytest.mark.parametrize("where", [Path("/proc/.cache/tables"), Path("/proc/self/fd/nothing"), None, "below a file"])
def test_a_directory_that_cannot_be_made(runs, tmp_path, temporary, caplog, where):
    caplog.set_level(logging.WARNING)
    directory = below_a_file(tmp_path) if where == "below a file" else where
    files = TableFiles(directory, MIB)
    expected = counted(runs, TableFiles(tmp_path / "good", MIB))
    assert expected > 0
    assert [counted(runs, files) for _ in range(3)] == [expected] * 3
    said = [record.getMessage() for record in caplog.records if "cannot be cached" in record.getMessage()]
    assert len(said) == (1 if directory else 0)
    [made] = temporary.iterdir()
    assert made.stat().st_mode & 0o077 == 0
    assert len(list(made.glob("*/*"))) == 2, "one table and its notes, made once"
    files.close()
    assert list(temporary.iterdir()) == []


class FullDisk:
    """Lets files of a directory take a number of bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *full: Path, room: int = 100) -> None:
        real = FileCache.writing
        self.tried: list[Path] = []

        def writing(cache: FileCache, key: str) -> Any:
            directory = cache.path(key).parents[1]
            self.tried.append(directory)
            made = real(cache, key)
            return Narrow(made, room) if any(directory.is_relative_to(one) for one in full) else made

        monkeypatch.setattr(FileCache, "writing", writing)


class Narrow:
    def __init__(self, made: Any, room: int) -> None:
        self._made, self._room = made, room

    def __enter__(self) -> Any:
        file, narrow = self._made.__enter__(), self
        real = file.write

        class Writer:
            def write(self, data: Any) -> int:
                narrow._room -= len(data)
                if narrow._room < 0:
                    raise OSError(errno.ENOSPC, "No space left on device")
                return int(real(data))

            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

        return Writer()

    def __exit__(self, *error: Any) -> Any:
        return self._made.__exit__(*error)


def test_a_disk_that_fills_up_while_a_table_is_written(runs, tmp_path, temporary, monkeypatch, caplog):
    caplog.set_level(logging.WARNING)
    expected = counted(runs, TableFiles(tmp_path / "good", MIB))
    full = tmp_path / "full"
    disk = FullDisk(monkeypatch, full)
    files = TableFiles(full, MIB)
    assert [counted(runs, files) for _ in range(2)] == [expected] * 2
    assert disk.tried.count(full) == 1, "not filled up again at once"
    assert [path for path in full.rglob("*") if path.is_file()] == []
    assert caplog.text.count("Tables for SQL cannot be cached in") == 1
    assert "No space left on device" in caplog.text


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="a directory of Linux")
def test_a_full_disk_that_also_holds_the_temporary_directory(runs, tmp_path, temporary, monkeypatch):
    expected = counted(runs, TableFiles(tmp_path / "good", MIB))
    disk = FullDisk(monkeypatch, tmp_path)
    files = TableFiles(tmp_path / "full", MIB)
    assert counted(runs, files) == expected
    assert disk.tried[-1].is_relative_to("/dev/shm")
    files.close()
    assert not disk.tried[-1].exists()


def test_nowhere_to_write_is_told(runs, tmp_path, temporary, monkeypatch):
    monkeypatch.setattr(table_files, "_IN_MEMORY", ())
    FullDisk(monkeypatch, tmp_path)
    with pytest.raises(QueryStopped, match="neither to the cache nor elsewhere: No space left on device"):
        counted(runs, TableFiles(tmp_path / "full", MIB))


def test_a_cache_of_an_unwritable_home_is_still_read(runs, tmp_path, monkeypatch):
    expected = counted(runs, TableFiles(tmp_path / "cache", MIB))
    disk = FullDisk(monkeypatch, tmp_path)
    assert counted(runs, TableFiles(tmp_path / "cache", MIB)) == expected
    assert disk.tried == []
