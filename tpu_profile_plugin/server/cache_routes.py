"""The routes of answers in advance: start (XProf's `/generate_cache`) and progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from werkzeug.wrappers import Request

from tpu_profile_plugin.errors import BadRequest, NotFound
from tpu_profile_plugin.logdir.remote import is_remote
from tpu_profile_plugin.server.answer import NEVER, Answer, json_answer
from tpu_profile_plugin.server.cache_jobs import DEFAULT_TOOLS, CacheJob, CacheJobs, Step
from tpu_profile_plugin.server.catalog import Catalog, LocatedRun
from tpu_profile_plugin.server.guard import Guard
from tpu_profile_plugin.server.loading import load_tools
from tpu_profile_plugin.server.query import Query
from tpu_profile_plugin.system import paths

if TYPE_CHECKING:
    from tpu_profile_plugin.tools.tool import Tool

_AS_PAGES_ASK = {"trace_viewer@": {"format": "columns"}}
"""Parameters of our pages beside `extended`, so that it is their answers that are ready."""


class CacheRoutes:
    """The handlers; methods are named after what they do."""

    def __init__(self, guard: Guard, catalog: Catalog, ask: Callable[[Query], object]) -> None:
        self._guard = guard
        self._catalog = catalog
        self._jobs = CacheJobs(ask)

    def start(self, request: Request) -> Answer:
        """Computes the answers of `tools` for a run, in the background; 202 with XProf's fields and the job's."""
        self._guard.check_write(request)
        query = self._addressed(Query(request.args.to_dict()))
        located = self._catalog.locate(query)
        if not located.run.hosts:
            raise NotFound("There are no profiles in this session.", code="no_data", run=located.run.name)
        job = self._jobs.start(self._job(located, query))
        accepted = {"status": "ACCEPTED", "message": "Cache generation started"}
        return _uncached(json_answer(accepted | job.describe(), 202))

    def status(self, request: Request) -> Answer:
        """How far a job is."""
        job_id = request.args.get("job", "")
        if not job_id:
            raise BadRequest("Parameter 'job' is missing.", parameter="job")
        return _uncached(json_answer(self._jobs.find(job_id).describe()))

    def _addressed(self, query: Query) -> Query:
        """The query with `run` in place of a session_path inside the logdir, which needs no permission."""
        path = query.optional("session_path")
        if path is None:
            query.required("run")
            return query
        wanted = _comparable(path)
        for name, location in self._catalog.logdir.scan().locations.items():
            if _comparable(location.path) == wanted:
                return query.having(run=name, session_path="")
        return query

    def _job(self, located: LocatedRun, query: Query) -> CacheJob:
        load_tools()
        from tpu_profile_plugin.tools import registry

        facts = self._catalog.inspect(located).facts
        wanted = query.names("tools") or DEFAULT_TOOLS
        address = {name: query.optional(name) or "" for name in ("session_path", "run_path")}
        address["run"] = located.run.name
        steps: list[Step] = []
        skipped: list[str] = []
        for tag in dict.fromkeys(registry.canonical(name.strip()) for name in wanted):
            tool = next((tool for tool in registry.TOOLS if tag in (tool.id, *tool.aliases)), None)
            if tool is None or tool.available(facts) is not None:
                skipped.append(tag)
            else:
                steps += _steps(tool, located, address)
        if not steps:
            raise BadRequest(f"None of the tools has data in this run: {', '.join(skipped)}.", parameter="tools")
        return CacheJob(located.run.name, steps, tuple(skipped))


def _steps(tool: Tool, located: LocatedRun, address: dict[str, str]) -> list[Step]:
    """The queries of our page of a tool: all hosts merged, or one after another."""
    known = {param.name for param in tool.params}
    further = _AS_PAGES_ASK.get(tool.id, {}) | ({"extended": "true"} if "extended" in known else {})
    base = {**address, "tag": tool.id, **further}
    if tool.hosts.value in ("one", "several") and len(located.run.hosts) > 1:
        return [Step({**base, "host": file.host}) for file in located.run.hosts]
    return [Step(base)]


def _comparable(path: str) -> str:
    """A form of a path that is equal for equal directories."""
    if is_remote(path) or "\0" in path:
        return path.rstrip("/")
    return paths.comparable(path)


def _uncached(answer: Answer) -> Answer:
    return Answer(answer.body, answer.status, "", NEVER)
