"""XProf's form of a capture: options as query parameters, and an answer after the capture has ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.errors import ProfileError

if TYPE_CHECKING:
    from tpu_profile_plugin.capture.job import Job

_RENAMED = {"duration": "duration_ms", "num_retry": "retries", "delay": "delay_ms"}
"""Parameters of XProf -> option names."""

SUCCESS = "Capture profile successfully. Please refresh."
"""XProf's words, which its frontend and scripts look for."""


def capture(start: Callable[[Mapping[str, Any]], Job], parameters: Mapping[str, str]) -> tuple[dict[str, Any], int]:
    """Waits for the capture that `start` makes of options; the JSON of the answer, and its status."""
    try:
        job = start({_RENAMED.get(name, name): value for name, value in parameters.items()})
    except ProfileError as error:
        return {"error": error.message}, error.status
    job.wait()
    if job.state == "done":
        return {"result": SUCCESS, "run": job.session.name, "warnings": job.warnings}, 200
    return {"error": f"UNAVAILABLE: {job.summary()}"}, 500
