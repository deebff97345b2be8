"""Opens sessions outside the logdir by the full path in a request, below roots that the operator allowed."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.errors import BadRequest, Forbidden, NotFound
from tpu_profile_plugin.logdir.content import ContentCache
from tpu_profile_plugin.logdir.files import Files, LocalFiles
from tpu_profile_plugin.logdir.model import RunFiles
from tpu_profile_plugin.logdir.names import printable
from tpu_profile_plugin.logdir.remote import is_remote, open_remote
from tpu_profile_plugin.logdir.session import holds_run, open_run
from tpu_profile_plugin.system import paths

FLAG = "--profile_allowed_roots"
_SCAN_LIMIT_S = 10.0


class AllowedRoots:
    """Opens sessions by full path; a path is resolved (links, `..`) before it is compared with the roots."""

    def __init__(self, roots: Sequence[str] = (), cache: ContentCache | None = None) -> None:
        self._roots = tuple(roots)
        self._cache = cache

    def session(self, path: str) -> tuple[RunFiles, Files]:
        """The run in the directory `path`, named by its base name, and the filesystem to read it from."""
        files, inner = self._resolve(path, "session_path")
        name = paths.last_part(inner)
        try:
            return open_run(files, inner, printable(name), "."), files
        except (FileNotFoundError, NotADirectoryError):
            raise _absent("session_path") from None

    def below(self, path: str) -> dict[str, tuple[RunFiles, Files]]:
        """The runs below the directory `path`, by name: its sub-directories that hold a profile."""
        files, inner = self._resolve(path, "run_path")
        try:
            files.refresh(inner, _SCAN_LIMIT_S)
            listing = files.entries(inner)
        except (FileNotFoundError, NotADirectoryError):
            raise _absent("run_path") from None
        except PermissionError:
            raise Forbidden("The server may not read this run_path.", parameter="run_path") from None
        runs = {}
        for name in listing.directories:
            directory = files.join(inner, name)
            try:
                if holds_run(files, directory, files.entries(directory).files):
                    runs[printable(name)] = (open_run(files, directory, printable(name), printable(name)), files)
            except OSError:
                continue
        return runs

    def _resolve(self, path: str, parameter: str) -> tuple[Files, str]:
        if not self._roots:
            raise Forbidden(
                f"{parameter} is switched off. Start the server with {FLAG} to allow directories outside the logdir.",
                parameter=parameter,
            )
        if "\0" in path:
            raise BadRequest(f"Parameter {parameter!r} is not a path.", parameter=parameter)
        if is_remote(path):
            return self._resolve_remote(path, parameter)
        if not paths.is_absolute(paths.local(path)):
            raise BadRequest(f"Parameter {parameter!r} must be a full path.", parameter=parameter)
        real = paths.comparable(path)
        for root in self._roots:
            if not is_remote(root) and paths.is_inside(real, paths.comparable(root)):
                return LocalFiles(), real
        raise _refused(parameter)

    def _resolve_remote(self, path: str, parameter: str) -> tuple[Files, str]:
        clean = path.rstrip("/")
        if ".." in clean.split("/"):
            raise _refused(parameter)
        if any(is_remote(root) and (clean + "/").startswith(root.rstrip("/") + "/") for root in self._roots):
            return open_remote(clean, self._cache)
        raise _refused(parameter)


def _refused(parameter: str) -> Forbidden:
    return Forbidden(f"This {parameter} is not below a directory that {FLAG} allows.", parameter=parameter)


def _absent(parameter: str) -> NotFound:
    return NotFound(f"There is no such {parameter}.", code="run_not_found", parameter=parameter)
