"""A cache directory in which another user could write: planted answers, summaries and copies are not read."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest
from builders.logdirs import write
from builders.profiles.step_profiles import worker
from builders.servers.board import Board

from tpu_profile_plugin.cache.bodies import Body, _packed
from tpu_profile_plugin.cache.files import seal_of
from tpu_profile_plugin.logdir.remote import ContentCache

QUERY = {"run": "r/s", "tag": "overview_page", "host": "ALL_HOSTS"}
OTHER = 65534
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")


def planted() -> bytes:
    """An answer with the right checksum."""
    return b"".join(_packed(Body(b'{"planted": true}', "application/json")))


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("logs")
    write(root, {f"r/plugins/profile/s/w{i}.xplane.pb": worker(f"w{i}") for i in range(2)})
    return root


@pytest.fixture(scope="module")
def answer(logs, tmp_path_factory) -> bytes:
    return ask(logs, tmp_path_factory.mktemp("own"))[0].data


def ask(logs: Path, cache: Path):
    """The answer of a new server with this cache directory, and the files of its answers."""
    board = Board(logs, cache.parent, "--profile_cache_dir", str(cache))
    try:
        found = board.get("data", **QUERY)
        board.plugin.server.results()._disk.flush()
        board.plugin.server.source().kept.flush()
        return found, [path for path in (cache / "results").glob("*/*") if path.is_file()]
    finally:
        board.plugin.server.close()


def replaced(path: Path) -> None:
    path.chmod(0o600)
    path.write_bytes(planted())


def of_other_user(path: Path) -> None:
    replaced(path)
    os.chown(path, OTHER, OTHER)


def directory_of_other_user(path: Path) -> None:
    replaced(path)
    for place in (path, path.parent, path.parent.parent):
        os.chown(place, OTHER, OTHER)


def writable_by_others(path: Path) -> None:
    replaced(path)
    path.chmod(0o666)


def directory_writable_by_others(path: Path) -> None:
    replaced(path)
    path.parent.parent.chmod(0o777)


def linked(path: Path) -> None:
    target = path.with_name("elsewhere")
    target.write_bytes(planted())
    path.unlink()
    path.symlink_to(target)


PLANTED = [writable_by_others, directory_writable_by_others, linked]
PLANTED += [of_other_user, directory_of_other_user] if IS_ROOT else []


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_planted_answers_are_not_served(logs, tmp_path, answer, plant, caplog):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)
    first, files = ask(logs, tmp_path / "shared")
    assert first.data == answer
    assert len(files) == 1
    plant(files[0])
    again, _ = ask(logs, tmp_path / "shared")
    assert again.data == answer
    assert not {"Set-Cookie", "Refresh"} & set(again.headers.keys())
    assert "cannot be cached" in caplog.text or plant is linked


def test_an_answer_in_the_own_cache_has_no_headers(logs, tmp_path):
    _, (path,) = ask(logs, tmp_path / "own")
    replaced(path)
    found, _ = ask(logs, tmp_path / "own")
    assert found.json == {"planted": True}, "what the user's own files say is believed"
    assert not {"Set-Cookie", "Refresh"} & set(found.headers.keys())


def test_planted_summaries_and_copies_are_not_read(logs, tmp_path):
    first, _ = ask(logs, tmp_path / "shared")
    assert '"kept"' not in first.headers["X-Profile-Read-By"]
    for path in (tmp_path / "shared/results").glob("*/*"):
        path.unlink()
    kept, _ = ask(logs, tmp_path / "shared")
    assert '"kept"' in kept.headers["X-Profile-Read-By"]
    for path in (tmp_path / "shared/results").glob("*/*"):
        path.unlink()
    for path in (tmp_path / "shared/summaries").glob("*/*"):
        path.chmod(0o666)
    again, _ = ask(logs, tmp_path / "shared")
    assert '"kept"' not in again.headers["X-Profile-Read-By"]
    assert first.data == kept.data == again.data


def test_planted_copies_of_remote_files_are_not_read(tmp_path):
    def fetch(put):
        put(0, b"good")

    def read():
        data = ContentCache(tmp_path / "content", 1 << 20).get("ab12", 4, fetch)
        return np.asarray(data).tobytes()

    assert read() == b"good"
    path, seal = (tmp_path / "content/ab" / name for name in ("ab12", "ab12s"))
    path.write_bytes(b"evil")
    with path.open("rb", buffering=0) as file:
        seal.write_text(seal_of(file))
    assert read() == b"evil", "the copy is used"
    path.chmod(0o622)
    assert read() == b"good"
