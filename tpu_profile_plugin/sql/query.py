"""`start`: runs a statement over the tables of some runs, in a process of its own, and returns its handle at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.sql.limits import Limits
from tpu_profile_plugin.sql.result import Result

State = Literal["waiting", "reading", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True)
class Status:
    """How far a query is.

    Attributes:
      state: "waiting" for a free process, "reading" profiles into tables (the first query of a run), "running" the
        statement, or ended: "done", "failed", "cancelled".
      elapsed_s: since the start, or until the end.
      doing: a phrase such as "Reading events of run 2026_01_15 (2 of 5)"; "" when there is nothing to tell.
      done, total: tables read, of those to read; total 0 when none is read.
    """

    state: State
    elapsed_s: float
    doing: str = ""
    done: int = 0
    total: int = 0


class Query:
    """A query that runs, or has run."""

    def status(self) -> Status:
        """How far it is; returns at once."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Stops it: its process is killed. Returns at once; without effect on a query that has ended."""
        raise NotImplementedError

    def result(self, timeout: float | None = None) -> Result:
        """Waits for the result, for `timeout` seconds at most (TimeoutError).

        Raises what went wrong: `QueryRefused` for a statement that is not allowed, `QueryFailed` for one that DuckDB
        cannot run (a typing error, an unknown column), `QueryStopped` for one that was cancelled or reached a limit,
        and what reading the profiles raises if no run can be read. `details` of the first two may have `line` and
        `column`, counted from 1.
        """
        raise NotImplementedError


def start(runs: Sequence[RunHosts], statement: str, limits: Limits | None = None) -> Query:
    """Starts a query over these runs, whose rows the tables hold together (`run` and `host` tell them apart).

    Returns before anything is read. Raises NotAvailable if DuckDB or pyarrow is not installed (`missing()` says so
    beforehand), and NotFound without runs.
    """
    raise NotImplementedError


def missing() -> str:
    """What to install for SQL, as a sentence; "" if everything is there. Imports nothing."""
    raise NotImplementedError
