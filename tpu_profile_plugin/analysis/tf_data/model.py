"""Results of the tf.data analysis: pipelines, their runs, iterators and recorded settings."""

from __future__ import annotations

from dataclasses import dataclass

COUNTS = ("parallelism", "buffer_size", "buffer_limit", "cycle_length", "batch_size", "cpu_budget")
TALLIES = ("passed", "filtered")
FLAGS = ("autotune", "deterministic")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an iterator at one call; None for settings that the call does not record.

    Attributes:
      parallelism: number of elements, or of inputs, that it works on at once.
      autotune: whether tf.data chooses the parallelism or the buffer; if False, the program fixed it.
      buffer_size: capacity of a shuffle buffer, in elements.
      buffer_limit: capacity of a prefetch buffer at that time, in elements.
      cycle_length: number of inputs that an interleave reads in turn.
      batch_size: elements per batch.
      deterministic: whether the elements keep their order.
      cpu_budget: number of CPUs that tf.data may use; recorded with the root.
      passed, filtered: elements that a filter has kept and dropped so far.
    """

    parallelism: int | None = None
    autotune: bool | None = None
    buffer_size: int | None = None
    buffer_limit: int | None = None
    cycle_length: int | None = None
    batch_size: int | None = None
    deterministic: bool | None = None
    cpu_budget: int | None = None
    passed: int | None = None
    filtered: int | None = None

    def known(self) -> dict[str, int | bool]:
        """The recorded settings by name."""
        values = ((name, getattr(self, name)) for name in (*FLAGS[:1], *COUNTS, *FLAGS[1:], *TALLIES))
        return {name: value for name, value in values if value is not None}


NONE = Settings()


@dataclass(frozen=True, slots=True)
class Stage:
    """An iterator on the way from a bottleneck to the program, in one run.

    Attributes:
      name, dataset: kind of the iterator, and name of its dataset in the program.
      settings: as recorded with its first call in the run.
      inputs: kinds of the iterators that it called, those of the longest duration first.
      calls, input_calls: number of its calls, and of its calls of inputs.
    """

    name: str
    dataset: str = ""
    settings: Settings = NONE
    inputs: tuple[str, ...] = ()
    calls: int = 0
    input_calls: int = 0


@dataclass(frozen=True, slots=True)
class BottleneckFacts:
    """Facts for the advice on a bottleneck; `consumers` are the stages after it, the root last."""

    own: Stage
    consumers: tuple[Stage, ...] = ()

    @property
    def cpu_budget(self) -> int | None:
        """Number of CPUs that tf.data may use; None if it is not recorded."""
        stages = (*self.consumers[::-1], self.own)
        return next((stage.settings.cpu_budget for stage in stages if stage.settings.cpu_budget is not None), None)


@dataclass(frozen=True, slots=True)
class Iterator:
    """One iterator; `name` is its kind, e.g. "ParallelMapV2", `dataset` its name in the program ("" if unknown)."""

    id: int
    parent: int
    name: str
    long_name: str
    dataset: str


@dataclass(frozen=True, slots=True)
class IteratorTimes:
    """Times of an iterator in one run, summed over its calls; `start_ps` is the begin of the first.

    `self_ps` is the duration minus the overlap with the iterators it called; it may be negative if several of them ran
    in parallel. `blocking`: the iterator is on the critical path.
    """

    iterator: Iterator
    start_ps: int
    duration_ps: int
    self_ps: int
    calls: int
    blocking: bool


@dataclass(frozen=True, slots=True)
class Run:
    """One call of a pipeline by the program.

    Attributes:
      begin_ps, duration_ps: of the call.
      iterators: ascending by id; the `left_out` shortest are omitted.
      bottleneck: index of the bottleneck in `iterators`; None if no iterator on the critical path has self time.
    """

    begin_ps: int
    duration_ps: int
    iterators: tuple[IteratorTimes, ...]
    left_out: int
    bottleneck: int | None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One input pipeline; `runs` are its broken down calls, longest first (rank 0, 1, ...), of `calls` in total.

    `facts` are those of the bottleneck of rank 0; None without one.
    """

    name: str
    is_device: bool
    root: Iterator
    calls: int
    slow_calls: int
    min_ps: int
    mean_ps: int
    max_ps: int
    runs: tuple[Run, ...]
    facts: BottleneckFacts | None = None


@dataclass(frozen=True, slots=True)
class TfData:
    """The pipelines of a host, host pipelines first, in file order; its size does not grow with the number of events.

    Attributes:
      host: host name in the profile, "" without one.
      left_out: number of pipelines beyond MAX_PIPELINES.
      cut_runs: number of runs with too many paths through the call graph to follow; occurs only in damaged profiles.
    """

    host: str = ""
    pipelines: tuple[Pipeline, ...] = ()
    left_out: int = 0
    cut_runs: int = 0

    @property
    def nbytes(self) -> int:
        """Estimated size for the cache: rows are objects of a few hundred bytes."""
        rows = sum(len(run.iterators) for pipeline in self.pipelines for run in pipeline.runs)
        return 1000 + 800 * len(self.pipelines) + 400 * rows
