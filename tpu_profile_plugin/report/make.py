"""Makes a report of the answers of a server."""

from __future__ import annotations

from tpu_profile_plugin.report.answers import Ask, Collector, Window, defaults
from tpu_profile_plugin.report.file import page
from tpu_profile_plugin.report.redact import LEFT, REPLACED, Redactor
from tpu_profile_plugin.version import __version__


def make(
    ask: Ask, run: str, base: str | None = None, window: Window | None = None, redactor: Redactor | None = None
) -> bytes:
    """The HTML file of a run, compared with `base` if it is given.

    Args:
      ask: the server's answers.
      run, base: names of runs.
      window: what the timeline shows; None: the slowest step and its neighbours, without steps the recording.
      redactor: changes every answer before it is stored.

    Raises NotFound for an unknown run, and NotAvailable if the frontend is not built.
    """
    answers = Collector(ask, run, base, window).answers()
    if redactor is None:
        return page({"run": run, "base": base, "version": __version__, "redacted": None}, defaults(), answers)
    names = {"run": redactor.text(run), "base": base and redactor.text(base)}
    about = {**names, "version": __version__, "redacted": f"{REPLACED}; {LEFT}"}
    return page(about, defaults(), map(redactor, answers))
