"""Messages for errors of remote stores, and calls with a time limit, on a bounded number of threads."""

import errno
import logging
import socket
import threading
import time

import pytest

from tpu_profile_plugin.errors import NotFound, StorageFailed
from tpu_profile_plugin.logdir import Logdir, remote, remote_calls
from tpu_profile_plugin.logdir.remote_calls import SilentThreads, fetch, redacted_url, storage_error, with_timeout


class ClientError(Exception):
    """Like botocore's."""

    def __init__(self, code):
        super().__init__(code)
        self.response = {"Error": {"Code": code}}


class HttpError(Exception):
    """Like gcsfs's."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


class NoCredentialsError(Exception):
    pass


class ParamValidationError(Exception):
    pass


class ReadTimeoutError(Exception):
    pass


class ClientConnectorError(OSError):
    pass


class ClientConnectorDNSError(ClientConnectorError):
    pass


def caused(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (NoCredentialsError(), "storage_credentials", "AWS_PROFILE"),
        (PermissionError("Forbidden"), "storage_denied", "access denied"),
        (caused(PermissionError("Access Denied"), ClientError("AccessDenied")), "storage_denied", "(AccessDenied)"),
        (caused(PermissionError(), ClientError("ExpiredToken")), "storage_denied", "(ExpiredToken)"),
        (HttpError(403), "storage_denied", "access denied"),
        (HttpError(401), "storage_denied", "access denied"),
        (HttpError(404), "storage_missing", "s3://b/x does not exist"),
        (FileNotFoundError("b"), "storage_missing", "s3://b/x does not exist"),
        (caused(OSError(errno.EIO, "x"), ClientError("NoSuchBucket")), "storage_missing", "does not exist"),
        (ParamValidationError("Invalid bucket name"), "storage_missing", "Check the names"),
        (ConnectionRefusedError(), "storage_unreachable", "cannot be reached"),
        (socket.gaierror(-2, "Name or service not known"), "storage_unreachable", "cannot be reached"),
        (ClientConnectorDNSError("secret.host"), "storage_unreachable", "cannot be reached"),
        (TimeoutError(), "storage_slow", "did not respond in time"),
        (ReadTimeoutError(), "storage_slow", "did not respond in time"),
        (caused(OSError(errno.EBUSY, "hunter2"), ClientError("SlowDown")), "storage_failed", "(OSError, SlowDown)"),
        (RuntimeError("hunter2"), "storage_failed", "(RuntimeError)"),
    ],
)
def test_errors_as_messages(error, code, words):
    told = storage_error(error, "s3://me:hunter2@b/x?sig=hunter2")
    assert (told.code, told.status) == (code, 502)
    assert words in told.message
    assert "s3://b/x" in told.message
    assert "hunter2" not in told.message + str(told.details)


def test_our_own_errors_pass_through():
    own = NotFound("x")
    assert storage_error(own, "s3://b") is own


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://bucket/a/b", "s3://bucket/a/b"),
        ("ftp://me:pw@host:21/a?b#c", "ftp://host:21/a"),
        ("https://me@host/a?sv=1&sig=x", "https://host/a"),
        ("/local/pa@th?x", "/local/pa@th?x"),
        ("s3://[broken@x", "s3://"),
        ("", ""),
    ],
)
def test_addresses_without_secrets(url, shown):
    assert redacted_url(url) == shown


def test_with_timeout():
    silent = SilentThreads()
    assert with_timeout(5, lambda: 7, silent) == 7
    with pytest.raises(KeyError):
        with_timeout(5, lambda: {}["x"], silent)
    began, stop = time.monotonic(), threading.Event()
    with pytest.raises(TimeoutError):
        with_timeout(0.1, stop.wait, silent)
    stop.set()
    assert time.monotonic() - began < 3


class Store:
    """A filesystem with one file; reads from offset `hang` on block forever."""

    def __init__(self, data, hang=None, cut=None):
        self.data, self.hang, self.cut = data, hang, cut
        self.stop = threading.Event()
        self.reading = self.most = 0

    def cat_file(self, path, start, end):
        self.reading += 1
        self.most = max(self.most, self.reading)
        if self.hang is not None and start >= self.hang:
            self.stop.wait(30)
        time.sleep(0.001)
        self.reading -= 1
        return self.data[start : min(end, self.cut or end)]


@pytest.fixture
def ranges(monkeypatch):
    monkeypatch.setattr(remote_calls, "RANGE", 10)


@pytest.mark.parametrize("size", [1, 9, 10, 11, 1000])
def test_ranges_cover_the_file(ranges, size):
    data = bytes(i % 251 for i in range(size))
    store, got = Store(data), bytearray(size)

    def put(offset, part):
        got[offset : offset + len(part)] = part

    fetch(store, "x", size, put, SilentThreads())
    assert bytes(got) == data
    assert store.most <= remote_calls.PARALLEL


def test_a_read_that_hangs_ends(ranges, monkeypatch):
    monkeypatch.setattr(remote_calls, "TIMEOUT_S", 0.2)
    store = Store(bytes(1000), hang=500)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        fetch(store, "x", 1000, lambda *_: None, SilentThreads())
    assert time.monotonic() - began < 5
    store.stop.set()


def test_a_file_that_shrank(ranges):
    with pytest.raises(ValueError, match="shorter"):
        fetch(Store(bytes(1000), cut=333), "x", 1000, lambda *_: None, SilentThreads())


def test_a_slow_disk_throttles_the_network(ranges):
    """The bytes fetched but not yet written are bounded."""
    store, taken = Store(bytes(1000)), []
    fetched = 0

    class Counting(Store):
        def cat_file(self, path, start, end):
            nonlocal fetched
            fetched += 1
            return super().cat_file(path, start, end)

    def put(offset, part):
        time.sleep(0.005)
        taken.append(offset)
        assert fetched - len(taken) <= 2 * remote_calls.PARALLEL + 1

    fetch(Counting(store.data), "x", 1000, put, SilentThreads())
    assert len(taken) == 100


class Hanging:
    """A filesystem that answers nothing until `go`."""

    def __init__(self):
        self.go = threading.Event()

    def _wait(self, path, *_, **__):
        self.go.wait(60)
        raise FileNotFoundError(path)

    ls = find = info = cat_file = exists = _wait


@pytest.fixture
def hanging(monkeypatch):
    monkeypatch.setattr(remote_calls, "TIMEOUT_S", 0.005)
    monkeypatch.setattr(remote_calls, "RANGE", 10)
    monkeypatch.setattr(remote, "_ANSWER_S", 0.005)
    monkeypatch.setattr(remote.RemoteFiles, "rescan_after_s", -1.0)
    fs = Hanging()
    yield fs
    fs.go.set()


def threads(earlier=frozenset()):
    """The threads that calls run on, without those that earlier tests began."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("profile-")} - earlier


