"""A client of `tpu-profile mcp`, made of the `mcp` package, whose calls wait for their answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters

COMMAND = (sys.executable, "-m", "tpu_profile_plugin.cli", "mcp")


@dataclass(frozen=True)
class Agent:
    """A connected client.

    Attributes:
      client: its methods are coroutines; `wait` runs one.
      portal: the thread that runs them.
    """

    client: Client
    portal: BlockingPortal

    def wait(self, method: str, *arguments: Any) -> Any:
        """The result of a method of the client."""
        return self.portal.call(getattr(self.client, method), *arguments)

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, /, **further: Any) -> Any:
        """The envelope that a tool answers, or its error object; structured content and text must be the same."""
        result = self.wait("call_tool", tool, {**(arguments or {}), **further})
        (content,) = result.content
        answer = json.loads(content.text)
        assert answer == result.structured_content
        assert result.is_error == ("error" in answer)
        return answer


@contextmanager
def agent(*arguments: str, mode: str = "auto") -> Iterator[Agent]:
    """A client of a server of its own on stdio, started with these arguments."""
    server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], *arguments], env=dict(os.environ))
    with connected(server, mode) as found:
        yield found


@contextmanager
def connected(server: Any, mode: str = "auto") -> Iterator[Agent]:
    """A client of a server: an address, or anything that `mcp.Client` takes."""
    with start_blocking_portal() as portal:
        client = Client(server, mode=mode)
        with portal.wrap_async_context_manager(client):
            yield Agent(client, portal)


@contextmanager
def http_server(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of a server on a free port, and its process."""
    command = [*COMMAND, "--http", "0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().split()[-1], process
        finally:
            process.terminate()
