"""The profilers of frameworks that the program has imported; none is imported here."""

from __future__ import annotations

import abc
import contextlib
import importlib
import itertools
import re
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tpu_profile_plugin.errors import BadRequest, NotAvailable
from tpu_profile_plugin.recording.stacks import Sample, Sampler, Span, functions


@dataclass(frozen=True)
class Wanted:
    """What is recorded besides ops: Python functions, and memory."""

    python: bool = True
    memory: bool = True


class Profiler(abc.ABC):
    """The profiler of one framework; a recording is begun and ended once.

    Attributes:
      module: what a program that uses the framework has imported.
      name: of the framework.
    """

    module: ClassVar[str]
    name: ClassVar[str]

    def __init__(self, framework: Any, wanted: Wanted) -> None:
        self.framework = framework
        self.wanted = wanted

    @classmethod
    def in_use(cls) -> bool:
        """Whether the program may compute with it: not if another package alone has imported it."""
        return True

    @abc.abstractmethod
    def begin(self, directory: Path) -> None:
        """Begins to record; the run is stored in the logdir `directory`."""

    @abc.abstractmethod
    def end(self) -> None:
        """Waits for the devices, ends the recording and stores it."""

    @abc.abstractmethod
    def step(self, name: str, number: int) -> AbstractContextManager[Any]:
        """Marks what runs in it as a step."""


class Jax(Profiler):
    """JAX, by `jax.profiler`."""

    module, name = "jax", "JAX"

    @classmethod
    def in_use(cls) -> bool:
        """Keras and packages of TensorFlow import JAX where it is installed; the first use sets its devices up."""
        bridge = sys.modules.get("jax._src.xla_bridge")
        initialized = getattr(bridge, "backends_are_initialized", None)
        return bool(initialized()) if callable(initialized) else True

    def begin(self, directory: Path) -> None:
        options = self.framework.profiler.ProfileOptions()
        options.python_tracer_level = int(self.wanted.python)
        self.framework.profiler.start_trace(str(directory), profiler_options=options)

    def end(self) -> None:
        try:
            self.framework.block_until_ready(self.framework.live_arrays())
        except RuntimeError:
            pass  # of an array that was given away meanwhile, or of a failed computation: the program's own matter
        finally:
            self.framework.profiler.stop_trace()

    def step(self, name: str, number: int) -> AbstractContextManager[Any]:
        mark: AbstractContextManager[Any] = self.framework.profiler.StepTraceAnnotation(name, step_num=number)
        return mark