def test_a_store_that_never_answers_takes_a_bounded_number_of_threads(hanging):
    logdir = Logdir("/never", hanging, limit_s=0.2)
    files = remote.RemoteFiles(hanging, "/never", "memory://never")

    def look():
        assert logdir.names() == []
        (problem,) = logdir.scan().problems  # on a busy machine the scan itself may be what takes too long
        assert problem.code in ("storage_slow", "scan_incomplete")
        with pytest.raises(StorageFailed, match="did not respond in time"):
            files.read("/never/h.xplane.pb", 100, 1, "")

    earlier = threads()
    for _ in range(10):
        look()
    most = len(threads(earlier))
    assert remote_calls.MOST_SILENT <= most <= remote_calls.MOST_SILENT + remote_calls.PARALLEL
    for _ in range(30):
        look()
    assert len(threads(earlier)) == most

    hanging.go.set()
    for _ in range(500):
        if not threads(earlier):
            break
        time.sleep(0.01)
    assert not threads(earlier)
    assert [problem.code for problem in logdir.scan().problems] == ["storage_missing"], "it is asked again"


@pytest.fixture
def restored_logging():
    factory, known = logging.getLogRecordFactory(), set(remote_calls._secrets)
    yield
    logging.setLogRecordFactory(factory)
    remote_calls._secrets.clear()
    remote_calls._secrets.update(known)


@pytest.mark.parametrize(
    "url",
    [
        "s3://me:hunter2@nosuchbucket/logs?token=hunter2",
        "ftp://me:hunter2@127.0.0.1:1/logs",
        "http://me:hunter2@127.0.0.1:1/logs",
    ],
)
def test_a_password_reaches_no_log_of_any_package(url, caplog, restored_logging, monkeypatch):
    if url.startswith("s3"):
        pytest.importorskip("s3fs")
        for name, value in (("ACCESS_KEY_ID", "x"), ("SECRET_ACCESS_KEY", "y"), ("ENDPOINT_URL", "http://127.0.0.1:1")):
            monkeypatch.setenv(f"AWS_{name}", value)
    with caplog.at_level(logging.DEBUG):
        logdir = Logdir(url, limit_s=3)
        (problem,) = logdir.scan().problems
        logging.getLogger("botocore.test").warning("Invalid bucket name %r", "me:hunter2@nosuchbucket")
        try:
            raise ValueError(url)
        except ValueError:
            logging.getLogger("s3fs.test").exception("failed")
        logging.getLogger("other").warning("hunters: %d", 2)
    assert "hunter2" not in caplog.text + problem.message + logdir.path
    assert "Invalid bucket name" in caplog.text
    assert "ValueError" in caplog.text
    assert "hunters: 2" in caplog.text
