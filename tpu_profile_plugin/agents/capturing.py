"""The tool `capture`: records a profile of a running program into a logdir, where the user has allowed it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tpu_profile_plugin.answers.answer import Next
from tpu_profile_plugin.answers.envelope import Deeper
from tpu_profile_plugin.answers.verb import Parameter
from tpu_profile_plugin.capture import CaptureFailed
from tpu_profile_plugin.capture.addresses import AllowList, parse_addresses
from tpu_profile_plugin.capture.job import Jobs
from tpu_profile_plugin.capture.options import CaptureOptions
from tpu_profile_plugin.errors import BadRequest, Forbidden, NotAvailable
from tpu_profile_plugin.opening import OpenLogdir
from tpu_profile_plugin.run.host_facts import count_events

CAPTURE = "capture"
_MOST_MS = 60_000
_RETRIES = 3


class Capturing:
    """Captures from addresses that the user has allowed; paths and names of files never come from an agent."""

    summary = "Records a profile of a running program as a new run of the logdir, and waits for it."
    parameters = (
        Parameter(
            "address",
            str,
            "host:port of the program's profiler server (jax.profiler.start_server), or several with commas.",
            required=True,
        ),
        Parameter("duration_ms", int, f"Length of the recording in ms, at most {_MOST_MS}.", default=1000),
    )

    def __init__(self, allowed: str = "") -> None:
        """`allowed`: addresses besides this machine, with commas, as `AllowList` reads them; "*" for all."""
        self._allowed = AllowList.parse(allowed)

    def envelope(self, logdir: OpenLogdir, arguments: Mapping[str, Any], deeper: Deeper) -> dict[str, Any]:
        """Captures; arguments as `check` returns them.

        Raises BadRequest for wrong arguments, Forbidden, NotAvailable for a logdir that is a file, CaptureFailed.
        """
        duration_ms = arguments.get("duration_ms", 1000)
        if not 1 <= duration_ms <= _MOST_MS:
            message = f"duration_ms must be from 1 to {_MOST_MS:,}, not {duration_ms:,}."
            raise BadRequest(message, argument="duration_ms", choices=[])
        if "://" not in logdir.path and not Path(logdir.path).is_dir():
            raise NotAvailable("Captures are stored in a directory: start the server with a logdir, not with a file.")
        result = self._captured(logdir.path, arguments["address"], duration_ms)
        stored = [worker for worker in result["workers"] if worker["state"] == "done"]
        failed = [
            f"{worker['address']}: {worker['error']['message']}" for worker in result["workers"] if worker["error"]
        ]
        about = {"run": result["run"]}
        why = "what the new run is, and what limits it"
        return {
            "answer": {
                "captured": result["run"],
                "bytes": sum(worker["bytes"] for worker in stored),
                "events": sum(worker["events"] or 0 for worker in stored),
                "failed": failed[:10],
                "warnings": [*result["warnings"], *(text for worker in stored for text in worker["warnings"])][:10],
            },
            "units": {"bytes": "bytes"},
            "base": "",
            "from": {"run": result["run"], "hosts": [worker["address"] for worker in stored][:20], "tool": None},
            "link": None,
            "next": [deeper(Next("overview", {}, why), about)],
            "rows": None,
            "cursor": None,
            "cannot_answer": None,
        }

    def _captured(self, logdir: str, addresses: str, duration_ms: int) -> dict[str, Any]:
        try:
            parsed = parse_addresses(addresses)
        except BadRequest as error:
            raise BadRequest(error.message, argument="address", choices=[]) from None
        try:
            job = Jobs(logdir, self._allowed, count_events).start(
                parsed, CaptureOptions(duration_ms=duration_ms, retries=_RETRIES)
            )
        except Forbidden:
            allowed = ["localhost", *self._allowed.patterns]
            message = (
                f"This server may capture from {', '.join(allowed)} only. "
                "The user can allow more: tpu-profile mcp LOGDIR --allow-capture=HOST[,HOST...]."
            )
            raise Forbidden(message, argument="address", choices=allowed) from None
        job.wait()
        result = job.describe()
        if result["run"] is None:
            raise CaptureFailed(job.summary(), argument="address")
        return result
