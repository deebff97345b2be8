"""Source files below the root: found by the end of their path, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tpu_profile_plugin.errors import Forbidden, NotFound
from tpu_profile_plugin.logdir import source_files as sources
from tpu_profile_plugin.logdir.source_files import SourceRoot


@pytest.fixture
def root(tmp_path: Path) -> Path:
    below = tmp_path / "checkout"
    (below / "models/deep").mkdir(parents=True)
    (below / "tools").mkdir()
    (below / ".git").mkdir()
    (below / "train.py").write_text("x = 1\n")
    (below / "models/layer.py").write_text("models\n")
    (below / "models/deep/layer.py").write_text("deep\n")
    (below / "tools/layer.py").write_text("tools\n")
    (below / ".git/hook.py").write_text("hidden\n")
    (below / "key.pem").write_text("secret\n")
    (tmp_path / "outside.py").write_text("outside\n")
    return below


def code(root: Path | str, path: str) -> str:
    with pytest.raises(NotFound) as caught:
        SourceRoot(str(root)).read(path)
    return caught.value.code


def test_a_file_is_found_by_the_end_of_its_recorded_path(root: Path) -> None:
    read = SourceRoot(str(root)).read
    assert read("/somewhere/else/train.py").text == "x = 1\n"
    assert read("/home/me/models/layer.py").parts == ("models", "layer.py")
    assert read("C:\\work\\models\\deep\\layer.py").text == "deep\n"
    assert code(root, "/x/layer.py") == "source_ambiguous"
    assert code(root, "/x/other.py") == "source_not_found"


def test_without_a_root_nothing_is_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_listing", None)
    monkeypatch.setattr(sources, "opened_below", None)
    monkeypatch.chdir(root)
    assert code("", "train.py") == "source_root_off"


@pytest.mark.parametrize(
    "path",
    ["../outside.py", "/x/../train.py", "key.pem", "/etc/passwd", ".git/hook.py", "hook.py", "", "/", "train.py\0"],
)
def test_other_paths_and_other_files_are_refused(root: Path, path: str) -> None:
    assert code(root, path) == "source_not_found"


def test_a_path_that_leads_outside_by_its_text_is_not_followed(root: Path) -> None:
    assert code(root, str(root.parent / "outside.py")) == "source_not_found"


def test_symbolic_links_to_files_and_directories_are_refused(root: Path) -> None:
    (root / "linked.py").symlink_to(root.parent / "outside.py")
    (root / "elsewhere").symlink_to(root.parent, target_is_directory=True)
    assert code(root, "linked.py") == "source_not_found"
    assert code(root, "elsewhere/outside.py") == "source_not_found"


def test_links_that_appear_after_the_listing_are_refused(root: Path) -> None:
    known = SourceRoot(str(root))
    assert known.read("train.py").text == "x = 1\n"
    (root / "train.py").unlink()
    (root / "train.py").symlink_to(root.parent / "outside.py")
    with pytest.raises(NotFound, match="can no longer be read"):
        known.read("train.py")
    (root / "models").rename(root / "before")
    (root / "models").symlink_to(root.parent, target_is_directory=True)
    (root.parent / "layer.py").write_text("outside\n")
    with pytest.raises(NotFound, match="can no longer be read"):
        known.read("models/layer.py")


def test_hard_links_pipes_large_and_binary_files_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.link(root.parent / "outside.py", root / "hard.py")
    os.mkfifo(root / "pipe.py")
    (root / "binary.py").write_bytes(b"\xff\xfe\x00")
    (root / "large.py").write_text("x" * 100)
    monkeypatch.setattr(sources, "MOST_BYTES", 64)
    for name in ("hard.py", "pipe.py", "binary.py", "large.py"):
        with pytest.raises(Forbidden, match=name):
            SourceRoot(str(root)).read(name)


def test_new_files_are_found_once_the_listing_is_old(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(sources.time, "monotonic", lambda: now[0])
    known = SourceRoot(str(root))
    known.read("train.py")
    (root / "new.py").write_text("new\n")
    with pytest.raises(NotFound):
        known.read("new.py")
    now[0] += 11
    assert known.read("new.py").text == "new\n"


def test_a_large_tree_is_listed_in_part(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_FILES", 1)
    known = SourceRoot(str(root))
    assert known.read("train.py").text == "x = 1\n"
    with pytest.raises(NotFound):
        known.read("tools/layer.py")
