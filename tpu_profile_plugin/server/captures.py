"""The routes of captures: start, status, cancel, history, probe; and XProf's blocking form of start."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from werkzeug.wrappers import Request

from tpu_profile_plugin.compat import wing
from tpu_profile_plugin.errors import BadRequest, Forbidden, WrongMethod
from tpu_profile_plugin.server.http.answer import NEVER, Answer, json_answer, json_body, text_answer
from tpu_profile_plugin.server.http.guard import Guard
from tpu_profile_plugin.server.loading import load_tools
from tpu_profile_plugin.server.options import Options

if TYPE_CHECKING:
    from tpu_profile_plugin.capture.addresses import Address
    from tpu_profile_plugin.capture.job import Job, Jobs
    from tpu_profile_plugin.capture.options import CaptureOptions

_MAX_AT_ONCE = 64
"""Maximum number of addresses in requests that wait for all of them."""
HINT = (
    "A capture accepts only POST, not {method}: send JSON such as "
    '{{"addresses": "localhost:9012", "duration_ms": 1000}} and poll capture_status for progress, or send the '
    "query parameters of XProf and wait."
)

BY_GET = (
    "This server does not capture by GET, which this frontend uses: any web page could then start a capture. Use the "
    "Profile tab's own page (index.html) or `tpu-profile capture`, or let the operator of TensorBoard start it with "
    "--profile_capture_by_get."
)


class CaptureRoutes:
    """The handlers; grpc and protobuf are imported by the first capture."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._guard = Guard(options.server_names)
        self._jobs_lock = threading.Lock()
        self._jobs: Jobs | None = None

    @property
    def jobs(self) -> Jobs:
        """The captures of this process."""
        with self._jobs_lock:  # there must be only one instance
            if self._jobs is None:
                from tpu_profile_plugin.capture.addresses import AllowList
                from tpu_profile_plugin.capture.job import Jobs

                self._jobs = Jobs(self._options.logdir, AllowList.parse(self._options.capture_hosts), _events_in)
            return self._jobs

    def capture(self, request: Request) -> Answer:
        """Starts a capture: 202 with the job; with XProf's query parameters, waits and returns XProf's response."""
        if request.method != "POST":
            return self._by_get(request)
        self._check_allowed(request)
        body = json_body(request)
        if body or not request.args:
            job = self._start(body)
            if body.get("wait") is True:
                job.wait()
            return _job_answer(job, 202 if body.get("wait") is not True else 200)
        return self._waited(request)

    def _by_get(self, request: Request) -> Answer:
        """The request of XProf's frontend, which shows refusals only as plain text."""
        if not request.args.get("service_addr"):
            raise WrongMethod(HINT.format(method=request.method), allow="POST")
        if not self._options.capture_by_get:
            return text_answer(BY_GET, 405, NEVER, (("Allow", "POST"),))
        try:
            self._guard.check_changing_get(request)
            self._check_enabled()
        except Forbidden as error:
            return text_answer(error.message, error.status, NEVER)
        return self._waited(request)

    def _waited(self, request: Request) -> Answer:
        load_tools()
        xprof = wing()
        if xprof is None:
            raise BadRequest(HINT.format(method="query parameters"), parameter="addresses")
        answer, status = xprof.capture(self._start, request.args)
        return json_answer(answer, status, NEVER)

    def status(self, request: Request) -> Answer:
        """The state of a capture."""
        job_id = request.args.get("job", "")
        if not job_id:
            raise BadRequest("Parameter 'job' is missing.", parameter="job")
        return _job_answer(self.jobs.find(job_id))

    def history(self, _: Request) -> Answer:
        """The history of captures of this process, newest first."""
        return json_answer(self.jobs.history(), cache=NEVER)

    def cancel(self, request: Request) -> Answer:
        """Ends a capture; with `keep`, stores what was recorded so far."""
        self._check_allowed(request)
        body = json_body(request)
        job = self.jobs.find(str(body.get("job") or request.args.get("job") or ""))
        keep = body.get("keep") is True or request.args.get("keep", "").lower() == "true"
        if keep:
            job.stop()
        else:
            job.cancel()
        return _job_answer(job)

    def probe(self, request: Request) -> Answer:
        """Checks addresses without capturing."""
        self._check_allowed(request)
        from tpu_profile_plugin.capture.client import probe

        addresses, _ = self._addresses(json_body(request))
        if len(addresses) > _MAX_AT_ONCE:
            raise BadRequest(f"At most {_MAX_AT_ONCE} addresses can be probed at once.", parameter="addresses")
        return json_answer(probe(addresses, self.jobs.allowed), cache=NEVER)

    def continuous(self, request: Request) -> Answer:
        """Continuous profiling: `action` is start or stop (a result per address) or snapshot (a job)."""
        self._check_allowed(request)
        body = json_body(request)
        from tpu_profile_plugin.capture import continuous
        from tpu_profile_plugin.capture.job import check_allowed

        addresses, _ = self._addresses(body)
        if len(addresses) > _MAX_AT_ONCE:
            raise BadRequest(f"At most {_MAX_AT_ONCE} addresses are accepted at once.", parameter="addresses")
        check_allowed(addresses, self.jobs.allowed)
        action = body.get("action")
        if action == "start":
            options = continuous.continuous_options(body)
            return json_answer(continuous.start_on(addresses, options, self.jobs.allowed), cache=NEVER)
        if action == "stop":
            return json_answer(continuous.stop_on(addresses, self.jobs.allowed), cache=NEVER)
        if action == "snapshot":
            options = continuous.snapshot_options(_text(body.get("session_id")) or None)
            return _job_answer(self.jobs.start(addresses, options, snapshot=True), 202)
        raise BadRequest("'action' must be start, snapshot or stop.", parameter="action")

    def _start(self, values: Mapping[str, Any]) -> Job:
        options = _capture_options(values)
        addresses, worker_list = self._addresses(values)
        return self.jobs.start(addresses, options, worker_list)

    def _addresses(self, values: Mapping[str, Any]) -> tuple[tuple[Address, ...], bool]:
        """As the function; raises Forbidden for names of TPUs while only this machine may be captured from.

        They are looked up with this machine's identity in its cloud, which only the operator may lend.
        """
        if _is_tpu_name(values) and not self.jobs.allowed.patterns:
            raise Forbidden(
                "Only this machine may be captured from, so names of TPUs are not looked up. The operator of "
                "TensorBoard can allow the workers with --profile_capture_hosts (environment: "
                "TPU_PROFILE_CAPTURE_HOSTS)."
            )
        return _addresses(values)

    def _check_allowed(self, request: Request) -> None:
        self._guard.check_write(request)
        self._check_enabled()

    def _check_enabled(self) -> None:
        if self._options.capture_hosts.lower() == "off":
            raise Forbidden("Capturing is disabled on this server (--profile_capture_hosts=off).")