class TensorFlow(Profiler):
    """TensorFlow, by `tf.profiler.experimental`; after 2.15 it records no Python functions, so stacks are sampled."""

    module, name = "tensorflow", "TensorFlow"

    _MESSAGES = "tensorflow.tsl.profiler.protobuf.xplane_pb2"
    _MARK = "tpu-profile: samples of stacks begin"
    """The event that tells the thread's line, and its clock."""
    _messages: Any = None
    _sampler: Sampler | None = None
    _marked_ns: int
    _directory: Path

    def begin(self, directory: Path) -> None:
        profiler = self.framework.profiler.experimental
        options = profiler.ProfilerOptions(host_tracer_level=2, python_tracer_level=int(self.wanted.python))
        profiler.start(str(directory), options)
        self._directory = directory
        version = re.match(r"(\d+)\.(\d+)", self.framework.__version__)
        records_none = version is not None and (int(version[1]), int(version[2])) > (2, 15)
        if self.wanted.python and records_none:
            with contextlib.suppress(ImportError):  # of a version that keeps them elsewhere
                self._messages = importlib.import_module(self._MESSAGES)
        if self._messages is not None:
            with profiler.Trace(self._MARK):
                self._marked_ns = time.perf_counter_ns()
            self._sampler = Sampler()

    def end(self) -> None:
        sampler, self._sampler = self._sampler, None
        if sampler is not None:
            sampler.stop()
        self.framework.profiler.experimental.stop()
        if sampler is not None:
            for file in self._directory.glob("plugins/profile/*/*.xplane.pb"):
                space = self._messages.XSpace.FromString(file.read_bytes())
                for plane in space.planes:
                    self._add(plane, sampler.samples)
                file.write_bytes(space.SerializeToString())

    def _add(self, plane: Any, samples: Sequence[Sample]) -> None:
        """Puts functions of sampled stacks on the line of their thread, in place of the mark, if the plane has it."""
        names = {number: one.name for number, one in plane.event_metadata.items()}
        numbers, unused = {name: number for number, name in names.items()}, itertools.count(max(names, default=0) + 1)
        for line in plane.lines:
            at = next((i for i, one in enumerate(line.events) if names.get(one.metadata_id) == self._MARK), None)
            if at is None:
                continue
            first_ns = line.timestamp_ns
            shift = first_ns + line.events[at].offset_ps // 1000 - self._marked_ns
            del line.events[at]
            events = [
                Span("", begin, begin + one.duration_ps // 1000)
                for one in line.events
                for begin in [first_ns + one.offset_ps // 1000]
            ]
            for name, begin, end in functions([Sample(one.ns + shift, one.calls) for one in samples], events):
                if name not in numbers:
                    number = numbers[name] = next(unused)
                    plane.event_metadata[number].id, plane.event_metadata[number].name = number, name
                since = max(begin - first_ns, 0)
                duration_ps = (end - first_ns - since) * 1000
                line.events.add(metadata_id=numbers[name], offset_ps=since * 1000, duration_ps=duration_ps)

    def step(self, name: str, number: int) -> AbstractContextManager[Any]:
        mark: AbstractContextManager[Any] = self.framework.profiler.experimental.Trace(name, step_num=number, _r=1)
        return mark


class PyTorch(Profiler):
    """PyTorch, by `torch.profiler`."""

    module, name = "torch", "PyTorch"

    _running: Any = None
    _file: Path

    def begin(self, directory: Path) -> None:
        session = directory / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
        self._file = session / f"{socket.gethostname()}.pt.trace.json.gz"
        # Modules are recorded with the stack.
        self._running = self.framework.profiler.profile(
            record_shapes=True, with_stack=self.wanted.python, profile_memory=self.wanted.memory
        )
        self._running.start()

    def end(self) -> None:
        cuda = self.framework.cuda
        if cuda.is_available() and cuda.is_initialized():
            cuda.synchronize()
        self._running.stop()
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._running.export_chrome_trace(str(self._file))

    @contextlib.contextmanager
    def step(self, name: str, number: int) -> Any:
        # What `prof.step()` writes, around the step and not from call to call.
        with self.framework.profiler.record_function(f"ProfilerStep#{number}"):
            yield


PROFILERS: tuple[type[Profiler], ...] = (Jax, TensorFlow, PyTorch)
"""In the order in which they are chosen if a program has imported several and uses them."""


def imported(framework: str | None, wanted: Wanted) -> tuple[Profiler, list[str]]:
    """The profiler of the framework that the program has imported, and the names of others that it could be.

    Args:
      framework: "jax", "tensorflow" or "torch"; None: the first of these that is imported and used, else imported.

    Raises NotAvailable if it is not imported, BadRequest for an unknown one.
    """
    known = {kind.module: kind for kind in PROFILERS}
    if framework is not None and framework not in known:
        raise BadRequest(f"There is no framework {framework!r}: {', '.join(known)}.", parameter="framework")
    found = [kind for kind in PROFILERS if kind.module in sys.modules and framework in (None, kind.module)]
    if not found:
        missing = " or ".join(kind.name for kind in PROFILERS) if framework is None else known[framework].name
        raise NotAvailable(f"Only a framework that is imported can record: import {missing} before.")
    chosen, *others = sorted(found, key=lambda kind: not kind.in_use())
    return chosen(sys.modules[chosen.module], wanted), [kind.name for kind in others]
