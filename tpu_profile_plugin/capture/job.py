"""Captures: all workers of one in parallel, each with its own result; retries, cancellation, progress, history."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from tpu_profile_plugin.capture import failures
from tpu_profile_plugin.capture.addresses import Address, AllowList, unique_names
from tpu_profile_plugin.capture.client import ProfilerClient, Response, connect, profile_request, resolve, scan_xspace
from tpu_profile_plugin.capture.failures import WorkerFailure
from tpu_profile_plugin.capture.options import CaptureOptions
from tpu_profile_plugin.capture.session import Session, open_session
from tpu_profile_plugin.errors import BadRequest, CorruptProfile, Forbidden, NotFound
from tpu_profile_plugin.protos.wire import MalformedMessage
from tpu_profile_plugin.system.terminal import LOG as _LOG
from tpu_profile_plugin.units import MS_PER_S, NS_PER_MS, NS_PER_S


@dataclass
class Worker:
    """The state and result of one worker.

    Attributes:
      state: waiting, connecting, recording, receiving, done, failed or cancelled.
      host: the name of its file, without suffix.
      attempt: number of the current attempt, from 1.
      seconds: duration of the last attempt.
      bytes: size of the stored profile.
      events: number of events; None if they were not counted.
      file: path of the stored profile below the logdir.
      by_worker: whether the worker wrote the file itself, as old servers do.
      warnings: the profiler's errors and warnings in the profile.
    """

    address: Address
    host: str
    state: str = "waiting"
    attempt: int = 0
    seconds: float = 0.0
    bytes: int = 0
    events: int | None = None
    file: str | None = None
    by_worker: bool = False
    failure: WorkerFailure | None = None
    warnings: tuple[str, ...] = ()
    began: float = 0.0
    call: Any = None
    client: ProfilerClient | None = None

    def describe(self) -> dict[str, Any]:
        running = self.state in ("connecting", "recording", "receiving")
        return {
            "address": str(self.address),
            "host": self.host,
            "state": self.state,
            "attempt": self.attempt,
            "seconds": round(time.monotonic() - self.began if running else self.seconds, 3),
            "bytes": self.bytes,
            "events": self.events,
            "file": self.file,
            "stored_by_worker": self.by_worker,
            "error": self.failure.describe() if self.failure is not None else None,
            "warnings": list(self.warnings),
        }


Inspect = Callable[[bytes | memoryview], int]
"""Counts the events of an XSpace; raises CorruptProfile if it does not decode."""


class Job:
    """A capture, which `start` runs in a thread of its own; thread-safe."""

    def __init__(
        self,
        logdir: str,
        addresses: Sequence[Address],
        options: CaptureOptions,
        allowed: AllowList,
        *,
        inspect: Inspect | None = None,
        worker_list: bool = False,
        snapshot: bool = False,
        back_off_s: float = 1.0,
    ) -> None:
        """Chooses the session's name and checks the logdir; raises NotAvailable.

        Args:
          logdir: path or URL of the directory to store in.
          addresses: the workers; with `worker_list`, the first one is asked to make all of them record (Cloud TPU).
          options: how to capture.
          allowed: which addresses may be dialled.
          inspect: counts the events of a received profile, which also validates it.
          worker_list: see `addresses`.
          snapshot: take what continuous profiling has recorded, instead of recording now.
          back_off_s: wait before the second attempt, in seconds; doubled for each further one, at most 10 s.
        """
        names = unique_names(addresses)
        self.id = secrets.token_hex(8)
        self.options = options
        self.workers = tuple(Worker(address, names[address]) for address in addresses)
        self.warnings: list[str] = []
        self.state = "running"
        self.created = time.time()
        self._allowed = allowed
        self._inspect = inspect
        self._worker_list = worker_list
        self._snapshot = snapshot
        self._back_off_s = back_off_s
        self._cancelled = threading.Event()
        self._ended = threading.Event()
        self._starts: float = 0.0
        self._pausing = False
        self._began = time.monotonic()
        self._seconds = 0.0
        self.session: Session = open_session(logdir, options.session_id, names.values())

    def start(self) -> Job:
        threading.Thread(target=self.run, name=f"capture-{self.id}", daemon=True).start()
        return self

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits for the end; returns whether the capture has ended."""
        return self._ended.wait(timeout_s)

    def cancel(self) -> None:
        """Cancels the capture and discards what was recorded; the workers are free immediately."""
        self._cancelled.set()
        for worker in self.workers:
            if worker.call is not None:
                worker.call.cancel()

    def stop(self) -> None:
        """Ends the recording now and stores what was recorded; does nothing for workers that are not recording."""
        for worker in self.workers:
            client = worker.client
            # A Terminate that arrives too late is remembered by the server and would end the next capture.
            if worker.state == "recording" and client is not None and self._phase() == "recording":
                try:
                    client.terminate(self.session.name)
                except WorkerFailure as failure:
                    _LOG.info("capture %s: Terminate failed on %s: %s", self.id, worker.address, failure.message)

    def run(self) -> None:
        """Runs the whole capture; never raises."""
        try:
            self._attempts()
        except Exception:
            _LOG.exception("capture %s failed", self.id)
            for worker in self.workers:
                if worker.state != "done":
                    self._fail(worker, WorkerFailure(failures.INTERNAL, "The capture failed in this server."))
        finally:
            self._seconds = time.monotonic() - self._began
            self._finish()
            self._ended.set()

    def describe(self) -> dict[str, Any]:
        ended = self._ended.is_set()
        stored = [worker for worker in self.workers if worker.state == "done"]
        return {
            "job": self.id,
            "kind": "snapshot" if self._snapshot else "capture",
            "state": self.state,
            "phase": "ended" if ended else self._phase(),
            "run": self.session.name if stored else None,
            "session": self.session.name,
            "created_ms": int(self.created * MS_PER_S),
            "seconds": round(self._seconds if ended else time.monotonic() - self._began, 3),
            "duration_ms": self.options.duration_ms,
            "delay_ms": self.options.delay_for(len(self.workers)),
            "attempts": self.options.retries + 1,
            "starts_in_ms": max(0, round((self._starts - time.time()) * MS_PER_S)) if self._starts and not ended else 0,
            "recording_left_ms": self._left_ms(),
            "bytes": sum(worker.bytes for worker in self.workers),
            "message": self.summary() if ended else "",
            "warnings": list(self.warnings),
            "workers": [worker.describe() for worker in self.workers],
        }

    def summary(self) -> str:
        done = sum(worker.state == "done" for worker in self.workers)
        if self.state == "cancelled":
            return "Cancelled: nothing was stored."
        if done == len(self.workers):
            return f"Captured {done} worker{'s' if done > 1 else ''} into {self.session.name}."
        reasons = " ".join(
            f"{worker.address}: {worker.failure.message}" for worker in self.workers if worker.failure is not None
        )
        if done:
            return f"Captured only {done} of {len(self.workers)} workers into {self.session.name}. {reasons}"
        return reasons

    def _phase(self) -> str:
        now = time.time()
        if self._pausing:
            return "retry"
        if not self._starts:
            return "connecting"
        if now < self._starts:
            return "delay"
        return "recording" if now < self._starts + self.options.duration_ms / MS_PER_S - 0.1 else "receiving"

    def _left_ms(self) -> int:
        """Milliseconds until the recording ends."""
        if self._ended.is_set():
            return 0
        begin = max(time.time(), self._starts) if self._starts else time.time()
        end = (self._starts or time.time()) + self.options.duration_ms / MS_PER_S
        return max(0, round((end - begin) * MS_PER_S))

    def _attempts(self) -> None:
        with ThreadPoolExecutor(len(self.workers), thread_name_prefix="capture") as pool:
            for attempt in range(1, self.options.retries + 2):
                pending = [w for w in self.workers if w.state != "done" and (w.failure is None or w.failure.kind.retry)]
                pause_s = min(10.0, self._back_off_s * 2 ** (attempt - 2)) if attempt > 1 else 0.0
                self._pausing = attempt > 1 and bool(pending)
                if not pending or self._cancelled.wait(pause_s):
                    return
                self._pausing = False
                self._starts = 0.0
                for worker in pending:
                    worker.attempt, worker.failure, worker.began = attempt, None, time.monotonic()
                list(pool.map(self._connect, pending))
                connected = [worker for worker in pending if worker.client is not None]
                try:
                    self._record(pool, connected)
                finally:
                    for worker in connected:
                        if worker.client is not None:
                            worker.client.close()
                            worker.client = None
                if self._cancelled.is_set():
                    return

    def _record(self, pool: ThreadPoolExecutor, connected: list[Worker]) -> None:
        """Records on all workers from one start time, chosen when the last one is connected."""
        if not connected or self._cancelled.is_set():
            return
        start_ns = time.time_ns() + self.options.delay_for(len(self.workers)) * NS_PER_MS
        self._starts = start_ns / NS_PER_S
        if self._worker_list and self._new_session(connected, start_ns):
            return
        list(pool.map(lambda worker: self._profile(worker, start_ns), connected))

    def _connect(self, worker: Worker) -> None:
        worker.state = "connecting"
        try:
            channel = connect(worker.address, self._allowed, self.options.max_bytes)
            worker.client = ProfilerClient(channel, self.options.max_bytes)
        except Forbidden as error:
            self._fail(worker, WorkerFailure(failures.FORBIDDEN, error.message))
        except WorkerFailure as failure:
            self._fail(worker, failure)

    def _profile(self, worker: Worker, start_ns: int) -> None:
        worker.state = "recording"
        try:
            response = self._receive(worker, start_ns)
            worker.call = None
            worker.state = "receiving"
            self._store(worker, response)
        except WorkerFailure as failure:
            self._fail(worker, failure)
        finally:
            worker.call = None

    def _receive(self, worker: Worker, start_ns: int) -> Response:
        """The worker's answer, received after the recording; raises WorkerFailure."""
        assert worker.client is not None
        deadline_s = self.options.attempt_seconds(len(self.workers))
        if self._snapshot:
            response = worker.client.snapshot(deadline_s, lambda call: self._register_call(worker, call))
            return replace(response, empty_trace=response.empty_trace or response.xspace is None)
        request = profile_request(self.options, self.session.root, self.session.name, worker.host, start_ns)
        return worker.client.profile(request, deadline_s, lambda call: self._register_call(worker, call))

    def _register_call(self, worker: Worker, call: Any) -> None:
        worker.call = call
        if self._cancelled.is_set():
            call.cancel()

    def _store(self, worker: Worker, response: Response) -> None:
        """Checks and stores a received profile; raises WorkerFailure."""
        if response.xspace is None:
            if response.empty_trace:
                raise WorkerFailure(failures.EMPTY, "The worker recorded nothing.")
            self._stored_by_worker(worker)
            return
        try:
            outline = scan_xspace(response.xspace)
            if response.empty_trace or not outline.has_events:
                errors = " Its errors: " + " ".join(outline.errors)[:300] if outline.errors else ""
                raise WorkerFailure(failures.EMPTY, f"The worker responded, but recorded no events.{errors}")
            events = self._inspect(response.xspace) if self._inspect is not None else None
        except MalformedMessage as error:
            raise WorkerFailure(failures.GARBLED, f"The received data is not a profile: {error}.") from error
        except CorruptProfile as error:
            raise WorkerFailure(failures.GARBLED, f"The received data is not a profile: {error.message}.") from error
        if self._cancelled.is_set():
            raise WorkerFailure(failures.CANCELLED, "Cancelled.", "CANCELLED")
        worker.file = self.session.store(worker.host, response.xspace)
        worker.events, worker.bytes = events, len(response.xspace)
        worker.warnings = (*outline.errors, *outline.warnings)
        self._succeed(worker)

    def _stored_by_worker(self, worker: Worker) -> None:
        stored = self.session.find_stored([worker.host])
        if worker.host not in stored:
            raise WorkerFailure(
                failures.STORED_ELSEWHERE,
                "The worker did not send its profile but stored it itself, and it is not in this log directory.",
                "OK",
            )
        worker.by_worker = True
        worker.bytes = stored[worker.host]
        worker.file = self.session.path_of(worker.host)
        self._count_stored(worker)
        self._succeed(worker)

    def _count_stored(self, worker: Worker) -> None:
        if self._inspect is None:
            return
        try:
            worker.events = self._inspect(self.session.read(worker.host))
        except OSError:
            return
        except CorruptProfile as error:
            message = f"The file that the worker stored is not a profile: {error.message}."
            raise WorkerFailure(failures.GARBLED, message) from error

    def _new_session(self, connected: list[Worker], start_ns: int) -> bool:
        """Asks the first worker to make all of them record; False if it cannot, and each must be asked itself."""
        lead = connected[0]
        assert lead.client is not None
        for worker in connected:
            worker.state = "recording"
        request = profile_request(self.options, self.session.root, self.session.name, lead.address.host, start_ns)
        deadline_s = self.options.attempt_seconds(len(self.workers))
        hosts = [str(worker.address) for worker in self.workers]
        try:
            recorded = lead.client.new_session(request, hosts, deadline_s, lambda call: self._register_call(lead, call))
            if not recorded:
                raise WorkerFailure(failures.EMPTY, "The workers recorded nothing.")
            self._find_hosts(connected)
        except WorkerFailure as failure:
            if failure.grpc_code == "UNIMPLEMENTED":
                self.warnings.append(
                    "The worker cannot start recordings on other workers, so each was asked individually."
                )
                return False
            for worker in connected:
                if worker.state != "done":
                    self._fail(worker, failure)
        finally:
            lead.call = None
        return True

    def _find_hosts(self, connected: list[Worker]) -> None:
        """Finds the files that the workers wrote, which they name by host, with or without the port."""
        stored = self.session.find_stored([worker.host for worker in connected], wait_s=2.0)
        everything = self.session.hosts_stored()
        for worker in connected:
            bare = worker.address.host
            host = next((name for name in (worker.host, bare) if name in stored or name in everything), None)
            if host is None:
                message = "The worker reports a recording, but its file is not in this log directory."
                self._fail(worker, WorkerFailure(failures.STORED_ELSEWHERE, message, "OK"))
                continue
            worker.host, worker.by_worker, worker.bytes = host, True, everything.get(host, 0)
            worker.file = self.session.path_of(host)
            self._succeed(worker)

    def _succeed(self, worker: Worker) -> None:
        worker.seconds = time.monotonic() - worker.began
        worker.state = "done"

    def _fail(self, worker: Worker, failure: WorkerFailure) -> None:
        worker.seconds = time.monotonic() - worker.began if worker.began else 0.0
        worker.failure = failure
        worker.state = "cancelled" if failure.kind is failures.CANCELLED else "failed"

    def _finish(self) -> None:
        done = [worker for worker in self.workers if worker.state == "done"]
        for worker in self.workers:
            if worker.state != "done" and self._cancelled.is_set():
                worker.state = "cancelled"
        if done and len({worker.attempt for worker in done}) > 1:
            self.warnings.append("Some workers were recorded in a later attempt: their times do not overlap.")
        if done and len(done) < len(self.workers):
            self.warnings.append(f"{len(self.workers) - len(done)} of {len(self.workers)} workers returned no profile.")
        self.state = "done" if done else "cancelled" if self._cancelled.is_set() else "failed"


