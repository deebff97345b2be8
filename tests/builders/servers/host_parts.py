"""Per-host functions for tests of executors, in a module so that worker processes can import them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.host import HostProfile, per_host

HEAVY = ("tensorboard", "tensorflow", "grpc", "werkzeug", "distributed", "tpu_profile_plugin.server")


@per_host()
def planes(host: HostProfile) -> tuple[str, ...]:
    """Names of the planes."""
    return tuple(plane.name for plane in host.space.planes)


@per_host()
def process(host: HostProfile) -> int:
    """The id of the process that computes the step."""
    return os.getpid()


@per_host()
def heavy_imports(host: HostProfile) -> list[str]:
    """Modules that a worker should not import, if it has."""
    return [name for name in HEAVY if name in sys.modules]


@per_host()
def dies(host: HostProfile, wanted: str) -> str:
    """Kills the process at the host `wanted`."""
    if host.name == wanted:
        os._exit(3)
    return host.name


@per_host()
def dies_once(host: HostProfile, marker: str) -> int:
    """Kills the process at the first attempt for any host."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return os.getpid()
    os._exit(3)


@per_host()
def count(host: HostProfile) -> int:
    """The number of planes; needs the step `planes`."""
    return len(planes(host))


@per_host()
def leaves_mark(host: HostProfile, directory: str) -> str:
    """Creates a file, after a delay."""
    time.sleep(0.05)
    (Path(directory) / host.name).touch()
    return host.name


@per_host()
def fails(host: HostProfile, wanted: str) -> str:
    """Raises a ProfileError."""
    if host.name == wanted:
        raise NoData("nothing here", hint="x")
    return host.name


@per_host()
def breaks(host: HostProfile, wanted: str) -> str:
    """Raises an unexpected error."""
    if host.name == wanted:
        raise ZeroDivisionError("by the test")
    return host.name


@per_host()
def prints(host: HostProfile) -> str:
    """Prints to standard output, which carries the replies."""
    print("noise" * 1000, flush=True)
    return host.name


@per_host()
def waits_for(host: HostProfile, directory: str) -> str:
    """Leaves a mark, and ends when there is a file `go`."""
    (Path(directory) / f"{host.name}.{os.getpid()}").touch()
    for _ in range(3000):
        if (Path(directory) / "go").exists():
            return host.name
        time.sleep(0.02)
    raise NoData("nothing came")
