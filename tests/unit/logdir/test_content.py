"""Local copies of remote files: bounded, private, shared; failures of the cache are harmless."""

import errno
import os
import stat
import threading
import time

import pytest

from tpu_profile_plugin.cache.files import FileCache
from tpu_profile_plugin.errors import StorageFailed
from tpu_profile_plugin.logdir.remote import ContentCache, version_key

KEY = "ab" + "0" * 38
CONTENT = bytes(range(256)) * 16


class Source:
    """A remote file that counts how often it is fetched."""

    def __init__(self, content=CONTENT):
        self.content = content
        self.fetched = 0

    def __call__(self, put):
        self.fetched += 1
        for start in range(0, len(self.content), 1000):
            put(start, self.content[start : start + 1000])


def get(cache, source, key=KEY):
    data = cache.get(key, len(source.content), source)
    assert not data.flags.writeable
    return data.tobytes()


def everything(directory):
    return [path for path in directory.rglob("*") if path.is_file()]


def test_fetched_once_and_private(tmp_path):
    source = Source()
    for cache in (ContentCache(tmp_path / "c", 1 << 20), ContentCache(tmp_path / "c", 1 << 20)):
        assert get(cache, source) == CONTENT
        assert get(cache, source) == CONTENT
    assert source.fetched == 1
    path = tmp_path / "c/ab" / KEY
    assert path.read_bytes() == CONTENT
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (tmp_path / "c", path.parent, path)]
    assert modes == [0o700, 0o700, 0o600]


def test_a_directory_that_was_open_to_others_is_closed(tmp_path):
    (tmp_path / "c").mkdir(mode=0o777)
    (tmp_path / "c").chmod(0o777)
    get(ContentCache(tmp_path / "c", 1 << 20), Source())
    assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o700


def test_versions_have_different_keys():
    facts = [("s3:/b/x", 1, 2, "t"), ("s3:/b/y", 1, 2, "t"), ("s3:/b/x", 2, 2, "t"), ("s3:/b/x", 1, 3, "t"),
             ("s3:/b/x", 1, 2, "u"), ("s3:/b/x", 1, 0, "t"), ("s3:/b/x", 1, 2, "")]  # fmt: skip
    assert len({version_key(*each) for each in facts}) == len(facts)
    assert version_key("s3:/b/x", 1, 0, "") is None


def test_files_without_a_version_are_not_cached(tmp_path):
    source = Source()
    for _ in range(2):
        assert get(ContentCache(tmp_path, 1 << 20), source, key=None) == CONTENT
    assert source.fetched == 2
    assert everything(tmp_path) == []


@pytest.mark.parametrize("cache", [ContentCache(None, 1 << 20), ContentCache(None, 0)])
def test_without_a_usable_directory_nothing_is_cached(cache):
    assert get(cache, Source()) == CONTENT


def test_bounded_with_lru_eviction(tmp_path):
    cache = ContentCache(tmp_path, 4 * len(CONTENT))
    source = Source()
    keys = [f"{i:02d}" + "0" * 38 for i in range(6)]
    for i, key in enumerate(keys):
        get(cache, source, key)
        os.utime(tmp_path / key[:2] / key, (1_000_000_000 + i,) * 2)
        if i == 3:
            get(cache, source, keys[0])  # used again
    kept = {path.name for path in everything(tmp_path)}
    assert keys[0] in kept
    assert keys[1] not in kept
    assert sum(path.stat().st_size for path in everything(tmp_path)) <= 4 * len(CONTENT)


def test_a_file_larger_than_half_the_limit_is_not_cached(tmp_path):
    assert get(ContentCache(tmp_path, 2 * len(CONTENT) - 1), Source()) == CONTENT
    assert everything(tmp_path) == []


@pytest.mark.parametrize("damage", [b"", CONTENT[:-1], CONTENT + b"x"])
def test_a_copy_of_the_wrong_size_is_fetched_again(tmp_path, damage):
    source = Source()
    get(ContentCache(tmp_path, 1 << 20), source)
    (tmp_path / "ab" / KEY).write_bytes(damage)
    assert get(ContentCache(tmp_path, 1 << 20), source) == CONTENT
    assert source.fetched == 2


def test_a_failed_fetch_leaves_no_files(tmp_path):
    def fail(put):
        put(0, b"half")
        raise StorageFailed("gone", code="storage_unreachable")

    cache = ContentCache(tmp_path, 1 << 20)
    with pytest.raises(StorageFailed):
        cache.get(KEY, len(CONTENT), fail)
    assert everything(tmp_path) == []
    assert get(cache, Source()) == CONTENT


@pytest.mark.parametrize("function", ["posix_fallocate", "fstat"])
def test_a_full_disk_prevents_only_the_copy(tmp_path, monkeypatch, caplog, function):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    cache = ContentCache(tmp_path, 1 << 20)
    with monkeypatch.context() as patch:
        patch.setattr(os, function, full)
        assert get(cache, Source()) == CONTENT
        assert get(cache, Source()) == CONTENT
    assert everything(tmp_path) == []
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == [
        f"Copies of remote files cannot be cached in {tmp_path} (No space left on device); continuing without a cache"
    ]


def test_the_directory_may_be_deleted_at_any_time(tmp_path):
    import shutil

    source = Source()
    cache = ContentCache(tmp_path / "c", 1 << 20)
    data = cache.get(KEY, len(CONTENT), source)
    shutil.rmtree(tmp_path / "c")
    assert data.tobytes() == CONTENT, "what is open stays"
    assert get(cache, source) == CONTENT
    assert source.fetched == 2
    assert len(everything(tmp_path / "c")) == 2, "the copy and its checksum"


def test_one_fetch_for_many_threads(tmp_path):
    class Slow(Source):
        def __call__(self, put):
            time.sleep(0.2)
            super().__call__(put)

    source, cache, got = Slow(), ContentCache(tmp_path, 1 << 20), []
    threads = [threading.Thread(target=lambda: got.append(get(cache, source))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [CONTENT] * 8
    assert source.fetched == 1


def test_files_of_killed_processes_are_swept_but_not_those_being_written(tmp_path):
    other = FileCache(tmp_path, 1 << 20)
    with other.writing("cd" + "1" * 38) as file:
        file.write(b"from another process")
        being_written = next(tmp_path.glob(".new-*"))
        left = tmp_path / ".new-left"
        left.write_bytes(b"half")
        young = tmp_path / ".new-young"
        young.write_bytes(b"half")
        for path in (left, being_written):
            os.utime(path, (time.time() - 60,) * 2)
        get(ContentCache(tmp_path, 1 << 20), Source())
        assert sorted(tmp_path.glob(".new-*")) == sorted([being_written, young])
    assert (tmp_path / "cd" / ("cd" + "1" * 38)).read_bytes() == b"from another process"
