"""Profiles for scripts and notebooks: runs, hosts, the tables of every tool as plain rows, columns as NumPy arrays.

No server is needed; decoded profiles are cached in memory. Runs of many hosts are read by worker processes. Copies of
remote files are cached in the user's private cache directory, which TensorBoard uses as well.
"""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.cache.files import user_directory
from tpu_profile_plugin.errors import BadRequest, NoData, NotFound, ProfileError
from tpu_profile_plugin.logdir import ContentCache, HostFile, Logdir, Problem, RunFiles
from tpu_profile_plugin.logdir.model import FileKind
from tpu_profile_plugin.logdir.remote import is_remote

if TYPE_CHECKING:
    import numpy as np

    from tpu_profile_plugin.cache.profiles import ProfileCache
    from tpu_profile_plugin.columns import XSpace
    from tpu_profile_plugin.run.facts import RunFacts
    from tpu_profile_plugin.run.inputs import Inputs
    from tpu_profile_plugin.tools.payload import Payload
    from tpu_profile_plugin.workers.executor import Executor

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_COLUMNS_BYTES = 1 << 30
_COPIES_BYTES = 4 << 30
_SINGLE: FileKind = "xplane"
_BACKEND = "backend"
NO_RUN = "No profile: a run is a directory plugins/profile/<session> with <host>.xplane.pb files."
_MOST_NAMED = 10


class ToolTable:
    """A table of a tool's answer: `columns` (ids), `labels`, `units`, `rows` (lists), and `properties`."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        """Converts the JSON form of a DataTable."""
        cols = table["cols"]
        self.columns: list[str] = [str(col.get("id") or col.get("label") or "") for col in cols]
        self.labels: list[str] = [str(col.get("label") or "") for col in cols]
        self.units: list[str] = [str(col.get("unit") or "") for col in cols]
        self.rows: list[list[Any]] = [
            [cell.get("v") if cell else None for cell in row["c"]] for row in table.get("rows", ())
        ]
        self.properties: dict[str, str] = dict(table.get("p") or {})

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yields each row as a dict by column id."""
        for row in self.rows:
            yield dict(zip(self.columns, row, strict=True))

    def column(self, name: str) -> list[Any]:
        """The values of one column, by its id; raises KeyError."""
        if name not in self.columns:
            raise KeyError(name)
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def to_pandas(self) -> Any:
        """A pandas DataFrame, with the column ids as names; needs pandas."""
        import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]

        return pandas.DataFrame(self.rows, columns=self.columns)

    def __repr__(self) -> str:
        return f"<ToolTable {len(self.rows)} rows: {', '.join(self.columns)}>"


class SharedResources:
    """Shared by the runs of a logdir: the cache of columns and the executor, both created on first use."""

    def __init__(self, address: str | None, executor: str = "", copies: tuple[str, int] | None = None) -> None:
        self.address = address
        self.copies = copies
        self._chosen = executor

    @functools.cached_property
    def cache(self) -> ProfileCache:
        """The cache of decoded columns."""
        from tpu_profile_plugin.cache.profiles import ProfileCache

        return ProfileCache(_COLUMNS_BYTES)

    @functools.cached_property
    def executor(self) -> Executor:
        """The executor for runs of many hosts."""
        from tpu_profile_plugin.workers.executor import Executor

        return Executor(self._chosen)

    def close(self) -> None:
        """Ends worker processes now; otherwise they end when idle, or with this process."""
        if "executor" in self.__dict__:
            self.executor.close()


