"""Local paths in the syntax of Windows and of the others."""

from __future__ import annotations

import ntpath
import posixpath
import sys
from pathlib import Path

import pytest

from tpu_profile_plugin.capture.addresses import safe_name
from tpu_profile_plugin.errors import BadRequest, Forbidden
from tpu_profile_plugin.logdir.logdir import AllowedRoots
from tpu_profile_plugin.system import paths


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "_flavour", ntpath)


@pytest.fixture
def posix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "_flavour", posixpath)


@pytest.mark.usefixtures("windows")
def test_paths_of_windows() -> None:
    assert paths.local("file:///C:/logs") == "C:/logs"
    assert paths.local("C:\\logs") == "C:\\logs"
    assert paths.absolute("file:///C:/logs/../runs") == "C:\\runs"
    assert [paths.is_absolute(path) for path in ("C:\\logs", "C:logs", "\\logs", "logs")] == [True, False, False, False]
    assert paths.comparable("C:\\Logs/Run") == paths.comparable("file:///c:/logs\\run\\")
    assert paths.is_inside("c:\\logs\\run", "c:\\logs")
    assert paths.is_inside("c:\\logs", "c:\\")
    assert not paths.is_inside("c:\\logs2", "c:\\logs")
    assert not paths.is_inside("d:\\logs\\run", "c:\\logs")
    assert [paths.last_part(path) for path in ("C:\\logs\\a\\", "C:/logs/b", "c")] == ["a", "b", "c"]


@pytest.mark.usefixtures("posix")
def test_paths_of_the_others() -> None:
    assert paths.local("file:///logs") == "/logs"
    assert paths.absolute("file:///logs/../runs") == "/runs"
    assert [paths.is_absolute(path) for path in ("/logs", "logs", "C:\\logs")] == [True, False, False]
    assert paths.comparable("/no/Such/../dir") == "/no/dir"
    assert paths.is_inside("/logs/run", "/logs")
    assert paths.is_inside("/logs", "/")
    assert not paths.is_inside("/logs2", "/logs")
    assert paths.last_part("/logs/a\\b/") == "a\\b"


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize(
    ("name", "written"),
    [("con", "_con"), ("NUL.x", "_NUL.x"), ("com1", "_com1"), ("console", "console"), ("a.", "a"), ("..", "session")],
)
def test_names_that_windows_reserves(name: str, written: str) -> None:
    assert safe_name(name, "session") == written


@pytest.mark.usefixtures("posix")
def test_names_stay_where_all_are_free() -> None:
    assert [safe_name(name) for name in ("con", "a.", "b")] == ["con", "a.", "b"]


def test_printable_names() -> None:
    assert paths.printable("a\udce9b") == "a\ufffdb"  # a byte that is not UTF-8
    assert paths.printable("a\ud800b") == "a\ufffdb"  # half of a pair, which only Windows stores
    assert paths.printable("Größe") == "Größe"


@pytest.mark.usefixtures("windows")
def test_allowed_roots_on_windows() -> None:
    roots = AllowedRoots(["C:\\Allowed"])
    with pytest.raises(BadRequest):
        roots.session("\\allowed\\run")
    for outside in ("C:\\other\\run", "C:\\allowed2\\run", "D:\\allowed\\run", "C:\\allowed\\..\\other"):
        with pytest.raises(Forbidden):
            roots.session(outside)
    files, inner = roots._resolve("file:///c:/allowed/Run 1", "session_path")
    assert files.join(inner, "x")
    assert paths.is_inside(inner, paths.comparable("C:\\Allowed"))


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_linked_directory_is_compared_by_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert paths.comparable(str(tmp_path / "link")) == paths.comparable(f"file://{tmp_path}/real/")