def _events_in(data: bytes | memoryview) -> int:
    load_tools()
    from tpu_profile_plugin.run.facts import count_events

    return count_events(data)


def _capture_options(values: Mapping[str, Any]) -> CaptureOptions:
    from tpu_profile_plugin.capture.options import options_from

    return options_from({name: value for name, value in values.items() if name != "max_bytes"})


def _addresses(values: Mapping[str, Any]) -> tuple[tuple[Address, ...], bool]:
    """The addresses of the workers, and whether the first starts the recording on all of them."""
    from tpu_profile_plugin.capture.addresses import parse_addresses

    workers = values.get("worker_list") or ""
    if _is_tpu_name(values):
        from tpu_profile_plugin.capture.addresses import PROFILER_PORT, resolve_tpus

        names = ",".join(_texts(values.get("addresses") or values.get("service_addr")))
        resolved = resolve_tpus(names)
        # The first worker of a TPU starts the others of the same TPU; workers of several are all asked.
        return (parse_addresses(_texts(workers), PROFILER_PORT) if workers else resolved), "," not in names
    if workers:
        return parse_addresses(_texts(workers)), True
    return parse_addresses(_texts(values.get("addresses") or values.get("service_addr"))), False


def _is_tpu_name(values: Mapping[str, Any]) -> bool:
    return str(values.get("is_tpu_name", "")).lower() == "true"


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [_text(value)]


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _job_answer(job: Job, status: int = 200) -> Answer:
    return json_answer(job.describe(), status, NEVER)
