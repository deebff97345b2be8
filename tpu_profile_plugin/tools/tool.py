"""Declaration of a tool: id, parameters, hosts, availability, and the function that builds its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, get_args, get_type_hints

from tpu_profile_plugin.analysis.common.reasons import Reason
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.host import PerHost
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tools.params import Param, ParamValue
from tpu_profile_plugin.tools.payload import Payload
from tpu_profile_plugin.tools.query import Query


class HostChoice(str, Enum):
    """Which hosts of a run one request of a tool may name."""

    ONE = "one"
    """Exactly one host; optional for runs of one host."""
    SEVERAL = "several"
    """Any set of hosts, given as `hosts=a,b`; all by default."""
    ONE_OR_ALL = "one_or_all"
    """One host, or all of them merged; all by default."""
    ALL_ONLY = "all"
    """As ONE_OR_ALL, but pages only offer all hosts merged."""


def _nothing(_: RunFacts) -> Reason | None:
    return None


@dataclass(frozen=True)
class Tool:
    """A tool: declared by a module of the `tools` package and listed in `registry.TOOLS`.

    Attributes:
      id: the value of `tag` in requests; never changes.
      title: the name in the menu.
      group: the heading in the menu: Summary, Ops, Time, Memory, Fleet or Data.
      summary: one sentence about the question it answers.
      build: makes the answer; raises only subclasses of ProfileError.
      needs: per-host steps that `build` and the pages opened next ask for, so that other processes read each file once.
      hosts: which hosts a request may name.
      params: the query parameters it reads; others are ignored and not part of the cache key.
      version: to be incremented whenever the same input gives another answer; invalidates cached answers.
      lacks: returns None if the run has the data that the tool needs, else the reason. A tool that lacks data is not
        listed but still answers requests.
      aliases: older ids of this tool.
      offered: False for a tool that answers requests but is never listed.
      compares: a request names a second run as `base`; it is `Query.base`.
      needs_server: why a report, which has no server, lacks its page; "" for tools whose answers can be stored.
      without_run: the answer to parameters that need no run, None for others; None: every request needs one.
    """

    id: str
    title: str
    group: Literal["Summary", "Ops", "Time", "Memory", "Fleet", "Data"]
    summary: str
    build: Callable[[Run, Query], Payload]
    hosts: HostChoice = HostChoice.ONE_OR_ALL
    params: tuple[Param, ...] = ()
    needs: tuple[PerHost[Any], ...] = ()
    version: int = 1
    lacks: Callable[[RunFacts], Reason | None] = _nothing
    aliases: tuple[str, ...] = ()
    offered: bool = True
    compares: bool = False
    needs_server: str = ""
    without_run: Callable[[Mapping[str, ParamValue]], Payload | None] | None = None

    def available(self, facts: RunFacts) -> str | None:
        """None if the run has the data that the tool needs, else the reason, as one sentence."""
        reason = self.lacks(facts)
        return None if reason is None else reason.sentence

    def query(self, given: Mapping[str, str | None], base: Run | None = None) -> Query:
        """The parsed parameters, defaults filled in; others are ignored. Raises BadRequest."""
        return Query({param.name: param.parse(given.get(param.name)) for param in self.params}, base)

    @property
    def document(self) -> type[Document] | None:
        """The class of the documents that `build` makes, perhaps beside files (`Raw`); None for another payload."""
        made = get_type_hints(self.build).get("return")
        classes = [cls for cls in (made, *get_args(made)) if isinstance(cls, type) and issubclass(cls, Document)]
        return next((cls for cls in classes if cls is not Document), None)