class OpenRun:
    """One run: its hosts, the answers of its tools, its columns."""

    def __init__(self, run: RunFiles, read: Callable[[HostFile], Bytes], shared: SharedResources) -> None:
        self._run = run
        self._read = read
        self._shared = shared
        self._left_out: list[dict[str, Any]] = []

    @property
    def name(self) -> str:
        """The run's name."""
        return self._run.name

    @property
    def hosts(self) -> list[str]:
        """The hosts' names."""
        return [file.host for file in self._run.hosts]

    @property
    def size(self) -> int:
        """Total size of its profiles, in bytes."""
        return self._run.bytes

    @property
    def mtime_ms(self) -> int:
        """When its profiles were last written, ms since 1970; 0 when unknown."""
        return self._run.mtime_ms

    @property
    def problems(self) -> list[str]:
        """Problems of the run's files found without decoding them."""
        return [problem.message for problem in self._run.problems]

    @functools.cached_property
    def facts(self) -> RunFacts:
        """Planes, modules and device types of all readable files; raises CorruptProfile if there is none."""
        from tpu_profile_plugin.run.facts import combine_facts

        facts, errors = self.inspect_files()
        if not facts and errors:
            raise next(iter(errors.values()))
        return combine_facts(facts)

    def inspect_files(self) -> tuple[list[RunFacts], dict[str, ProfileError]]:
        """The facts of each readable file, and the errors of the others by file name."""
        from tpu_profile_plugin.run.host_facts import host_facts

        facts: list[RunFacts] = []
        errors: dict[str, ProfileError] = {}
        for file in self._run.hosts:
            try:
                facts.append(host_facts(file.host, self._read(file)))
            except ProfileError as error:
                errors[file.name] = error
        return facts, errors

    @property
    def left_out(self) -> list[dict[str, Any]]:
        """The hosts that the last answer does not include, each with a code and a message."""
        return self._left_out

    def close(self) -> None:
        """Ends worker processes now; otherwise they end when idle, or with this process."""
        self._shared.close()

    def tools(self) -> dict[str, str | None]:
        """Every tool by id: None if it is available for this run, else the reason why not."""
        from tpu_profile_plugin.tools.registry import TOOLS

        return {tool.id: tool.available(self.facts) for tool in TOOLS if tool.offered}

    def columns(self, host: str | None = None) -> XSpace:
        """The decoded profile of one host as NumPy columns; `host` is optional if there is only one."""
        space: XSpace = self._profile(0, self._choose(host)[0]).space
        return space

    def answer(self, tool: str, host: str | None = None, **params: str | float | bool) -> Any:
        """A tool's answer: parsed JSON, or bytes if it is not JSON. `host` None: all hosts, or the only one.

        Raises NotFound for an unknown tool or host, BadRequest for an invalid parameter, NoData, CorruptProfile.
        """
        body, kind = self.encoded(tool, host, **params)
        return json.loads(body) if kind.startswith("application/json") else body

    def encoded(self, tool: str, host: str | None = None, **params: str | float | bool) -> tuple[bytes, str]:
        """Like `answer`, but the bytes as a server would send them, uncompressed, and their content type."""
        from tpu_profile_plugin.tools.payload import encode

        raw = encode(self._build(tool, host, params))
        if raw.encoding == "gzip":
            import gzip

            return gzip.decompress(raw.body), raw.content_type
        return raw.body, raw.content_type

    def compare(self, base: OpenRun) -> dict[str, Any]:
        """What changed against another run, of any logdir: the answer of the tool `compare`.

        Raises NoData, CorruptProfile.
        """
        from tpu_profile_plugin.tools.payload import encode
        from tpu_profile_plugin.tools.summary import compare

        parsed = {param.name: param.default for param in compare.TOOL.params}
        inputs = replace(self._inputs(self._choose(None), parsed), base=base._inputs(base._choose(None), parsed))
        found: dict[str, Any] = json.loads(encode(compare.TOOL.build(inputs)).body)
        return found

    def table(self, tool: str, host: str | None = None, index: int = 0, **params: str | float | bool) -> ToolTable:
        """One table of a tool's answer, by default the first; raises NoData if there is no such table."""
        tables = self.tables(tool, host, **params)
        if not -len(tables) <= index < len(tables):
            raise NoData(f"The answer of {tool!r} has {len(tables)} tables.")
        return tables[index]

    def tables(self, tool: str, host: str | None = None, **params: str | float | bool) -> list[ToolTable]:
        """All tables of a tool's answer, in order; empty for an answer without tables."""
        answer = self.answer(tool, host, **params)
        parts = answer if isinstance(answer, list) else [answer]
        return [ToolTable(part) for part in parts if isinstance(part, dict) and "cols" in part]

    def _build(self, tag: str, host: str | None, params: Mapping[str, str | float | bool]) -> Payload:
        from tpu_profile_plugin.tools import registry
        from tpu_profile_plugin.tools.left_out import with_left_out

        self._left_out = []
        tool = registry.find(tag)
        known = {param.name for param in tool.params}
        for name in params:
            if name not in known:
                options = ", ".join(sorted(known)) or "none"
                raise BadRequest(f"{tag!r} has no parameter {name!r}; it has: {options}.", parameter=name)
        # As on the pages: op tools show the CPU's ops where there is no device.
        chosen = {**({_BACKEND: "auto"} if _BACKEND in known else {}), **params}
        parsed = {param.name: param.parse(_text(chosen.get(param.name))) for param in tool.params}
        files = self._choose(host)
        if tool.hosts.value == "one" and len(files) > 1:
            raise BadRequest(
                f"{tag!r} shows one host at a time: select one of {', '.join(self.hosts)}.", parameter="host"
            )
        inputs = self._inputs(files, parsed)
        payload = tool.build(inputs)
        missing = [inputs.left_out[at] for at in sorted(inputs.left_out)]
        self._left_out = [host.describe() for host in missing]
        return with_left_out(payload, missing) if missing else payload

    def _inputs(self, files: Sequence[HostFile], params: Mapping[str, Any]) -> Inputs:
        from tpu_profile_plugin.run.inputs import Inputs

        profiles = tuple(self._profile(i, file) for i, file in enumerate(files))
        return Inputs(self.name, profiles, params, executor=self._shared.executor.choose)

    def _choose(self, host: str | None) -> tuple[HostFile, ...]:
        if not self._run.hosts:
            raise NoData(" ".join(self.problems) or "This run contains no profile.")
        if host is None or host == "ALL_HOSTS":
            return self._run.hosts
        for file in self._run.hosts:
            if file.host == host:
                return (file,)
        raise NotFound(f"There is no host {host!r}; the hosts are {', '.join(self.hosts)}.", code="host_not_found")

    def _profile(self, index: int, file: HostFile) -> Any:
        from tpu_profile_plugin.run.host import HostProfile
        from tpu_profile_plugin.workers.task import Origin

        address = self._shared.address
        origin = None if address is None else Origin(address, file, self._shared.copies)
        return HostProfile(
            *(file.host, index, file.name, file.identity, lambda: self._read(file), self._shared.cache),
            origin=origin,
            size=file.size,
            empty=file.size == 0,
        )

    def __repr__(self) -> str:
        return f"<OpenRun {self.name!r}, hosts: {', '.join(self.hosts)}>"


