"""Inference profile: latency of the requests and batches of a model server, and time per phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import NO_REQUESTS, Reason
from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.serving import (
    ALL_MODELS,
    Batch,
    BatchingParameters,
    Inference,
    Phase,
    Request,
    sample,
)
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.figures.summary import host_inference
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Column, Table, numbers, texts
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import HostChoice, Tool
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_S

NOT_APPLICABLE = "N/A"


def _ms(id_: str, label: str, sentence: str, *, extra: bool = False) -> Column:
    return numbers(id_, label, "ms", sentence, extra=extra)


_PERCENTILE = texts("percentile", "Percentile", "Share of items that are faster, or the averaged group.")
_URL = texts("trace_viewer_url", "Trace Viewer URL", "Address in the trace viewer.")
_THROUGHPUT = Column("throughput", "Throughput", "string", "1/s", "Items per second; of averages only.")
REQUEST_COLUMNS = (
    _PERCENTILE,
    texts("request_id", "Request ID", "Group id of the request's events."),
    _ms("latency_ms", "Latency", "From the first event of the request to the end of the last."),
)
BATCHED_COLUMNS = (
    numbers("batching_request_size", "Request size", "", "Number of inputs in the request."),
    _ms("host_batch_formation", "Host batch formation", "Time until the batch of the request starts."),
    _THROUGHPUT,
)
PHASE_COLUMNS = (
    _ms("host_preprocessing", "Host preprocess", "Time on the host before the program is called."),
    _ms("host_runtime", "Host runtime", "Time from the call until the program is enqueued on the device."),
    _ms("data_transfer_h2d", "Data transfer H2D", "Time of copying inputs to the device."),
    _ms("data_transfer_d2h", "Data transfer D2H", "Time of copying results from the device."),
    _ms("device_compute", "Device compute", "Time in which the device runs the program."),
    _ms("host_postprocess", "Host postprocess", "Time on the host after the program ends."),
    _ms("idle time", "Idle time", "Time in none of the other parts."),
    _URL,
    _ms("begin_ms", "Begin", "Begin on the time axis of the profile; of single requests only.", extra=True),
    _ms("end_ms", "End", "When it ends.", extra=True),
)
_PHASES = (Phase.PREPROCESS, Phase.RUNTIME, Phase.H2D, Phase.D2H, Phase.DEVICE, Phase.POSTPROCESS, Phase.IDLE)
"""Phases of the first phase columns, in order."""
BATCH_COLUMNS = (
    _PERCENTILE,
    texts("batch_id", "Batch ID", "Group id of the batch's events."),
    _ms("latency", "Latency", "Processing of the batch."),
    numbers("padding_amount", "Padding amount", "", "Inputs added to reach an allowed batch size."),
    numbers("batch_size_after_padding", "Batch size after padding", "", "Inputs in the batch."),
    numbers("batching_efficiency", "Batching efficiency", "", "Share that is not padding, 0 to 1."),
    _ms("batching_delay_us", "Batching delay", "Time from the earliest request of the batch until the batch starts."),
    _THROUGHPUT,
    _ms("device_compute", "Device compute", "Time in which the device runs the program."),
    texts("program_id", "Program ID(s)", "Program that the batch ran on the device."),
    _URL,
    _ms("begin_ms", "Begin", "Begin on the time axis of the profile; of single batches only.", extra=True),
    _ms("end_ms", "End", "When it ends.", extra=True),
)


def _time_in(phase: Phase) -> Callable[[Request], float]:
    return lambda request: request.phases_ps[phase]


_REQUEST_KEYS: dict[str, Callable[[Request], float]] = {
    "Latency": lambda r: r.duration_ps,
    "Request size": lambda r: r.size,
    "Host batch formation": lambda r: r.delay_ps,
    **{column.label: _time_in(phase) for column, phase in zip(PHASE_COLUMNS, _PHASES, strict=False)},
}
_BATCH_KEYS: dict[str, Callable[[Batch], float]] = {
    "Latency": lambda b: b.duration_ps,
    "Padding amount": lambda b: b.padding,
    "Batch size after padding": lambda b: b.size,
    "Batching efficiency": lambda b: _efficiency(b),
    "Batching delay": lambda b: b.delay_ps,
    "Device compute": lambda b: b.device_ps,
}


def build(run: Run, query: Query) -> tuple[Table, ...]:
    """The table of models, then per model a table of requests and, if there are any, one of batches."""
    serving = host_inference(run.profiles[0])
    models = serving.models or (ALL_MODELS,)
    batching = bool(serving.batches)
    properties = {"hasBatching": str(batching).lower(), "hasTensorPattern": "false"}
    name = texts("model_name", "Model Name", "Model to which the following tables refer.")
    tables = [Table((name,), [models], properties)]
    for model in models:
        requests = [request for request in serving.requests if request.model == model]
        batches = [batch for batch in serving.batches if batch.model == model]
        tables.append(request_table(requests, batches if batching else None, query.text("request_column")))
        if batching:
            tables.append(batch_table(batches, _parameters(serving, model), query.text("batch_column")))
    return tuple(tables)


def _parameters(serving: Inference, model: str) -> BatchingParameters | None:
    return serving.parameters.get(model) or serving.parameters.get(model.partition(":")[0])


def request_table(requests: Sequence[Request], batches: Sequence[Batch] | None, sort_by: str) -> Table:
    """Requests sampled by the given column, averages per batch size, and the overall average.

    `batches` are those of the model; None when no model has any.
    """
    key = _REQUEST_KEYS.get(sort_by, _REQUEST_KEYS["Latency"])
    ordered = sorted(requests, key=_by_latency)
    groups = [
        _Requests(f"{percentile:.3f}", [ordered[i]]) for percentile, i in sample([key(request) for request in ordered])
    ]
    rate = _throughput(requests)
    for size, parts, device_ps in _parts(requests, batches or ()):
        share = ratio(rate * len(parts), len(requests))
        groups.append(_Requests(f"Batch size {size}", parts, f"{share:.1f}", device_ps))
    groups.append(_Requests("Average", requests, f"{rate:.1f}"))
    data = {
        "percentile": [group.label for group in groups],
        "request_id": [NOT_APPLICABLE if group.rate else group.requests[0].id for group in groups],
        "latency_ms": [_mean([one.duration_ps for one in group.requests]) / PS_PER_MS for group in groups],
        **{
            column.id: [group.phase_ms(phase) for group in groups]
            for column, phase in zip(PHASE_COLUMNS, _PHASES, strict=False)
        },
        **_tail([None if group.rate else group.requests[0] for group in groups]),
    }
    if batches is None:
        return Table((*REQUEST_COLUMNS, *PHASE_COLUMNS), data, _rates(requests))
    data |= {
        "batching_request_size": [_mean([one.size for one in group.requests]) for group in groups],
        "host_batch_formation": [_mean([one.delay_ps for one in group.requests]) / PS_PER_MS for group in groups],
        "throughput": [group.rate or NOT_APPLICABLE for group in groups],
    }
    return Table((*REQUEST_COLUMNS, *BATCHED_COLUMNS, *PHASE_COLUMNS), data, _rates(requests))


@dataclass(frozen=True, slots=True)
class _Requests:
    """A row: a single request, or with a `rate` the average of several.

    `device_ps` replaces their time on the device.
    """

    label: str
    requests: Sequence[Request]
    rate: str = ""
    device_ps: int | None = None

    def phase_ms(self, phase: Phase) -> float:
        """Mean time in a phase."""
        if phase is Phase.DEVICE and self.device_ps is not None:
            return self.device_ps / PS_PER_MS
        return _mean([request.phases_ps[phase] for request in self.requests]) / PS_PER_MS


def _parts(requests: Sequence[Request], batches: Sequence[Batch]) -> Iterator[tuple[int, list[Request], int]]:
    """Per batch size, ascending, the requests of such batches, and the average time of these batches on the device.

    A request that was split among several batches is there once for each of them.
    """
    size_of = {batch.id: batch.size for batch in batches}
    device_ps: dict[int, list[int]] = {size: [] for size in sorted(set(size_of.values()))}
    parts: dict[int, list[Request]] = {size: [] for size in device_ps}
    for batch in batches:
        device_ps[batch.size].append(batch.device_ps)
    for request in requests:
        for number in request.batches:
            if number in size_of:
                parts[size_of[number]].append(request)
    for size, times in device_ps.items():
        yield size, parts[size], _mean(times)


def _by_latency(item: Request | Batch) -> tuple[int, int]:
    """The order before the one by the chosen column: it decides where equal values of that column end up."""
    return item.duration_ps, item.begin_ps


def _tail(singles: Sequence[Request | Batch | None]) -> dict[str, Sequence[object]]:
    """The last columns; None in place of an average."""
    return {
        "trace_viewer_url": [""] * len(singles),
        "begin_ms": [None if one is None else one.begin_ps / PS_PER_MS for one in singles],
        "end_ms": [None if one is None else one.end_ps / PS_PER_MS for one in singles],
    }


def batch_table(batches: Sequence[Batch], parameters: BatchingParameters | None, sort_by: str) -> Table:
    """Batches sampled by the given column, averages per size, and the overall average."""
    key = _BATCH_KEYS.get(sort_by, _BATCH_KEYS["Latency"])
    ordered = sorted(batches, key=_by_latency)
    samples = sample([key(batch) for batch in ordered])
    groups: list[tuple[str, Sequence[Batch], str]] = [
        (f"{percentile:.3f}", [ordered[i]], NOT_APPLICABLE) for percentile, i in samples
    ]
    singles: list[Batch | None] = [ordered[i] for _, i in samples]
    for size in sorted({batch.size for batch in batches}):
        of_size = [batch for batch in batches if batch.size == size]
        groups.append(
            (f"Batch size {size}", of_size, f"{ratio(_throughput(batches) * len(of_size), len(batches)):.1f}")
        )
    groups.append(("Aggregated", batches, f"{_throughput(batches):.1f}"))
    singles += [None] * (len(groups) - len(singles))
    programs = [dict.fromkeys(program for one in group for program in one.programs) for _, group, _ in groups[:-1]]
    data = {
        "percentile": [label for label, *_ in groups],
        "batch_id": [NOT_APPLICABLE if one is None else one.id for one in singles],
        "latency": [_mean([one.duration_ps for one in group]) / PS_PER_MS for _, group, _ in groups],
        "padding_amount": [_mean([one.padding for one in group]) for _, group, _ in groups],
        "batch_size_after_padding": [_mean([one.size for one in group]) for _, group, _ in groups],
        "batching_efficiency": [_efficiency(*group) for _, group, _ in groups],
        "batching_delay_us": [_mean([one.delay_ps for one in group]) / PS_PER_MS for _, group, _ in groups],
        "throughput": [rate for *_, rate in groups],
        "device_compute": [_mean([one.device_ps for one in group]) / PS_PER_MS for _, group, _ in groups],
        "program_id": [*(",".join(names) or NOT_APPLICABLE for names in programs), NOT_APPLICABLE],
        **_tail(singles),
        "trace_viewer_url": [*[""] * (len(groups) - 1), NOT_APPLICABLE],
    }
    properties = {**_rates(batches), "hasBatchingParam": str(parameters is not None).lower()}
    if parameters is not None:
        properties |= {
            "batchingParamNumBatchThreads": str(parameters.num_batch_threads),
            "batchingParamMaxBatchSize": str(parameters.max_batch_size),
            "batchingParamBatchTimeoutMicros": str(parameters.batch_timeout_micros),
            "batchingParamMaxEnqueuedBatches": str(parameters.max_enqueued_batches),
            "batchingParamAllowedBatchSizes": parameters.allowed_batch_sizes,
        }
    return Table(BATCH_COLUMNS, data, properties)


def _efficiency(*batches: Batch) -> float:
    size = sum(batch.size for batch in batches)
    return ratio(size - sum(batch.padding for batch in batches), size)


def _mean(values: Sequence[int]) -> int:
    """The average, without its fraction."""
    return sum(values) // len(values) if values else 0


def _throughput(items: Sequence[Request] | Sequence[Batch]) -> float:
    if not items:
        return 0.0
    span = max(item.end_ps for item in items) - min(item.begin_ps for item in items)
    return ratio(len(items), span / PS_PER_S)


def _rates(items: Sequence[Request] | Sequence[Batch]) -> dict[str, str]:
    latency = ratio(sum(item.duration_ps for item in items), len(items)) / PS_PER_MS
    return {"throughput": f"{_throughput(items):.1f}", "averageLatencyMs": f"{latency:.3f}"}


def _lacks(facts: RunFacts) -> Reason | None:
    return None if facts.requests else NO_REQUESTS


TOOL = Tool(
    id="inference_profile",
    title="Inference Profile",
    group="Summary",
    summary="Latency of the requests and batches of a model server, by part.",
    build=build,
    hosts=HostChoice.ONE,
    lacks=_lacks,
    params=(
        Param("request_column", "string", "Latency", "Label of the column that orders the requests for percentiles."),
        Param("batch_column", "string", "Latency", "Label of the column that orders the batches for percentiles."),
    ),
)
