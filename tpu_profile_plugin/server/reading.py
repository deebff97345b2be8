"""The routes for reading: each parses its parameters, calls the catalog or the tools, and returns an answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

import tpu_profile_plugin
from tpu_profile_plugin.cache.bodies import Body
from tpu_profile_plugin.compat import wing, xprof_form, xprof_reading
from tpu_profile_plugin.errors import FileChanged
from tpu_profile_plugin.logdir import Problem, RunFiles
from tpu_profile_plugin.server.catalog import (
    Catalog,
    InspectedRun,
    all_hosts,
    chosen_hosts,
    hosts_offered,
)
from tpu_profile_plugin.server.http.answer import JSON, NEVER, Answer, json_answer, text_answer
from tpu_profile_plugin.server.http.query import Place, Query
from tpu_profile_plugin.server.loading import load_tools
from tpu_profile_plugin.server.options import Options
from tpu_profile_plugin.server.results import Results, Side, ToolRequest
from tpu_profile_plugin.units import MS_PER_S, NS_PER_MS

PATTERNS = (
    "plugins/profile/<session>/<host>.xplane.pb",
    "<run>/plugins/profile/<session>/<host>.xplane.pb",
    "<directory>/<host>.xplane.pb",
    "<directory>/<rank>.pt.trace.json.gz",
)
Form = Literal["data", "page"]
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


class Routes:
    """The handlers; methods are named after their routes."""

    def __init__(self, options: Options, catalog: Catalog, results: Callable[[], Results]) -> None:
        self._options = options
        self._catalog = catalog
        self._results = results

    def config(self, _: Query) -> Answer:
        """The settings of the page."""
        return json_answer(
            {
                "enableTabNameLabel": self._options.tab_name_label,
                "hideCaptureProfileButton": self._options.hide_capture_button
                or self._options.capture_hosts.lower() == "off",
                "srcPathPrefix": self._options.src_prefix,
                "xprofReading": wing() is not None,
                **({"note": self._options.note} if self._options.note else {}),
            }
        )

    def version(self, _: Query) -> Answer:
        """The version of the package."""
        return text_answer(tpu_profile_plugin.__version__)

    def status(self, _: Query) -> Answer:
        """The result of the last scan, for the page that is shown without runs."""
        scan = self._catalog.logdir.scan()
        return json_answer(
            {
                "version": tpu_profile_plugin.__version__,
                "logdir": self._catalog.logdir.path,
                "absolute_logdir": self._catalog.logdir.absolute_path,
                "patterns": list(PATTERNS),
                "scanned_directories": scan.directories,
                "scan_ms": round((scan.ended - scan.began) * MS_PER_S, 3),
                "runs": len(scan.locations),
                "capture_enabled": self._options.capture_enabled,
                "capture_hosts": self._options.capture_hosts,
                "problems": [problem.describe() for problem in scan.problems],
            }
        )

    def runs(self, query: Query) -> Answer:
        """The names of the runs, descending."""
        return json_answer(self._catalog.names(query.place))

    def runs_info(self, query: Query) -> Answer:
        """The runs with sizes and problems, without opening files."""
        return json_answer([_run_summary(run) for run in self._catalog.runs(query.place)])

    def base_runs(self, query: Query) -> Answer:
        """The runs that share programs with a run, most first: bases to compare it with."""
        return json_answer([{"run": name, "shared": shared} for name, shared in self._catalog.related(query.place)])

    def run_tools(self, query: Query) -> Answer:
        """The ids of the tools that XProf lists, in menu order; with `own=true` of all that have data."""
        load_tools()

        inspected = self._catalog.inspect(self._catalog.locate(query.place))
        xprof = wing()
        own = query.flag("own", default=False)
        always = xprof.ALWAYS_LISTED if xprof is not None and not own and inspected.facts.hosts else frozenset[str]()
        available = [
            tool["id"]
            for tool in _tools(inspected, [])
            if (tool["available"] or tool["id"] in always) and (xprof is None or own or tool["id"] in xprof.LISTED)
        ]
        if "trace_viewer@" in available and "trace_viewer" in available:
            available.remove("trace_viewer")
        return json_answer(available)

    def run_info(self, query: Query) -> Answer:
        """One run: hosts, device types, tools with the reasons why they are unavailable, problems."""
        located = self._catalog.locate(query.place)
        inspected = self._catalog.inspect(located)
        run = located.run
        hosts = [
            {
                "name": file.host,
                "bytes": file.size,
                "mtime_ms": file.mtime_ns // NS_PER_MS,
                "kind": file.kind,
                "problem": _described(inspected.problems.get(file.name)),
            }
            for file in run.hosts
        ]
        problems = [problem.describe(with_host=False) for problem in inspected.losses]
        return json_answer(
            {
                "run": run.name,
                "hosts": hosts,
                "device_types": list(inspected.facts.device_types),
                "tools": _tools(inspected, problems, run),
                "problems": problems,
            }
        )

    def hosts(self, query: Query) -> Answer:
        """The hosts that a tool can show; the tool's name is not checked."""
        load_tools()
        from tpu_profile_plugin.tools import registry
        from tpu_profile_plugin.tools.tool import HostChoice

        run = self._catalog.locate(query.place).run
        tag = registry.canonical(query.optional("tag") or "")
        tool, xprof = registry.named(tag), wing()
        if xprof is not None and (tool is None or tool.id in xprof.ORDER):
            names = xprof.hosts_listed(run, tag)
        else:
            names = hosts_offered(run, HostChoice.ONE if tool is None else tool.hosts)
        return json_answer([{"hostname": name} for name in names])

    def module_list(self, query: Query) -> Answer:
        """The HLO modules of a run, sorted and joined by commas; with `format=json` a list."""
        located = self._catalog.locate(query.place)
        names = list(self._catalog.inspect(located).facts.module_names())
        if query.optional("format") == "json":
            return json_answer(names)
        xprof = wing()
        return text_answer(",".join(names) or (xprof.NO_MODULE if xprof is not None and located.run.hosts else ""))

    def page(self, query: Query) -> Answer:
        """A tool's document: what its page receives; with `reading=xprof` XProf's figures, where the tool has them."""
        return self._answer(query, form="page")

    def data(self, query: Query) -> Answer:
        """A tool's answer as XProf gives it; of a tool that XProf lacks the document."""
        if query.optional("run") is None and (answer := _without_run(query)) is not None:
            return answer
        return self._answer(query, form="data")

    def data_csv(self, query: Query) -> Answer:
        """A table of a tool's answer as a CSV download: the table named by `table`, else the first.

        Texts that a spreadsheet would compute have an apostrophe before them, but with `spreadsheet=false`.
        """
        return self._answer(query, form="page", csv=query.optional("table") or "")

    def progress(self, query: Query) -> Answer:
        """The progress of the answer to the same query of `/page`; null if it is not being computed."""
        read = self._results().progress.of(self._request(query, "page").key)
        done, total, missing = (None, None, ()) if read is None else read
        return json_answer({"done": done, "total": total, "missing": [*missing]}, cache=NEVER)

    def _answer(self, query: Query, form: Form, csv: str | None = None, tries: int = 2) -> Answer:
        """A tool's answer; computed again if a file changes meanwhile, which raises FileChanged the second time."""
        request = self._request(query, form, csv)
        headers = (("Content-Disposition", f'attachment; filename="{_csv_name(query)}"'),) if csv is not None else ()
        fresh = not query.flag("use_saved_result", default=True)
        if not fresh and query.client_has(request.key):
            return Answer(Body(b"", JSON), etag=request.key)  # becomes a 304 without computing the answer
        try:
            body = self._results().get(request, fresh=fresh, gone=query.gone)
        except FileChanged:
            if tries == 1:
                raise
            return self._answer(query, form, csv, tries - 1)
        if body.stable and body.complete:
            return Answer(body, etag=request.key, headers=headers)
        return Answer(body, cache=NEVER, headers=headers)

    def _request(self, query: Query, form: Form, csv: str | None = None) -> ToolRequest:
        """The request for a tool's answer, with all names of the query looked up."""
        load_tools()
        from tpu_profile_plugin.tools import registry

        located = self._catalog.locate(query.place)
        tag = query.required("tag")
        reads_xprof = form == "page" and query.optional("reading") == "xprof"
        xprofs = xprof_form(tag) if form == "data" else xprof_reading(tag) if reads_xprof else None
        tool = xprofs or registry.find(tag)
        hosts = chosen_hosts(located.run, tool.hosts, query.optional("host"), query.names("hosts"))
        params = {param.name: param.parse(query.optional(param.name)) for param in tool.params}
        base = None
        if tool.compares:  # the run of the same directory that the parameter `base` names, with all its hosts
            other = self._catalog.locate(Place(query.required("base"), below=query.place.below))
            base = Side(other, all_hosts(other.run))
        made: Literal["page", "reading", "data"] = "page" if xprofs is None else "data" if form == "data" else "reading"
        spreadsheet = csv is not None and query.flag("spreadsheet", default=True)
        return ToolRequest(located, tool, hosts, params, csv, base, made, query.needs, spreadsheet)