class OpenLogdir:
    """All runs of a logdir, which is scanned again at each call."""

    def __init__(self, path: str, executor: str = "") -> None:
        copies = ContentCache(user_directory("content"), _COPIES_BYTES) if is_remote(path) else None
        self._logdir = Logdir(path, cache=copies)
        self._shared = SharedResources(self._logdir.address, executor, copies.location if copies is not None else None)

    @property
    def path(self) -> str:
        """The path or URL of the logdir."""
        return self._logdir.path

    @property
    def problems(self) -> list[Problem]:
        """Problems of the logdir as a whole."""
        return list(self._logdir.scan().problems)

    def runs(self) -> list[OpenRun]:
        """All runs, the latest session first."""
        return [OpenRun(run, self._logdir.read, self._shared) for run in self._logdir.newest_first()]

    def close(self) -> None:
        """Ends worker processes now; otherwise they end when idle, or with this process."""
        self._shared.close()

    def run(self, name: str | None = None) -> OpenRun:
        """One run, by default the latest session; raises NotFound, which says why there is none or which there are."""
        if name is None:
            runs = self.runs()
            if not runs:
                raise NotFound(self.why_no_run(), code="run_not_found")
            return runs[0]
        try:
            return OpenRun(self._logdir.run(name), self._logdir.read, self._shared)
        except NotFound:
            names = self._logdir.names()
            if not names:
                raise NotFound(self.why_no_run(), code="run_not_found") from None
            like = difflib.get_close_matches(name, names, _MOST_NAMED) or names[:_MOST_NAMED]
            more = f" and {len(names) - len(like)} more" if len(names) > len(like) else ""
            message = f"There is no run {name[:200]!r} in {self.path}; there are {', '.join(like)}{more}."
            raise NotFound(message, code="run_not_found", run=name[:200]) from None

    def why_no_run(self) -> str:
        """Why the logdir has no run: its problems, else what a run is."""
        problems = [problem.message for problem in self.problems]
        return f"{self.path}: {' '.join(problems) or NO_RUN}"

    def __iter__(self) -> Iterator[OpenRun]:
        return iter(self.runs())

    def __len__(self) -> int:
        return len(self._logdir.names())

    def __repr__(self) -> str:
        return f"<OpenLogdir {self.path!r}>"


def open_path(path: str, executor: str = "") -> OpenLogdir | OpenRun:
    """Opens a file or a logdir; raises NotFound if the file does not exist."""
    if path.endswith((".pb", ".riegeli")) or ("://" not in path and Path(path).is_file()):
        return open_file(path)
    return open_logdir(path, executor)


def open_logdir(path: str | Path, executor: str = "") -> OpenLogdir:
    """Opens a logdir by path or URL; `executor` is like the server's flag --profile_executor."""
    return OpenLogdir(str(path), executor)


def open_file(path: str | Path) -> OpenRun:
    """Opens a `.xplane.pb` or `.xplane.riegeli` file as a run of one host; raises NotFound."""
    from tpu_profile_plugin.logdir.files import LocalFiles

    file = Path(path)
    try:
        status = file.stat()
    except OSError:
        raise NotFound(f"There is no file {file.name}.") from None
    host = file.name.removesuffix(".pb").removesuffix(".riegeli").removesuffix(".xplane") or "host"
    entry = HostFile(host, str(file), status.st_size, status.st_mtime_ns, _SINGLE, file.name)
    run = RunFiles(file.parent.name or file.name, file.parent.name, "", (entry,))
    files = LocalFiles()
    return OpenRun(run, lambda host: files.read(host.path, host.size, host.mtime_ns, host.tag), SharedResources(None))


def _text(value: str | float | bool | None) -> str | None:
    return None if value is None else str(value)
