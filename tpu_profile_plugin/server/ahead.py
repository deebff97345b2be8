"""Answers computed in advance: those of `/generate_cache`, and those of the newest session."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from werkzeug.wrappers import Request

from tpu_profile_plugin.errors import BadRequest, NotAvailable, NotFound, ProfileError
from tpu_profile_plugin.logdir.remote import is_remote
from tpu_profile_plugin.server.catalog import Catalog, LocatedRun
from tpu_profile_plugin.server.http.answer import NEVER, Answer, json_answer
from tpu_profile_plugin.server.http.guard import Guard
from tpu_profile_plugin.server.http.query import Place, Query
from tpu_profile_plugin.server.loading import load_tools
from tpu_profile_plugin.system import paths
from tpu_profile_plugin.system.terminal import LOG as _LOG

if TYPE_CHECKING:
    from tpu_profile_plugin.logdir import RunFiles
    from tpu_profile_plugin.run.host import PerHost
    from tpu_profile_plugin.tools.tool import Tool

_LOWEST_PRIORITY = 19

DEFAULT_TOOLS = ("overview_page", "trace_viewer@")
"""Default tools of a job, as in XProf."""

OPENING: tuple[dict[str, str], ...] = (
    {"tag": "overview_page"},
    {"tag": "op_profile"},
    {"tag": "trace_viewer@"},
    {"tag": "what_if"},
)
"""Queries that open a session, in order: the tools opened first, whose data most others share, and the slowest."""

MAX_WAITING = 8
MAX_KEPT = 50


@dataclass
class Step:
    """One answer: the parameters that select it, and its state: waiting, running, done or failed."""

    parameters: dict[str, str]
    state: str = "waiting"
    seconds: float = 0.0
    error: str | None = None

    def describe(self) -> dict[str, Any]:
        """The step as JSON; `host` is null for all hosts."""
        return {
            "tool": self.parameters["tag"],
            "host": self.parameters.get("host"),
            "state": self.state,
            "seconds": round(self.seconds, 3),
            "error": self.error,
        }


@dataclass
class Job:
    """The answers of one request.

    Attributes:
      skipped: tools that have no data in the run.
      needs: the per-host steps of all its tools, so that other processes read each file once for all answers.
      state: waiting, running or done.
    """

    run: str
    steps: list[Step]
    skipped: tuple[str, ...] = ()
    needs: tuple[PerHost[Any], ...] = ()
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: str = "waiting"

    def describe(self) -> dict[str, Any]:
        """The job as JSON; `done` counts failed steps as well."""
        return {
            "job": self.id,
            "run": self.run,
            "state": self.state,
            "done": sum(step.state in ("done", "failed") for step in self.steps),
            "total": len(self.steps),
            "steps": [step.describe() for step in self.steps],
            "skipped": list(self.skipped),
        }


class JobQueue:
    """Computes steps one at a time, on one thread of the lowest priority, which ends when nothing is left.

    Requested jobs go first, in order. Each step of `when_idle` follows after `rest_s` seconds without an active
    request; the first failure drops the remaining steps.
    """

    def __init__(self, ask: Callable[[Query], object], rest_s: float = 0.3) -> None:
        """`ask` computes one answer and leaves it in the caches."""
        self._ask, self._rest_s = ask, rest_s
        self._changed = threading.Condition()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._requested: list[Job] = []
        self._idle_steps: Iterator[Step] | None = None
        self._active_requests = 0
        self._idle_since = time.monotonic()
        self._working = False

    def start(self, job: Job) -> Job:
        """Queues a job; raises NotAvailable if too many wait."""
        with self._changed:
            if sum(other.state == "waiting" for other in self._requested) >= MAX_WAITING:
                raise NotAvailable(f"{MAX_WAITING} requests are already waiting; try again later.")
            self._requested.append(job)
            self._jobs[job.id] = job
            done = [known.id for known in self._jobs.values() if known.state == "done"]
            for old in done[: max(0, len(self._jobs) - MAX_KEPT)]:
                del self._jobs[old]
            self._wake()
        return job

    def find(self, job_id: str) -> Job:
        """A job by its id; raises NotFound."""
        with self._changed:
            job = self._jobs.get(job_id)
        if job is None:
            raise NotFound("No such job; the server may have been restarted.", code="job_not_found")
        return job

    def when_idle(self, steps: Iterator[Step]) -> None:
        """Queues steps for when the server is idle, unless earlier steps are left."""
        with self._changed:
            if self._idle_steps is None:
                self._idle_steps = steps
                self._wake()

    @contextlib.contextmanager
    def request(self) -> Iterator[None]:
        """A context for handling a request, during which no step of `when_idle` starts."""
        with self._changed:
            self._active_requests += 1
        try:
            yield
        finally:
            with self._changed:
                self._active_requests -= 1
                self._idle_since = time.monotonic()
                self._changed.notify()

    def _wake(self) -> None:
        self._changed.notify()
        if not self._working:
            self._working = True
            threading.Thread(target=self._work, name="profile-ahead", daemon=True).start()

    def _work(self) -> None:
        lower_priority()
        while self._wait_for_work():
            if self._requested:
                job = self._requested[0]
                job.state = "running"
                for step in job.steps:
                    self._compute(step, job.needs)
                with self._changed:
                    job.state = "done"
                    del self._requested[0]
            elif self._idle_steps is not None:
                idle_step = next(self._idle_steps, None)
                if idle_step is None or not self._compute(idle_step):
                    self._idle_steps = None

    def _wait_for_work(self) -> bool:
        """Waits until a step may be computed; False when nothing is left."""
        with self._changed:
            while not self._requested:
                if self._idle_steps is None:
                    self._working = False
                    return False
                rest_s = self._idle_since + self._rest_s - time.monotonic()
                if not self._active_requests and rest_s <= 0:
                    return True
                self._changed.wait(None if self._active_requests else rest_s)
            return True

    def _compute(self, step: Step, needs: tuple[PerHost[Any], ...] = ()) -> bool:
        """Computes one answer; returns whether that succeeded."""
        began = time.monotonic()
        step.state = "running"
        try:
            self._ask(Query(step.parameters, needs=needs))
            step.state = "done"
        except ProfileError as error:
            step.state, step.error = "failed", error.message
        except Exception:
            _LOG.exception("computing %r in advance failed", step.parameters)
            step.state, step.error = "failed", "The server failed on this answer; see its log for the reason."
        step.seconds = time.monotonic() - began
        return step.state == "done"


class NewestSession:
    """The steps that open the newest session, once per content of its files."""

    def __init__(self, limit_bytes: int, newest: Callable[[], RunFiles | None]) -> None:
        """Sessions whose first file is larger than `limit_bytes` are skipped."""
        self._limit, self._newest = limit_bytes, newest
        self._opened: Hashable = None

    def steps(self) -> Iterator[Step]:
        """The steps for the first host; the logdir is scanned at the first step."""
        try:
            run = self._newest()
        except Exception:
            _LOG.info("the newest session was not opened in advance", exc_info=True)
            return
        if run is None or not run.hosts or run.hosts[0].size > self._limit:
            return
        identity = (run.name, tuple(file.identity for file in run.hosts))
        if identity != self._opened:
            self._opened = identity
            yield from (Step({"run": run.name, "host": run.hosts[0].host, **query}) for query in OPENING)


def lower_priority() -> None:
    """Sets the lowest priority for this thread and the threads that it starts; only Linux supports this per thread."""
    with contextlib.suppress(AttributeError, OSError):
        if os.uname().sysname == "Linux":
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)


# The routes of answers in advance: start (XProf's `/generate_cache`) and progress.


class AheadRoutes:
    """The handlers; methods are named after what they do."""

    def __init__(self, guard: Guard, catalog: Catalog, queue: JobQueue) -> None:
        self._guard = guard
        self._catalog = catalog
        self._queue = queue

    def start(self, request: Request) -> Answer:
        """Computes the answers of `tools` for a run, in the background; 202 with XProf's fields and the job's."""
        self._guard.check_write(request)
        query = Query(request.args.to_dict())
        place = self._inside_logdir(query)
        located = self._catalog.locate(place)
        if not located.run.hosts:
            raise NotFound("There are no profiles in this session.", code="no_data", run=located.run.name)
        job = self._queue.start(self._job(located, place, query.names("tools") or DEFAULT_TOOLS))
        accepted = {"status": "ACCEPTED", "message": "Cache generation started"}
        return json_answer(accepted | job.describe(), 202, NEVER)

    def status(self, request: Request) -> Answer:
        """How far a job is."""
        job_id = request.args.get("job", "")
        if not job_id:
            raise BadRequest("Parameter 'job' is missing.", parameter="job")
        return json_answer(self._queue.find(job_id).describe(), cache=NEVER)

    def _inside_logdir(self, query: Query) -> Place:
        """The place of a request; a session_path inside the logdir becomes a run, which needs no permission."""
        place = query.place
        if place.session is not None:
            wanted = _comparable(place.session)
            for name, location in self._catalog.logdir.scan().locations.items():
                if _comparable(location.path) == wanted:
                    return Place(name, below=place.below)
        return place

    def _job(self, located: LocatedRun, place: Place, wanted: Iterable[str]) -> Job:
        load_tools()
        from tpu_profile_plugin.tools import registry

        facts = self._catalog.inspect(located).facts
        address = {"run": located.run.name, "session_path": place.session or "", "run_path": place.below or ""}
        steps: list[Step] = []
        skipped: list[str] = []
        needs: list[PerHost[Any]] = []
        for tag in dict.fromkeys(registry.canonical(name.strip()) for name in wanted):
            tool = next((tool for tool in registry.TOOLS if tag in (tool.id, *tool.aliases)), None)
            if tool is None or tool.available(facts) is not None:
                skipped.append(tag)
            else:
                steps += _steps(tool, located, address)
                needs += tool.needs
        if not steps:
            raise BadRequest(f"None of the tools has data in this run: {', '.join(skipped)}.", parameter="tools")
        return Job(located.run.name, steps, tuple(skipped), tuple(needs))


def _steps(tool: Tool, located: LocatedRun, address: dict[str, str]) -> list[Step]:
    """The queries of our page of a tool: all hosts merged, or one after another."""
    base = {**address, "tag": tool.id}
    if tool.hosts.value in ("one", "several") and len(located.run.hosts) > 1:
        return [Step({**base, "host": file.host}) for file in located.run.hosts]
    return [Step(base)]


def _comparable(path: str) -> str:
    """A form of a path that is equal for equal directories."""
    if is_remote(path) or "\0" in path:
        return path.rstrip("/")
    return paths.comparable(path)
