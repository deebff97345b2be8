"""The routes of answers in advance: start (XProf's `/generate_cache`) and progress."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from werkzeug.wrappers import Request

from tpu_profile_plugin.errors import BadRequest, NotFound
from tpu_profile_plugin.logdir.remote import is_remote
from tpu_profile_plugin.server.ahead import DEFAULT_TOOLS, Job, JobQueue, Step
from tpu_profile_plugin.server.catalog import Catalog, LocatedRun
from tpu_profile_plugin.server.http.answer import NEVER, Answer, json_answer
from tpu_profile_plugin.server.http.guard import Guard
from tpu_profile_plugin.server.http.query import Place, Query
from tpu_profile_plugin.server.loading import load_tools
from tpu_profile_plugin.system import paths

if TYPE_CHECKING:
    from tpu_profile_plugin.tools.tool import Tool


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
        for tag in dict.fromkeys(registry.canonical(name.strip()) for name in wanted):
            tool = next((tool for tool in registry.TOOLS if tag in (tool.id, *tool.aliases)), None)
            if tool is None or tool.available(facts) is not None:
                skipped.append(tag)
            else:
                steps += _steps(tool, located, address)
        if not steps:
            raise BadRequest(f"None of the tools has data in this run: {', '.join(skipped)}.", parameter="tools")
        return Job(located.run.name, steps, tuple(skipped))


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
