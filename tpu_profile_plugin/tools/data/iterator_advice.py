"""Advice for slow tf.data iterators: by kind and recorded settings, suggestions with the code to write."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tpu_profile_plugin.analysis.tf_data import BottleneckFacts, Stage

_GUIDE = "https://www.tensorflow.org/guide/data_performance"
_API = "https://www.tensorflow.org/api_docs/python/tf/data"
AUTO = "num_parallel_calls=tf.data.AUTOTUNE"

Link = tuple[str, str]

_VERSION = re.compile(r"V\d+\Z")


class Guide:
    """Documentation: titles and addresses."""

    ANALYSIS = ("Analyze tf.data performance", "https://www.tensorflow.org/guide/data_performance_analysis")
    EXTRACTION = ("Parallelizing data extraction", _GUIDE + "#parallelizing_data_extraction")
    TRANSFORMATION = ("Parallelizing data transformation", _GUIDE + "#parallelizing_data_transformation")
    CACHING = ("Caching", _GUIDE + "#caching")
    PREFETCHING = ("Prefetching", _GUIDE + "#prefetching")
    VECTORIZING = ("Vectorizing mapping", _GUIDE + "#vectorizing_mapping")
    SERVICE = ("tf.data service", _API + "/experimental/service")
    TFRECORD = ("TFRecordDataset", _API + "/TFRecordDataset")
    INTERLEAVE = ("Dataset.interleave", _API + "/Dataset#interleave")
    SHUFFLE = ("Dataset.shuffle", _API + "/Dataset#shuffle")
    BATCH = ("Dataset.batch", _API + "/Dataset#batch")
    BUCKETS = ("Dataset.bucket_by_sequence_length", _API + "/Dataset#bucket_by_sequence_length")
    REBATCH = ("Dataset.rebatch", _API + "/Dataset#rebatch")


@dataclass(frozen=True)
class Step:
    """One suggestion as text, code in backticks, with links (title, address) to documentation."""

    text: str
    links: tuple[Link, ...] = ()


@dataclass(frozen=True)
class Advice:
    """Suggestions in order; `kind` is a stable identifier of the class of iterators."""

    kind: str
    steps: tuple[Step, ...]

    def text(self) -> str:
        """One step per line, code in backticks."""
        return "\n".join(step.text for step in self.steps)


Rule = Callable[[BottleneckFacts], Advice]


_PARALLEL_READS = (Guide.EXTRACTION, Guide.INTERLEAVE)

OTHER = Advice(
    "other",
    (
        Step(
            "No rule covers this kind of iterator. The guide explains what iterators wait for and how to make them "
            "faster.",
            (Guide.ANALYSIS,),
        ),
    ),
)

_CHEAPER = Step(
    "Make its function cheaper: avoid `tf.py_function` and `tf.numpy_function`, which run on one thread, and if the "
    "function accepts whole batches, write `.batch(n)` before `.map(f)`.",
    (Guide.VECTORIZING,),
)
_RESOURCES = Step(
    "Give the host more CPUs, or distribute the pipeline over several machines: "
    '`.apply(tf.data.experimental.service.distribute("parallel_epochs", "grpc://dispatcher:5000"))`.',
    (Guide.SERVICE,),
)


def base_name(name: str) -> str:
    """The kind of an iterator without the version of its op, e.g. "Batch" for "BatchV2"."""
    return _VERSION.sub("", name)


def advice_for(facts: BottleneckFacts) -> Advice:
    """The advice for a bottleneck."""
    name = base_name(facts.own.name)
    rule = _RULES.get(name)
    if rule is None and "Cache" in name:
        rule = _cache
    if name == "FlatMap" and "Generator" in facts.own.inputs:
        rule = _generator
    if rule is None:
        return OTHER
    advice = rule(facts)
    steps = (*_filling(facts), *advice.steps, *_prefetch_at_the_end(facts))
    return Advice(advice.kind, tuple(dict.fromkeys(steps)))


def _filling(facts: BottleneckFacts) -> tuple[Step, ...]:
    """The remark that a shuffle buffer was filling in this call, so that the bottleneck worked ahead."""
    for stage in (facts.own, *facts.consumers):
        if base_name(stage.name) in _SHUFFLES and stage.input_calls >= 2 * max(1, stage.calls):
            size = stage.settings.buffer_size
            buffer = "its buffer" if size is None else f"its buffer of {size:,} elements"
            text = (
                f"In this call {stage.name} fetched {stage.input_calls:,} elements for {stage.calls:,} that it "
                f"returned: it filled {buffer}. If only the first call is slow, compare with further ranks; else "
                "shuffle something small, such as file names, "
                "`tf.data.Dataset.list_files(pattern, shuffle=True)`, or use a smaller buffer, `.shuffle(n)`."
            )
            return (Step(text, (Guide.SHUFFLE,)),)
    return ()


def _prefetch_at_the_end(facts: BottleneckFacts) -> tuple[Step, ...]:
    """The advice to prefetch, unless a prefetch follows or the chain of consumers is unknown."""
    if not facts.consumers or any(base_name(stage.name) == "Prefetch" for stage in (facts.own, *facts.consumers)):
        return ()
    text = "End the pipeline with `.prefetch(tf.data.AUTOTUNE)`, so that it works ahead while the program computes."
    return (Step(text, (Guide.PREFETCHING,)),)


def _caching(facts: BottleneckFacts) -> tuple[Step, ...]:
    if any("Cache" in stage.name for stage in facts.consumers):
        text = "A cache() follows: this work is done in the first epoch only. Profile a later epoch."
    else:
        text = (
            "If its elements fit in memory and nothing before it is random, write `.cache()` right after it: from the "
            "second epoch on they are read from memory."
        )
    return (Step(text, (Guide.CACHING,)),)


def _map(facts: BottleneckFacts) -> Advice:
    steps = [Step(f"`map()` computes one element at a time. Write `.map(f, {AUTO})`.", (Guide.TRANSFORMATION,))]
    if not any("Batch" in name for name in facts.own.inputs):
        text = f"If its function accepts whole batches, write `.batch(n).map(f, {AUTO})`."
        steps.append(Step(text, (Guide.VECTORIZING,)))
    return Advice("parallel_version", (*steps, *_caching(facts), _RESOURCES))


def _interleave(facts: BottleneckFacts) -> Advice:
    cycle = facts.own.settings.cycle_length
    inputs = "its inputs" if cycle is None else f"its {cycle} inputs" if cycle > 1 else "one input at a time"
    text = (
        f"`interleave()` reads {inputs} on one thread. Write `.interleave(f, {AUTO}, deterministic=False)`, without "
        "`deterministic=False` if the order of the elements matters."
    )
    return Advice("parallel_version", (Step(text, _PARALLEL_READS), *_caching(facts), _RESOURCES))


def _flat_map(facts: BottleneckFacts) -> Advice:
    text = (
        "`flat_map()` reads one input at a time. Write "
        f"`.interleave(f, {AUTO}, deterministic=False)` in its place, without `deterministic=False` if the order of "
        "the elements matters."
    )
    return Advice("parallel_version", (Step(text, _PARALLEL_READS), *_caching(facts), _RESOURCES))


def _parallel(code: str) -> Rule:
    """The rule for a transformation that can work on several elements at once; `code` sets its parallelism."""

    def rule(facts: BottleneckFacts) -> Advice:
        size = facts.own.settings.batch_size
        state = _parallelism(facts, code.replace("batch(n", f"batch({size}") if size else code)
        steps = [state]
        if base_name(facts.own.name) != "ParallelBatch":
            steps.append(_CHEAPER)
        return Advice("parallel", (*steps, *_caching(facts), _RESOURCES))

    return rule


def _parallelism(facts: BottleneckFacts, code: str) -> Step:
    """The recorded parallelism, and the code that raises it."""
    settings, cpus = facts.own.settings, facts.cpu_budget
    known = settings.parallelism
    merged = " `map()` and `batch()` run as one MapAndBatch." if facts.own.dataset.startswith("fused(") else ""
    if known is None or settings.autotune is None:
        text = "Its parallelism and whether it is autotuned are not recorded."
        if known is not None:
            text = f"Its parallelism is {known} in this call; whether it is autotuned is not recorded."
        text = f"{text} Write `{code}`."
        return Step(text + merged, (Guide.TRANSFORMATION,))
    at_once = "one element at a time" if known == 1 else f"{known} elements at a time"
    share = "" if cpus is None else f" (tf.data may use {cpus} CPU{'s' if cpus > 1 else ''})"
    enough = cpus is not None and known >= cpus
    if settings.autotune and enough:
        text = f"It works on {at_once}, chosen by autotuning, which is as much as its CPUs allow{share}."
    elif settings.autotune:
        text = (
            f"It works on {at_once}, chosen by autotuning{share}. Autotuning needs some elements to settle: profile "
            "later in the run, or fix a higher number, "
            f"`num_parallel_calls={cpus if cpus is not None else 2 * known}`."
        )
    elif enough and known > 1:
        text = (
            f"It works on {at_once}, fixed by the program{share}. A higher number helps only where its function "
            "waits, for files or for the network."
        )
    else:
        text = f"It works on {at_once}, fixed by the program{share}. Write `{code}`."
    return Step(text + merged, (Guide.TRANSFORMATION,))


def _parallel_interleave(facts: BottleneckFacts) -> Advice:
    settings = facts.own.settings
    steps = [_inputs_at_once(facts.own)]
    if settings.deterministic:
        text = (
            "It keeps the order of the elements, so that one slow input holds up the others. If the order does not "
            "matter, write `deterministic=False`."
        )
        steps.append(Step(text, (Guide.INTERLEAVE,)))
    return Advice("parallel", (*steps, *_caching(facts), _RESOURCES))


def _inputs_at_once(stage: Stage) -> Step:
    """The number of inputs that a parallel interleave reads at once, and the code that raises it."""
    settings = stage.settings
    known, cycle = settings.parallelism, settings.cycle_length
    if known is None or cycle is None:
        return Step(
            f"Write `.interleave(f, cycle_length=n, {AUTO})` with n larger than now.",
            _PARALLEL_READS,
        )
    by = (
        "" if settings.autotune is None else ", chosen by autotuning" if settings.autotune else ", fixed by the program"
    )
    count = "one input at a time" if cycle == 1 else f"{known} of {cycle} inputs at once"
    state = f"It reads {count}{by}."
    if known < cycle and not settings.autotune:
        return Step(f"{state} Write `.interleave(f, cycle_length={cycle}, {AUTO})`.", _PARALLEL_READS)
    more = max(4, 2 * cycle)
    code = f"`.interleave(f, cycle_length={more}, {AUTO})`"
    return Step(f"{state} If it has more inputs, such as files, write {code}.", _PARALLEL_READS)


def _legacy_interleave(facts: BottleneckFacts) -> Advice:
    cycle = facts.own.settings.cycle_length
    state = "" if cycle is None else f"It reads {cycle} file{'s' if cycle > 1 else ''} at once. "
    text = (
        f"{state}Write `tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)`, or "
        f"`.interleave(f, {AUTO})` for other datasets."
    )
    return Advice("parallel", (Step(text, _PARALLEL_READS), *_caching(facts), _RESOURCES))


def _shuffle(facts: BottleneckFacts) -> Advice:
    shuffle, size = facts.own, facts.own.settings.buffer_size
    known = "" if size is None else f" of {size:,} elements"
    steps = [
        Step(
            f"A shuffle buffer{known} moves every element through memory. Shuffle before elements become large: "
            "write `.shuffle(n)` before the `.map()` that reads or decodes them.",
            (Guide.SHUFFLE,),
        ),
        Step("If a less thorough shuffle suffices, use a smaller buffer, `.shuffle(n)`.", (Guide.SHUFFLE,)),
    ]
    if base_name(shuffle.name) == "ShuffleAndRepeat" or any("Repeat" in stage.name for stage in facts.consumers):
        text = (
            "With `.shuffle().repeat()` the buffer is filled again in each epoch; `.repeat().shuffle(n)` fills it "
            "once, and then mixes elements of neighbouring epochs."
        )
        steps.append(Step(text, (Guide.SHUFFLE,)))
    return Advice("shuffle", tuple(steps))


def _prefetch(facts: BottleneckFacts) -> Advice:
    settings, limit = facts.own.settings, facts.own.settings.buffer_limit
    steps = [
        Step(
            "The program waited for its buffer longer than any of its inputs worked in this call: the producing thread "
            "waited for a CPU, or the calls that made the element are not in the profile. Compare with further ranks, "
            "or record for longer.",
            (Guide.PREFETCHING,),
        )
    ]
    size = "" if limit is None else f"{limit:,} element{'s' if limit > 1 else ''}"
    if settings.autotune is False and size:
        text = f"Its buffer holds {size}, fixed by the program. Write `.prefetch(tf.data.AUTOTUNE)`."
    elif settings.autotune and size:
        text = f"Its buffer holds {size} in this call, chosen by tf.data: a fixed size is unlikely to help."
    else:
        text = "Write `.prefetch(tf.data.AUTOTUNE)`."
    text += (
        " A larger buffer evens out elements that take unequally long; if all of them take longer than a step, make "
        "the iterators below it faster."
    )
    return Advice("prefetch", (*steps, Step(text, (Guide.PREFETCHING,))))


def _batch(facts: BottleneckFacts) -> Advice:
    size = facts.own.settings.batch_size
    count = "its elements" if size is None else f"{size:,} elements"
    code = f".batch({size or 'n'}, {AUTO})"
    text = f"`batch()` collects {count} on one thread. Write `{code}` to make several batches at once."
    steps = [
        Step(text, (Guide.BATCH,)),
        Step(
            "Each element costs a call. Where possible produce larger ones: batch right after the source, and let "
            f"`.map(f, {AUTO})` work on whole batches.",
            (Guide.VECTORIZING,),
        ),
    ]
    return Advice("sequential", (*steps, *_caching(facts)))


def _padded_batch(facts: BottleneckFacts) -> Advice:
    size = facts.own.settings.batch_size or "n"
    text = (
        "`padded_batch()` copies and pads its elements on one thread. Padding less is cheaper: batch elements of "
        "similar length, `.bucket_by_sequence_length(length, boundaries, batch_sizes)`, or do not pad, "
        f"`.ragged_batch({size})`."
    )
    return Advice("sequential", (Step(text, (Guide.BUCKETS,)), *_caching(facts)))


def _filter(facts: BottleneckFacts) -> Advice:
    passed, dropped = facts.own.settings.passed, facts.own.settings.filtered
    total = (passed or 0) + (dropped or 0)
    tally = f" So far it dropped {dropped:,} of {total:,} elements." if dropped else ""
    text = (
        f"`filter()` tests one element at a time.{tally} Filter before the expensive steps, and compute what the "
        f"test needs in a parallel `.map(f, {AUTO})`."
    )
    return Advice("sequential", (Step(text, (Guide.TRANSFORMATION,)), *_caching(facts), _RESOURCES))


def _unbatch(facts: BottleneckFacts) -> Advice:
    text = (
        "`unbatch()` splits one batch at a time. To change the batch size, write `.rebatch(n)`, which does not go "
        "through single elements."
    )
    return Advice("sequential", (Step(text, (Guide.REBATCH,)), *_caching(facts), _RESOURCES))


def _sequential(facts: BottleneckFacts) -> Advice:
    text = (
        "It works on one element at a time. Split the input into shards, give each a pipeline of its own, and merge "
        f"them: `tf.data.Dataset.range(n).interleave(lambda i: pipeline(i), {AUTO})`, where `pipeline(i)` reads "
        "`.shard(n, i)`."
    )
    return Advice("sequential", (Step(text, (Guide.INTERLEAVE, Guide.EXTRACTION)), *_caching(facts), _RESOURCES))


def _cache(_: BottleneckFacts) -> Advice:
    text = (
        "A cache is written in the first epoch and read in later ones: profile a later epoch. If it is a file and the "
        "elements fit in memory, write `.cache()` without a file name."
    )
    return Advice("cache", (Step(text, (Guide.CACHING,)),))


# Iterators at the start of a pipeline: files, tensors, generators, other machines.

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
_SHUFFLES = ("Shuffle", "ShuffleAndRepeat")
_MAP_CODE = f".map(f, {AUTO})"
_RULES: dict[str, Rule] = {
    "Map": _map,
    "Interleave": _interleave,
    "FlatMap": _flat_map,
    "ParallelMap": _parallel(_MAP_CODE),
    "MapAndBatch": _parallel(f"{_MAP_CODE}.batch(n)"),
    "ParallelBatch": _parallel(f".batch(n, {AUTO})"),
    "ParallelFilter": _parallel(_MAP_CODE),
    "ParseExample": _parallel(f"tf.data.experimental.parse_example_dataset(features, {AUTO})"),
    "ParallelInterleave": _parallel_interleave,
    "LegacyParallelInterleave": _legacy_interleave,
    **dict.fromkeys(_SHUFFLES, _shuffle),
    "Prefetch": _prefetch,
    "Batch": _batch,
    "PaddedBatch": _padded_batch,
    "Filter": _filter,
    "Unbatch": _unbatch,
    **dict.fromkeys(("GroupByWindow", "GroupByReducer", "Window", "Scan", "Rebatch"), _sequential),
    **{kind: _files(kind) for kind in _FILES.split()},
    **dict.fromkeys(_REMOTES.split(), _remote),
    **dict.fromkeys(("TensorSlice", "FromTensor"), _tensors),
    "Range": _range,
    "Generator": _generator,
    "DataService": _data_service,
}
