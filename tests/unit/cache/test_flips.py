"""Every bit of everything that is kept: a flip is a miss, never another answer; what is restored is a hit again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.logdirs import write
from builders.planes import tpu

import tpu_profile_plugin as tp
from tpu_profile_plugin.cache import files as module
from tpu_profile_plugin.cache.bodies import Body, DiskStore
from tpu_profile_plugin.cache.files import FileCache
from tpu_profile_plugin.logdir.remote import ContentCache
from tpu_profile_plugin.run.host import PerHost
from tpu_profile_plugin.run.kept import Summaries
from tpu_profile_plugin.sql.running import schema
from tpu_profile_plugin.sql.table_files import TableFiles

FILE = ("/logs/a.xplane.pb", 10, 1_700_000_000_000_000_000, "")


def step(host: Any) -> Any:
    return host.name


def flips(path: Path, most: int) -> Iterator[int]:
    """The file with one bit flipped, written in place with the time that it had; `most` bits from begin to end."""
    raw, status = path.read_bytes(), path.stat()
    for bit in sorted({*np.linspace(0, 8 * len(raw) - 1, most, dtype=int).tolist(), *range(64)}):
        changed = bytearray(raw)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        yield bit
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(raw)
        path.chmod(0o600)


def files_below(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def check(directory: Path, files: int, hit: Callable[[], bool], most: int) -> None:
    assert hit()
    kept = files_below(directory)
    assert len(kept) == files
    for path in kept:
        others = {other: other.read_bytes() for other in kept if other != path}
        seen = 0
        for bit in flips(path, most):
            assert not hit(), (path.name, bit)
            seen += 1
            for other, raw in others.items():  # a miss may delete what belongs to it
                if not other.exists():
                    other.write_bytes(raw)
                    other.chmod(0o600)
        assert seen >= 64
        assert hit(), "restored"


def test_answers(tmp_path: Path) -> None:
    store = DiskStore(tmp_path, 1 << 20)
    store.put("ab12", Body(b'{"rows": [1, 2, 3]}', "application/json"))
    store.flush()

    def hit() -> bool:
        found = store.get("ab12")
        assert found is None or (found.plain, found.content_type) == (b'{"rows": [1, 2, 3]}', "application/json")
        return found is not None

    check(tmp_path, 1, hit, 10_000)


def test_summaries_of_hosts(tmp_path: Path) -> None:
    kept = Summaries(tmp_path, 1 << 20)
    value = ("name", np.frombuffer(b"   \n\n   ", np.uint8), 7)  # white space, which JSON skips
    kept.put(FILE, PerHost(step), value)
    kept.flush()

    def hit() -> bool:
        try:
            found = kept.get(FILE, PerHost(step))
        except KeyError:
            return False
        assert repr(found) == repr(value)
        return True

    check(tmp_path, 1, hit, 10_000)


def test_copies_of_remote_files(tmp_path: Path) -> None:
    data = bytes(range(256)) * 8
    fetched: list[int] = []
    copies = ContentCache(tmp_path, 1 << 20)

    def fetch(put: Callable[[int, bytes], None]) -> None:
        fetched.append(1)
        put(0, data)

    def hit() -> bool:
        before = len(fetched)
        assert copies.get("ab" * 20, len(data), fetch).tobytes() == data
        return len(fetched) == before

    assert not hit()
    check(tmp_path, 2, hit, 40)


def test_tables(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    text = tpu("0 40 fusion.1\n60 30 fusion.2", steps="0 100 1 {_ct=9, _c=1}")
    (run,) = tp.open(write(tmp_path / "logs", {"plugins/profile/s/h.xplane.pb": text})).runs()
    tables = TableFiles(tmp_path / "tables", 1 << 30)
    (relation,) = (relation for relation in schema() if relation.name == "ops")
    path, _, temporary = tables.get(run, relation, lambda _: None)
    assert not temporary
    assert tables.damaged([str(path)]) == []

    def hit() -> bool:
        kept = tables.kept(run, relation)
        assert tables.damaged([str(path)]) == ([] if kept else [str(path)])
        return kept

    check(tmp_path / "tables", 2, hit, 60)


def test_a_seal_is_computed_once_until_a_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[FileIO] = []

    def counted(file: FileIO, real: Callable[[FileIO], str] = module.seal_of) -> str:
        read.append(file)
        return real(file)

    monkeypatch.setattr(module, "seal_of", counted)
    cache = FileCache(tmp_path, 1 << 20)
    with cache.writing("ab12") as file:
        file.write(b"123456789")
    assert [cache.seal("ab12") for _ in range(3)] == ["9:cbf43926"] * 3
    cache.touch("ab12")
    assert (cache.seal("ab12"), len(read)) == ("9:cbf43926", 1)
    cache.path("ab12").write_bytes(b"123456780")
    assert cache.seal("ab12") != "9:cbf43926"
    assert len(read) == 2
