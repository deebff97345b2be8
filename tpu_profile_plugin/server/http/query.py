"""Parameters of the query string by name; errors name the parameter."""

from __future__ import annotations

import select
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from werkzeug.wrappers import Request

from tpu_profile_plugin.errors import BadRequest

if TYPE_CHECKING:
    from tpu_profile_plugin.run.host import PerHost

GONE = "tpu_profile.gone"
"""Key of a WSGI environment without a socket: whether the client waits no longer, or None."""


class Place(NamedTuple):
    """Location of a run: the logdir, or with permission the directory `session` or a directory below `below`."""

    run: str | None
    session: str | None = None
    below: str | None = None


class Query:
    """Parameters of one request; an empty value counts as absent."""

    def __init__(
        self, values: Mapping[str, str], request: Request | None = None, needs: tuple[PerHost[Any], ...] = ()
    ) -> None:
        """`request`: the client's, None for an answer that no client waits for; `needs`: see `ToolRequest`."""
        self.needs = needs
        self._values = values
        self._request = request

    def optional(self, name: str) -> str | None:
        """The parameter's text, None when absent or empty."""
        return self._values.get(name) or None

    def required(self, name: str) -> str:
        """The parameter's text; raises BadRequest when it is missing."""
        value = self.optional(name)
        if value is None:
            raise BadRequest(f"Parameter {name!r} is missing.", parameter=name)
        return value

    def flag(self, name: str, default: bool) -> bool:
        """A boolean: true only for the text "true" in any case; absent is the default."""
        value = self.optional(name)
        return default if value is None else value.lower() == "true"

    def names(self, name: str) -> tuple[str, ...]:
        """A comma-separated list without its empty items."""
        return tuple(part for part in (self.optional(name) or "").split(",") if part)

    @property
    def place(self) -> Place:
        """Where the run of the request is."""
        return Place(self.optional("run"), self.optional("session_path"), self.optional("run_path"))

    def client_has(self, etag: str) -> bool:
        """Whether the client has the answer with this etag already."""
        return self._request is not None and self._request.if_none_match.contains_weak(etag)

    def gone(self) -> bool:
        """Whether the client has closed its connection, or says so; False if unknown."""
        environ = {} if self._request is None else self._request.environ
        if (told := environ.get(GONE)) is not None:
            return bool(told())
        connection = environ.get("werkzeug.socket")
        if not isinstance(connection, socket.socket):
            return False
        try:
            readable, _, _ = select.select([connection], [], [], 0)
            return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
        except ConnectionError:
            return True
        except (OSError, ValueError):  # closed by this side, beyond the limit of `select`, or encrypted
            return False
