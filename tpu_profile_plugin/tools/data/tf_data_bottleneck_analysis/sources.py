"""Rules for iterators at the start of a tf.data pipeline: files, tensors, generators, other machines."""

from __future__ import annotations

from collections.abc import Callable

from tpu_profile_plugin.analysis.tf_data import BottleneckFacts, Stage
from tpu_profile_plugin.tools.data.tf_data_bottleneck_analysis.advice import AUTO, Advice, Guide, Step

Rule = Callable[[BottleneckFacts], Advice]

_NEAR = Step("Keep the data near the machine that reads it: in the same region, or on a local disk.")
_OPENERS = {
    "TFRecord": "tf.data.TFRecordDataset",
    "TextLine": "tf.data.TextLineDataset",
    "FixedLengthRecord": "lambda f: tf.data.FixedLengthRecordDataset(f, record_bytes)",
    "CSV": "lambda f: tf.data.experimental.CsvDataset(f, record_defaults)",
}
"""Dataset that opens files, by format; an op of the program reads formats without an entry."""
_BLOCKS = ("TFRecord", "TextLine", "FixedLengthRecord")
"""Formats whose dataset takes the size of a read in bytes."""


def _files(kind: str) -> Rule:
    """The rule for a source that reads files of a format."""

    def rule(facts: BottleneckFacts) -> Advice:
        steps = [_several_files(kind, facts)]
        if kind in _BLOCKS:
            opener = _OPENERS[kind].removeprefix("lambda f: ").split("(")[0]
            size = ", record_bytes" if kind == "FixedLengthRecord" else ""
            text = f"Read larger blocks, of 16 MiB for example: `{opener}(files{size}, buffer_size=16 << 20)`."
            steps.append(Step(text, (Guide.TFRECORD,) if kind == "TFRecord" else ()))
        return Advice("slow_source", (*steps, _NEAR))

    return rule


def _several_files(kind: str, facts: BottleneckFacts) -> Step:
    """The code to read several files at once, or the number of files already read at once."""
    for stage in facts.consumers:
        if "ParallelInterleave" in stage.name:
            return Step(_already(stage), (Guide.EXTRACTION, Guide.INTERLEAVE))
    opener = _OPENERS.get(kind, "open_file")
    text = (
        "Read several files at once: "
        f"`tf.data.Dataset.list_files(pattern).interleave({opener}, {AUTO}, deterministic=False)`. "
        "A single large file has to be split first."
    )
    return Step(text, (Guide.EXTRACTION, Guide.INTERLEAVE))


def _already(stage: Stage) -> str:
    settings = stage.settings
    cycle, known = settings.cycle_length, settings.parallelism
    if known is None:
        known = cycle
    count = "several files" if known is None else f"{known} file{'s' if known > 1 else ''}"
    by = (
        "" if settings.autotune is None else ", chosen by autotuning" if settings.autotune else ", fixed by the program"
    )
    more = "n" if cycle is None else str(max(4, 2 * cycle))
    return (
        f"{stage.name} reads {count} in parallel{by}. If there are more files, read more of them at once: "
        f"`.interleave(f, cycle_length={more}, {AUTO}, deterministic=False)`."
    )


def _generator(_: BottleneckFacts) -> Advice:
    steps = (
        Step(
            "The elements come from a Python generator, which runs on one thread however many CPUs there are. Write "
            "them to files once, in parallel if possible, and read those: "
            "`tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)`.",
            (Guide.TFRECORD, Guide.EXTRACTION),
        ),
        Step(f"Let the generator return indices or file names only, and do the work in `.map(f, {AUTO})`."),
        Step("Let it `yield` a batch at a time: Python then runs once per batch instead of once per element."),
    )
    return Advice("slow_source", steps)


def _tensors(_: BottleneckFacts) -> Advice:
    text = (
        "Its elements are in memory already: the time is the cost of one call per element. Take whole batches: "
        "`tf.data.Dataset.range(len(x)).shuffle(len(x)).batch(n)"
        f".map(lambda i: tf.gather(x, i), {AUTO})`."
    )
    return Advice("slow_source", (Step(text, (Guide.VECTORIZING,)),))


def _range(_: BottleneckFacts) -> Advice:
    text = (
        "It only counts: the time is the cost of one call per element. Batch right after it, `.batch(n)`, and let the "
        "next transformation work on whole batches."
    )
    return Advice("slow_source", (Step(text, (Guide.VECTORIZING,)),))


def _data_service(_: BottleneckFacts) -> Advice:
    steps = (
        Step("The elements come from workers of the tf.data service: profile a worker to see what is slow there."),
        Step("Check that there are enough workers, and how they share the data.", (Guide.SERVICE, Guide.ANALYSIS)),
    )
    return Advice("data_service", steps)


def _remote(_: BottleneckFacts) -> Advice:
    text = "The elements come from another machine: profile that machine to see what is slow there."
    return Advice("remote_source", (Step(text, (Guide.ANALYSIS,)),))


_FILES = (
    "TFRecord SSTable RecordIO Spanner TFColumn SleepwalkRemoteDataset TextLine StitchedTimelineDataset DateKeyDataset "
    "CapacitorProto LMDB ExternalDataset PearModel FixedLengthRecord SyntheticDatasetOp CSV"
)
_REMOTES = "GuzzlerDataGuzzlerRemoteDataset ReverbDataset DatasetSampleGame Courier ReverbEpisodeDataset"
SOURCE_RULES: dict[str, Rule] = {
    **{kind: _files(kind) for kind in _FILES.split()},
    **dict.fromkeys(_REMOTES.split(), _remote),
    **dict.fromkeys(("TensorSlice", "FromTensor"), _tensors),
    "Range": _range,
    "Generator": _generator,
    "DataService": _data_service,
}
