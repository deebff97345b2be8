"""What is known about a run without decoding its events: enough to say which tools have something to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from tpu_profile_plugin.columns import Plane, XSpace

_COUNTER = "counter_value"
_DEVICE_TYPE = "device_type_string"
_MEGASCALE = "MegaScale:"


@dataclass(frozen=True, slots=True)
class PlaneFact:
    """One plane of one host's profile: its name, number of lines and size in bytes."""

    host: str
    name: str
    lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something damaged: a stable code, a sentence, and the byte if there is one."""

    code: str
    message: str
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The planes and HLO modules of a run, over all its readable hosts.

    Attributes:
      hosts: names of the hosts whose files were read.
      planes: all planes, host after host in file-name order.
      modules: (`name(program id)`, program id) of the HLO modules in `/host:metadata`, each once, sorted.
      device_types: e.g. "TPU v6 Lite", or "TPU", "GPU" where the profile does not say more; "CPU"
        when there is no device; sorted.
      counter_values: whether a TPU plane declares the stat `counter_value`.
      megascale: whether the host plane declares an event named `MegaScale:...`.
      requests: whether the host plane declares an event that begins a request or a batch of a model server.
      tf_data: whether the host plane declares an iterator of tf.data.
      oddities: what is damaged in a host's file of which the rest can be shown; empty for a run.
    """

    hosts: tuple[str, ...] = ()
    planes: tuple[PlaneFact, ...] = ()
    modules: tuple[tuple[str, int], ...] = ()
    device_types: tuple[str, ...] = ()
    counter_values: bool = False
    megascale: bool = False
    requests: bool = False
    tf_data: bool = False
    oddities: tuple[Oddity, ...] = ()

    def has_plane(self, prefix: str) -> bool:
        """Whether some host has a plane whose name starts with `prefix`, e.g. "/device:GPU:"."""
        return any(plane.name.startswith(prefix) for plane in self.planes)

    def module_names(self) -> tuple[str, ...]:
        """The modules as `name(program id)`, sorted."""
        return tuple(name for name, _ in self.modules)


def look(host: str, data: np.ndarray[Any, np.dtype[np.uint8]]) -> RunFacts:
    """The facts of one host's file. Raises CorruptProfile."""
    from tpu_profile_plugin.analysis.inference_events import has_requests
    from tpu_profile_plugin.analysis.tf_data import has_iterators
    from tpu_profile_plugin.columns import load, peek

    summary = peek(data)
    space = load(data, planes=("/device:", "/host:CPU"), events=False)
    planes = tuple(PlaneFact(host, plane.name, plane.lines, plane.bytes) for plane in summary.planes)
    return RunFacts(
        hosts=(host,),
        planes=planes,
        modules=tuple((module.name, module.program_id) for module in summary.hlo_modules),
        device_types=tuple(kind for plane in space.planes for kind in _device_type(space, plane)),
        counter_values=any(
            plane.name.startswith("/device:TPU:") and plane.stat_metadata.row(_COUNTER) is not None
            for plane in space.planes
        ),
        megascale=any(
            plane.name == "/host:CPU" and any(name.startswith(_MEGASCALE) for name in plane.event_metadata.names)
            for plane in space.planes
        ),
        requests=any(plane.name == "/host:CPU" and has_requests(plane) for plane in space.planes),
        tf_data=any(plane.name == "/host:CPU" and has_iterators(plane) for plane in space.planes),
        oddities=(*_broken_modules(summary.broken_modules), *(Oddity("too_many", text) for text in summary.excess)),
    )


def _broken_modules(broken: Sequence[tuple[str, str, int]]) -> Iterator[Oddity]:
    """What is to be said about HLO modules that do not decode."""
    if not broken:
        return
    _, message, offset = broken[0]
    names = ", ".join(name for name, _, _ in broken[:3]) + (", ..." if len(broken) > 3 else "")
    what = f"HLO module {names} does" if len(broken) == 1 else f"{len(broken)} HLO modules ({names}) do"
    yield Oddity("damaged_module", f"{what} not decode: {message}. What else the file holds is shown.", offset)


def events_in(data: bytes | memoryview) -> int:
    """The number of events of a profile. Raises CorruptProfile."""
    import numpy as np

    from tpu_profile_plugin.columns import load

    space = load(np.frombuffer(data, np.uint8))
    return sum(len(plane.events.duration_ps) for plane in space.planes)


def united(hosts: Sequence[RunFacts]) -> RunFacts:
    """The facts of a run out of those of its hosts."""
    kinds = {kind for host in hosts for kind in host.device_types}
    if not kinds and any(plane.name == "/host:CPU" for host in hosts for plane in host.planes):
        kinds = {"CPU"}
    return RunFacts(
        hosts=tuple(name for host in hosts for name in host.hosts),
        planes=tuple(plane for host in hosts for plane in host.planes),
        modules=tuple(sorted({module for host in hosts for module in host.modules})),
        device_types=tuple(sorted(kinds)),
        counter_values=any(host.counter_values for host in hosts),
        megascale=any(host.megascale for host in hosts),
        requests=any(host.requests for host in hosts),
        tf_data=any(host.tf_data for host in hosts),
    )


def _device_type(space: XSpace, plane: Plane) -> Iterable[str]:
    """The plane's own word for its device, else the kind in its name; nothing for host planes."""
    if not plane.name.startswith("/device:"):
        return
    from tpu_profile_plugin.columns import stats

    codes, texts = stats.strings(space, plane, plane.stats, _DEVICE_TYPE)
    if len(codes) and codes[0] >= 0:
        yield texts[codes[0]]
    else:
        kind = plane.name.removeprefix("/device:").partition(":")[0]
        if kind in ("TPU", "GPU"):
            yield kind
