"""What the exports of timelines share: the clocks of hosts, and files that may be compressed."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.figures.communication import run_communication
from tpu_profile_plugin.run.run import Run

_LEVEL = 1


def clock_shifts(run: Run) -> dict[str, int]:
    """What to add to the times of each host, in ps, so that its clock agrees with the first one's.

    As the page Communication measures it, by collectives that end together. Raises NoData if that is not possible for
    a host.
    """
    if len(run.readable) < 2:
        return {}
    communication = run_communication(run)
    hosts = [host.name for host in run.readable]
    offsets = dict(zip(communication.hosts, communication.offsets, strict=True))
    first = communication.hosts[0] if communication.hosts else 0
    unknown = [name for i, name in enumerate(hosts) if offsets.get(i) is None and i != first]
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        message = (
            f"The clock of host {unknown[0]}{more} cannot be compared with that of {hosts[first]}: "
            "too few collectives of all devices were recorded. Export without --align."
        )
        raise NoData(message)
    return {hosts[i]: offset.offset_ps for i, offset in offsets.items() if offset is not None}


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Callable[[bytes], object]]:
    """Writes to a new file, compressed if its name ends with `.gz`."""
    with path.open("xb") as file:
        if path.suffix != ".gz":
            yield file.write
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=file, mtime=0) as packed:
            yield packed.write


def utf8(name: str) -> str:
    """The name of a file as text that can be written: other bytes become question marks."""
    return name.encode(errors="replace").decode()
