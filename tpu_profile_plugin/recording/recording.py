"""Recordings of this program: `with profile():` around what is recorded, `steps(...)` around what a step works on."""

from __future__ import annotations

import contextlib
import functools
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

from tpu_profile_plugin.errors import BadRequest, NoData, NotAvailable
from tpu_profile_plugin.opening import OpenLogdir, OpenRun, prepare
from tpu_profile_plugin.recording.profilers import Profiler, Wanted, imported

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

SKIPPED = 2
"""Steps that are left out: the first ones compile and fill caches."""
MOST = 20
"""Steps that are recorded: enough for averages, and a profile that opens at once."""
_PLACE = ("plugins", "profile")

_temporary: list[tempfile.TemporaryDirectory[str]] = []
"""Directories of recordings without a `logdir`; they are removed when the program ends."""
_active: Recording | None = None


class Recording(contextlib.ContextDecorator):
    """One recording of this program, as `profile` makes it.

    Attributes:
      logdir: where the run is stored.
      framework: whose profiler records.
      others: further frameworks that the program has imported, and which are not recorded.
    """

    def __init__(
        self, make: Callable[[], tuple[Profiler, list[str]]], logdir: Path | None, skip: int, most: int
    ) -> None:
        self.logdir = logdir
        self.framework, self.others = "", list[str]()
        self._make, self._skip, self._most = make, skip, most
        self._profiler: Profiler | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._steps: int | None = None
        self._run: OpenRun | None = None

    def __enter__(self) -> Recording:
        global _active
        if _active is not None:
            raise BadRequest("The program is recorded already: recordings cannot be nested.")
        self._steps = self._run = None
        prepare()
        self._begin()
        _active = self
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        global _active
        _active = None
        if kind is None:
            self._end()
        else:
            with contextlib.suppress(Exception):  # the program's own error is what matters
                self._end()

    def _begin(self) -> None:
        profiler, self.others = self._make()
        self.framework = profiler.name
        self._scratch = tempfile.TemporaryDirectory(prefix="tpu-profile-", ignore_cleanup_errors=True)
        profiler.begin(Path(self._scratch.name))
        self._profiler = profiler

    def _end(self, *, keep: bool = True) -> None:
        """Ends the recording, if one is running; its run appears in the logdir when it is complete."""
        profiler, self._profiler = self._profiler, None
        scratch, self._scratch = self._scratch, None
        if profiler is None or scratch is None:
            return
        with scratch:
            profiler.end()
            stored = Path(scratch.name, *_PLACE)
            if not keep:
                return
            if not stored.is_dir():
                raise NoData(f"The profiler of {profiler.name} has stored nothing.")
            for session in stored.iterdir():
                self._store(session)

    def _store(self, session: Path) -> None:
        if self.logdir is None:
            _temporary.append(tempfile.TemporaryDirectory(prefix="tpu-profile-", ignore_cleanup_errors=True))
            self.logdir = Path(_temporary[-1].name)
        runs = self.logdir.joinpath(*_PLACE)
        runs.mkdir(parents=True, exist_ok=True)
        names = (session.name, *(f"{session.name}_{i}" for i in range(1, 1000)))
        name = next(name for name in names if not (runs / name).exists())
        shutil.move(session, runs / name)
        self._run = OpenLogdir(self.logdir).run(name)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Marks a step; the first ones are not recorded, nor those after the wanted ones."""
        if self._steps is None:
            self._end(keep=False)  # what was before the first step
            self._steps = 0
        number, self._steps = self._steps, self._steps + 1
        if number == self._skip:
            self._begin()
        with contextlib.nullcontext() if self._profiler is None else self._profiler.step(name, number):
            yield
        if number + 1 == self._skip + self._most:
            self._end()

    @property
    def run(self) -> OpenRun:
        """The recorded run. Raises NoData if nothing was recorded."""
        if self._run is None:
            made = f": of {self._steps} steps, the first {self._skip} are left out (skip=)" if self._steps else ""
            raise NoData(f"Nothing was recorded{made}.")
        return self._run

    def __repr__(self) -> str:
        others = f"; {' and '.join(self.others)} imported too" if self.others else ""
        return f"<Recording of {self.framework or 'nothing yet'}{others}: {self._run!r}>"


def profile(
    logdir: str | Path | None = None,
    *,
    skip: int = SKIPPED,
    most: int = MOST,
    python: bool = True,
    memory: bool = True,
    framework: str | None = None,
) -> Recording:
    """Records what runs in it, as a context manager or a decorator: `with profile() as p: ...`, then `p.run`.

    With `steps` around what the program loops over, the first steps are left out, the next ones are recorded, and the
    program goes on without a recording. Without, everything is recorded, and steps are inferred from repeated work.

    Args:
      logdir: a directory; None: one that ends with the program.
      skip: steps that are left out, because they compile.
      most: steps that are recorded.
      python: record Python functions, which findings need to name lines.
      memory: record allocations, where the profiler can.
      framework: "jax", "tensorflow" or "torch"; None: the first of these that the program has imported.

    Raises NotAvailable if no framework is imported, BadRequest for wrong arguments or a recording within a recording.
    """
    if logdir is not None and "://" in str(logdir):
        raise BadRequest("A recording is stored in a directory of this machine.", parameter="logdir")
    if skip < 0 or most < 1:
        raise BadRequest("skip is at least 0, most at least 1.", parameter="skip" if skip < 0 else "most")
    place = None if logdir is None else Path(logdir).expanduser().resolve()
    return Recording(lambda: imported(framework, Wanted(python, memory)), place, skip, most)


def steps(work: Iterable[T], name: str = "train") -> Iterator[T]:
    """Yields what a program loops over; within `profile`, each round is a step, with the wait for the next item.

    Args:
      work: such as batches, or `range(n)`.
      name: of the steps.
    """
    recording = _active
    if recording is None:
        yield from work
        return
    items = iter(work)
    nothing = object()
    item: Any = next(items, nothing)
    while item is not nothing:
        with recording.step(name) if _active is recording else contextlib.nullcontext():
            yield item
            item = next(items, nothing)


def keras_steps(name: str = "train") -> Any:
    """A callback for `fit`: within `profile`, each batch is a step, with what other callbacks do after it.

    Raises NotAvailable if Keras is not imported.
    """
    keras = sys.modules.get("keras")
    if keras is None:
        raise NotAvailable("Steps of Keras need Keras: import it before.")

    class Steps(keras.callbacks.Callback):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self._step = contextlib.ExitStack()

        def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
            self._step.close()
            if _active is not None:
                self._step.enter_context(_active.step(name))

        def on_train_end(self, logs: object = None) -> None:
            self._step.close()

    return Steps()


def marked(function: F, name: str) -> F:
    """The function, each call of which is a step of the recording that is active then."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        recording = _active
        if recording is None:
            return function(*args, **named)
        with recording.step(name):
            return function(*args, **named)

    return cast(F, call)
