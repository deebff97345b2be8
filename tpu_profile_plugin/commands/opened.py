"""Opens the run that a command is about, and names the hosts that its answer lacks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tpu_profile_plugin.errors import BadRequest

if TYPE_CHECKING:
    from tpu_profile_plugin.reading import OpenRun


@contextmanager
def opened_run(path: str, name: str | None, executor: str = "") -> Iterator[OpenRun]:
    """A context with the run `name` of a logdir, by default the newest, or with that of a single file.

    Raises BadRequest for a name beside a file, NotFound for an unknown run.
    """
    import tpu_profile_plugin
    from tpu_profile_plugin.reading import OpenRun

    opened = tpu_profile_plugin.open(path, executor=executor)
    try:
        if not isinstance(opened, OpenRun):
            yield opened.run(name)
        elif name is None:
            yield opened
        else:
            raise BadRequest(f"{path} is a single file, so there is no run {name!r} to choose.")
    finally:
        opened.close()


def warn_of_left_out(run: OpenRun) -> None:
    """Names the hosts that the last answer lacks on stderr."""
    for host in run.left_out:
        print(f"tpu-profile: host {host['host']} is left out: {host['message']}", file=sys.stderr)