MAX_JOBS = 50
"""Older captures are dropped from the history."""

MAX_RUNNING = 8
"""The most simultaneous captures."""


class Jobs:
    """Captures by id; thread-safe."""

    def __init__(self, logdir: str, allowed: AllowList, inspect: Inspect | None = None) -> None:
        self.allowed = allowed
        self._logdir = logdir
        self._inspect = inspect
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()

    def start(
        self,
        addresses: Sequence[Address],
        options: CaptureOptions,
        worker_list: bool = False,
        *,
        snapshot: bool = False,
    ) -> Job:
        """Starts a capture or snapshot; raises BadRequest, Forbidden (an address not allowed) or NotAvailable."""
        check_allowed(addresses, self.allowed)
        with self._lock:
            if sum(job.state == "running" for job in self._jobs.values()) >= MAX_RUNNING:
                raise BadRequest(f"{MAX_RUNNING} captures are already running; wait for one to finish, or cancel one.")
        job = Job(
            self._logdir,
            addresses,
            options,
            self.allowed,
            inspect=self._inspect,
            worker_list=worker_list,
            snapshot=snapshot,
        )
        with self._lock:
            self._jobs[job.id] = job
            for old in [other for other in self._jobs.values() if other.state != "running"]:
                if len(self._jobs) <= MAX_JOBS:
                    break
                del self._jobs[old.id]
        return job.start()

    def find(self, job_id: str) -> Job:
        with self._lock:
            job = self._jobs.get(job_id)
        if job is None:
            raise NotFound("No such capture; the server may have been restarted.", code="job_not_found")
        return job

    def history(self) -> list[dict[str, Any]]:
        """All captures in the history, newest first."""
        with self._lock:
            jobs = list(self._jobs.values())
        return [job.describe() for job in reversed(jobs)]


def check_allowed(addresses: Sequence[Address], allowed: AllowList) -> None:
    """Raises Forbidden before anything is dialled or recorded. Names that do not resolve are left to the job."""
    for address in addresses:
        try:
            ips = resolve(address)
        except WorkerFailure:
            continue
        allowed.check(address, ips)
