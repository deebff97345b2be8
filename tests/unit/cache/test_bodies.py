"""Bodies of answers are compressed, and kept in memory and on disk: bounded, atomic; damaged files are misses."""

import gzip
import os
import random
import stat
import time
import zlib

import pytest

from tpu_profile_plugin.cache.bodies import Body, DiskStore, MemoryStore, compress
from tpu_profile_plugin.cache.files import user_directory


def body(size, kind="application/json"):
    return Body(os.urandom(size), kind)


def held(store):
    return sum(answer.size for answer, _ in store._values.values())


def test_memory_is_bounded_and_evicts_the_least_recently_used():
    store = MemoryStore(100)
    a, b, c = body(40), body(40), body(40)
    store.put("a", a)
    store.put("b", b)
    assert store.get("a") is a
    store.put("c", c)
    assert (store.get("a"), store.get("b"), store.get("c")) == (a, None, c)
    assert held(store) == 80


def test_storing_takes_no_longer_the_more_there_is():
    measured = 0

    class Counted(Body):
        @property
        def size(self):
            nonlocal measured
            measured += 1
            return super().size

    store = MemoryStore(1 << 20)
    for number in range(2000):
        store.put(str(number), Counted(b"x" * 10, "application/json"))
    assert held(store) == 20_000
    assert measured < 20 * 2000


def test_one_large_answer_does_not_evict_all_others():
    store = MemoryStore(100)
    store.put("a", body(40))
    store.put("huge", body(60))
    assert store.get("huge") is None
    assert store.get("a") is not None


def test_the_compressed_form_counts():
    answer = Body(b"x" * 10_000, "application/json")
    before = answer.size
    assert answer.packed() is answer.packed()
    assert answer.size > before


def test_disk_round(tmp_path):
    store = DiskStore(tmp_path / "c" / "results", 1 << 20)
    assert store.get("ab12") is None
    store.put("ab12", Body(b"{}", "text/csv", (("Content-Disposition", "attachment"),)))
    store.flush()
    found = DiskStore(tmp_path / "c" / "results", 1 << 20).get("ab12")
    assert found is not None
    assert (found.plain, found.content_type, found.headers) == (b"{}", "text/csv", ()), "headers stay in memory"
    path = tmp_path / "c/results/ab/ab12"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:3],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: b"XXXX" + data[4:],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: data[:4] + b"\xff" * 4,
        lambda data: b"TPR1" + (2).to_bytes(4, "little") + b"{}",
        lambda data: b"TPR1" + (2).to_bytes(4, "little") + b"[]x",
    ],
)
def test_damaged_files_are_misses_and_deleted(tmp_path, damage):
    store = DiskStore(tmp_path, 1 << 20)
    store.put("ab12", body(100))
    store.flush()
    path = tmp_path / "ab/ab12"
    path.write_bytes(damage(path.read_bytes()))
    assert store.get("ab12") is None
    assert not path.exists()


def test_disk_is_bounded_and_evicts_the_oldest(tmp_path):
    store = DiskStore(tmp_path, 10_000)
    for i in range(12):
        store.put(f"{i:02d}", body(900))
        store.flush()
        if (tmp_path / f"{i:02d}" / f"{i:02d}").exists():
            os.utime(tmp_path / f"{i:02d}" / f"{i:02d}", (time.time() - 1000 + i,) * 2)
    kept = [i for i in range(12) if store.get(f"{i:02d}")]
    assert kept == list(range(12 - len(kept), 12))
    assert sum(path.stat().st_size for path in tmp_path.glob("*/*")) <= 10_000


def test_a_directory_that_is_deleted_or_not_writable(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    store = DiskStore(tmp_path / "file" / "below", 1 << 20)
    store.put("ab", body(10))
    store.flush()
    assert store.get("ab") is None


def test_no_half_written_files_are_left(tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    store = DiskStore(tmp_path, 1 << 20)
    store.put("abcd", body(10))
    store.flush()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_the_default_directory_is_in_the_users_cache():
    assert user_directory("results").parts[-2:] == ("tpu-profile-plugin", "results")


MB = 1 << 20


def text(size: int) -> bytes:
    rnd = random.Random(size)
    line = b",".join(
        b'{"name":"fusion.%d","selfTime":%d}' % (rnd.randrange(99), rnd.randrange(10**9)) for _ in range(999)
    )
    return (line * (size // len(line) + 1))[:size]


@pytest.mark.parametrize("size", [0, 1, 70_000, 2 * MB - 1, 2 * MB, 3 * MB, 3 * MB + 5])
def test_round_trip(size):
    plain = text(size)
    packed = compress(plain)
    assert gzip.decompress(packed) == plain
    assert compress(plain) == packed


def test_the_result_is_a_single_gzip_member():
    packed = compress(text(4 * MB))
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert len(reader.decompress(packed)) == 4 * MB
    assert reader.eof
    assert reader.unused_data == b""


def test_blocks_use_the_previous_block_as_dictionary():
    unique = random.Random(1).randbytes(20_000)
    plain = unique * (3 * MB // len(unique))
    assert len(compress(plain)) < 2 * len(gzip.compress(plain, 1))
