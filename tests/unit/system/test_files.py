"""Files as Linux, macOS and Windows treat them; the other systems are simulated."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tpu_profile_plugin.cache.files import FileCache
from tpu_profile_plugin.logdir.files import LocalFiles, mapped, may_be_mapped
from tpu_profile_plugin.system import files

LARGE = 2 << 20


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another system than Windows, as far as the package asks; also where the tests run on Windows."""
    monkeypatch.setattr(files, "WINDOWS", False)


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """No fcntl, and os.name "nt" as far as the package asks."""
    monkeypatch.setattr(files, "WINDOWS", True)
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(files, "_PAUSES_S", (0.0, 0.0))


def refusing(monkeypatch: pytest.MonkeyPatch, name: str, times: int) -> list[str]:
    """Makes `Path.<name>` raise PermissionError as often as said; returns what was asked."""
    asked: list[str] = []
    real = getattr(Path, name)

    def refuse(path: Path, target: Path) -> Path:
        asked.append(path.name)
        if len(asked) <= times:
            raise PermissionError(13, "used by another process")
        moved: Path = real(path, target)
        return moved

    monkeypatch.setattr(Path, name, refuse)
    return asked


def old_file(folder: Path, size: int) -> tuple[Path, os.stat_result]:
    """A file that nothing has written to for a while."""
    path = folder / "h.xplane.pb"
    path.write_bytes(b"\7" * size)
    os.utime(path, (time.time() - 60,) * 2)
    return path, path.stat()


@pytest.mark.skipif(files.WINDOWS, reason="Windows does this otherwise")
def test_a_cache_file_is_renamed_while_open_and_locked_where_that_is_possible(tmp_path: Path) -> None:
    temporary, target = tmp_path / ".new-1", tmp_path / "key"
    with temporary.open("wb") as file:
        files.lock(file.fileno())
        assert not files.may_delete(temporary)
        file.write(b"1")
        files.publish(file, temporary, target)
        assert not file.closed
        assert not files.may_delete(target)
    assert files.may_delete(target)


@pytest.mark.usefixtures("windows")
def test_on_windows_it_is_closed_before(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, 1 << 20)
    with cache.writing("ab12") as file:
        file.write(b"whole")
    assert file.closed
    assert cache.path("ab12").read_bytes() == b"whole"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["ab12"]


@pytest.mark.usefixtures("windows")
def test_on_windows_a_rename_is_repeated_while_a_scanner_has_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = refusing(monkeypatch, "rename", 2)
    (tmp_path / "a").write_bytes(b"1")
    files.rename(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"1"
    assert asked == ["a", "a", "a"]


@pytest.mark.usefixtures("elsewhere")
def test_elsewhere_a_refused_rename_is_an_error_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = refusing(monkeypatch, "rename", 1)
    (tmp_path / "a").write_bytes(b"1")
    with pytest.raises(PermissionError):
        files.rename(tmp_path / "a", tmp_path / "b")
    assert asked == ["a"]


@pytest.mark.usefixtures("windows")
def test_on_windows_a_mapped_file_of_the_cache_stays_when_it_is_published_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = FileCache(tmp_path, 1 << 20)
    with cache.writing("ab12") as file:
        file.write(b"first")
    refusing(monkeypatch, "replace", 99)
    with cache.writing("ab12") as file:
        file.write(b"again")
    assert cache.path("ab12").read_bytes() == b"first"
    assert not list(tmp_path.glob(".new-*"))
    with pytest.raises(PermissionError), cache.writing("cd34") as file:
        file.write(b"never")
    assert not list(tmp_path.glob(".new-*"))


@pytest.mark.usefixtures("windows")
def test_on_windows_left_files_are_swept_unless_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left, being_written = tmp_path / ".new-left", tmp_path / ".new-open"
    for path in (left, being_written):
        path.write_bytes(b"half")
        os.utime(path, (time.time() - 60,) * 2)
    real = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if path == being_written:
            raise PermissionError(13, "used by another process")
        real(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    with FileCache(tmp_path, 1 << 20).writing("ab12") as file:
        file.write(b"1")
    assert sorted(tmp_path.glob(".new-*")) == [being_written]


@pytest.mark.skipif(files.WINDOWS, reason="Windows does this otherwise")
def test_a_profile_is_mapped_where_that_hinders_no_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, status = old_file(tmp_path, LARGE)
    read = LocalFiles().read(str(path), status.st_size, status.st_mtime_ns, "")
    assert may_be_mapped(status.st_size, status.st_mtime_ns)
    assert read.base is not None
    monkeypatch.setattr(files, "WINDOWS", True)
    copied = LocalFiles().read(str(path), status.st_size, status.st_mtime_ns, "")
    assert not may_be_mapped(status.st_size, status.st_mtime_ns)
    path.write_bytes(b"\1" * LARGE)
    assert (int(read[0]), int(copied[0]), copied.flags.writeable) == (1, 7, False)


@pytest.mark.usefixtures("windows")
def test_on_windows_copies_in_the_cache_are_mapped(tmp_path: Path) -> None:
    path, _ = old_file(tmp_path, LARGE)
    with files.open_private(path) as file:
        data = mapped(file, LARGE)
    assert data is not None
    assert (len(data), int(data[-1]), data.flags.writeable) == (LARGE, 7, False)


@pytest.mark.skipif(files.WINDOWS, reason="Windows does this otherwise")
def test_a_private_directory_has_no_access_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "cache"
    directory.mkdir(mode=0o755)
    directory.chmod(0o755)
    files.make_private(directory)
    assert directory.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(os, "geteuid", lambda: directory.stat().st_uid + 1)
    with pytest.raises(PermissionError):
        files.make_private(directory)
    monkeypatch.setattr(files, "WINDOWS", True)
    monkeypatch.delattr(os, "geteuid")
    files.make_private(directory)


@pytest.mark.usefixtures("elsewhere")
def test_on_windows_the_size_is_that_of_the_file_and_not_of_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = old_file(tmp_path, 5)
    stale = SimpleNamespace(path=str(path), stat=lambda: SimpleNamespace(st_size=0))
    assert files.status_of(stale).st_size == 0  # type: ignore[arg-type]
    monkeypatch.setattr(files, "WINDOWS", True)
    assert files.status_of(stale).st_size == 5  # type: ignore[arg-type]


def test_on_windows_a_junction_is_a_link_and_not_walked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "loop").mkdir()
    monkeypatch.setattr(files, "is_junction", lambda entry: entry.name == "loop")
    listing = LocalFiles().entries(str(tmp_path))
    assert (listing.directories, listing.links) == (("real",), ("loop",))


@pytest.mark.usefixtures("elsewhere")
def test_only_windows_asks_for_junctions(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SimpleNamespace(is_junction=lambda: True)
    old = SimpleNamespace()
    assert not files.is_junction(entry)  # type: ignore[arg-type]
    monkeypatch.setattr(files, "WINDOWS", True)
    assert files.is_junction(entry)  # type: ignore[arg-type]
    assert not files.is_junction(old)  # type: ignore[arg-type]


def test_a_directory_that_is_deleted_while_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = os.mkdir, []

    def deleted_at_once(path: Path, mode: int = 0o777) -> None:
        asked.append(path)
        if len(asked) <= 2:  # it was there, and is gone when `mkdir` looks what it is
            raise FileExistsError(path)
        real(path, mode)

    monkeypatch.setattr(os, "mkdir", deleted_at_once)
    files.make_directory(tmp_path / "cache")
    assert (tmp_path / "cache").is_dir()
    assert len(asked) == 3
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        files.make_directory(tmp_path / "file")
