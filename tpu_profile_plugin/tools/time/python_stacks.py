"""Python on hosts: time of the threads with Python frames by call stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool


@dataclass(frozen=True)
class HostPythonStacks:
    """The distinct call stacks of a host's threads with Python frames, callers before what they call.

    Attributes:
      names: of frames; Python's begin with `$`.
      name: position of each stack's innermost frame in `names`.
      parent: position of the caller's stack; -1 for threads.
      self_ps: time without the frames called, over all runs.
    """

    host: str
    names: Sequence[str]
    name: I64
    parent: I64
    self_ps: I64


@dataclass(frozen=True)
class PythonStacks(Document):
    """Time of host threads by Python call stack.

    Attributes:
      hosts: those with Python frames.
      reason: why there are none; null if there are some.
    """

    hosts: Sequence[HostPythonStacks] = ()
    reason: str | None = None


def build(run: Run, query: Query) -> PythonStacks:
    """The stacks of the chosen hosts."""
    try:
        by_host = run.python_stacks().hosts
    except NoData as error:
        return PythonStacks(reason=error.message)
    return PythonStacks(
        [HostPythonStacks(host, stacks.names, stacks.name, stacks.parent, stacks.self_ps) for host, stacks in by_host]
    )


TOOL = Tool(
    id="python_stacks",
    title="Python stacks",
    group="Time",
    summary="Time of host threads by Python call stack.",
    build=build,
    offered=False,
)