def _without_run(query: Query) -> Answer | None:
    """The answer to a request that needs no run; None if it needs one."""
    load_tools()
    from tpu_profile_plugin.tools.payload import encode

    tag = query.optional("tag")
    tool = None if tag is None else xprof_form(tag)
    if tool is None or tool.without_run is None:
        return None
    payload = tool.without_run({param.name: param.parse(query.optional(param.name)) for param in tool.params})
    return None if payload is None else Answer(Body(encode(payload).body, JSON), etag="")


def _described(problem: Problem | None) -> dict[str, Any] | None:
    return None if problem is None else problem.describe(with_host=False) | {"offset": problem.offset}


def _run_summary(run: RunFiles) -> dict[str, Any]:
    return {
        "run": run.name,
        "session": run.session,
        "directory": run.directory,
        "hosts": len(run.hosts),
        "bytes": run.bytes,
        "mtime_ms": run.mtime_ms,
        "problems": [problem.describe() for problem in run.problems],
    }


def _tools(
    inspected: InspectedRun, problems: list[dict[str, Any]], run: RunFiles | None = None
) -> list[dict[str, Any]]:
    """Every offered tool with its availability; without a readable file, none is available."""
    from tpu_profile_plugin.tools.registry import TOOLS

    unreadable = None
    if not inspected.facts.hosts:
        unreadable = " ".join(str(problem["message"]) for problem in problems) or "No file of this run can be read."
    tools = []
    for tool in TOOLS:
        if not tool.offered:
            continue
        lacks = tool.lacks(inspected.facts)
        reason = unreadable or (lacks and lacks.sentence)
        remedy = "" if unreadable or not lacks else lacks.remedy.of(inspected.facts.frameworks)
        tools.append(
            {
                "id": tool.id,
                "title": tool.title,
                "group": tool.group,
                "summary": tool.summary,
                "hosts": tool.hosts.value,
                "host_names": hosts_offered(run, tool.hosts) if run is not None else [],
                "available": reason is None,
                "reason": reason,
                **({"remedy": remedy} if remedy else {}),
                "params": [param.describe() for param in tool.params],
            }
        )
    return tools


def _csv_name(query: Query) -> str:
    host = (query.optional("host") or "").rsplit("-", 1)[-1]
    parts = (query.optional("tag"), query.optional("run"), host)
    return _UNSAFE.sub("_", "_".join(part for part in parts if part)) + ".csv"
