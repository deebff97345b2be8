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
    Phase,
    Request,
    sample,
)
from tpu_profile_plugin.run.catalogue.requests import BATCHED_REQUESTS, BATCHES, PHASES, REQUESTS
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.figures.summary import host_inference
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import HostChoice, Tool
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_S

_PHASES = (Phase.PREPROCESS, Phase.RUNTIME, Phase.H2D, Phase.D2H, Phase.DEVICE, Phase.POSTPROCESS, Phase.IDLE)
"""Phases of the columns `PHASES`, in order."""


def _time_in(phase: Phase) -> Callable[[Request], float]:
    return lambda request: request.phases_ps[phase]


_REQUEST_KEYS: dict[str, Callable[[Request], float]] = {
    "Latency": lambda r: r.duration_ps,
    "Request size": lambda r: r.size,
    "Host batch formation": lambda r: r.delay_ps,
    **{column.label: _time_in(phase) for column, phase in zip(PHASES, _PHASES, strict=True)},
}
_BATCH_KEYS: dict[str, Callable[[Batch], float]] = {
    "Latency": lambda b: b.duration_ps,
    "Padding amount": lambda b: b.padding,
    "Batch size after padding": lambda b: b.size,
    "Batching efficiency": lambda b: _efficiency(b),
    "Batching delay": lambda b: b.delay_ps,
    "Device compute": lambda b: b.device_ps,
}


@dataclass(frozen=True)
class Percentiles:
    """Requests or batches of a model: single ones by percentile, and averages.

    Attributes:
      rows: the single ones in order of their percentile, the average of each batch size, and last the average of all.
      percentiles: of the single ones in the first rows: the share of those before in the chosen order, 0 to 100.
      count: number of all.
      per_second: number of all divided by the time from the first begin to the last end.
      latency_ms: mean over all.
    """

    rows: Table
    percentiles: list[float]
    count: int
    per_second: float
    latency_ms: float


@dataclass(frozen=True)
class ServedModel:
    """Requests and batches of a model.

    Attributes:
      name: "ALL" if requests name no model.
      batches: null if no model of the host has any.
      parameters: of the server's batching; null if the profile lacks them.
    """

    name: str
    requests: Percentiles
    batches: Percentiles | None
    parameters: BatchingParameters | None


@dataclass(frozen=True)
class InferenceProfile(Document):
    """Requests and batches of each model that a host serves; times are milliseconds."""

    models: list[ServedModel]


def build(run: Run, query: Query) -> InferenceProfile:
    """The models of a host; a single one without requests if there are none."""
    serving = host_inference(run.profiles[0])
    models = []
    for model in serving.models or (ALL_MODELS,):
        requests = [request for request in serving.requests if request.model == model]
        batches = [batch for batch in serving.batches if batch.model == model] if serving.batches else None
        models.append(
            ServedModel(
                name=model,
                requests=_requests(requests, batches, query.text("request_column")),
                batches=None if batches is None else _batches(batches, query.text("batch_column")),
                parameters=serving.parameters.get(model) or serving.parameters.get(model.partition(":")[0]),
            )
        )
    return InferenceProfile(models=models)


def _percentiles(items: Sequence[Request] | Sequence[Batch], rows: Table, percentiles: list[float]) -> Percentiles:
    latency_ms = ratio(sum(item.duration_ps for item in items), len(items)) / PS_PER_MS
    return Percentiles(rows, percentiles, len(items), _throughput(items), latency_ms)


def _requests(requests: Sequence[Request], batches: Sequence[Batch] | None, sort_by: str) -> Percentiles:
    """Requests sampled by the given column, averages per batch size, and the overall average.

    `batches` are those of the model; None when no model has any.
    """
    key = _REQUEST_KEYS.get(sort_by, _REQUEST_KEYS["Latency"])
    ordered = sorted(requests, key=_by_latency)
    samples = sample([key(request) for request in ordered])
    groups = [_Requests(f"{percentile:.3f}", [ordered[i]]) for percentile, i in samples]
    rate = _throughput(requests)
    for size, parts, device_ps in _parts(requests, batches or ()):
        groups.append(_Requests(f"Batch size {size}", parts, ratio(rate * len(parts), len(requests)), device_ps))
    groups.append(_Requests("Average", requests, rate))
    singles = [group.requests[0] if group.rate is None else None for group in groups]
    data = {
        "percentile": [group.label for group in groups],
        "request_id": [None if request is None else request.id for request in singles],
        "latency": [_mean_ms([request.duration_ps for request in group.requests]) for group in groups],
        **{
            column.id: [group.phase_ms(phase) for group in groups]
            for column, phase in zip(PHASES, _PHASES, strict=True)
        },
        **_span(singles),
    }
    if batches is not None:
        data |= {
            "batching_request_size": [_mean([request.size for request in group.requests]) for group in groups],
            "host_batch_formation": [_mean_ms([request.delay_ps for request in group.requests]) for group in groups],
            "throughput": [group.rate for group in groups],
        }
    return _percentiles(
        requests,
        Table(REQUESTS if batches is None else BATCHED_REQUESTS, data),
        [percentile for percentile, _ in samples],
    )


@dataclass(frozen=True, slots=True)
class _Requests:
    """A row: a single request, or with a `rate` the average of several.

    `device_ps` replaces their time on the device.
    """

    label: str
    requests: Sequence[Request]
    rate: float | None = None
    device_ps: int | None = None

    def phase_ms(self, phase: Phase) -> float:
        """Mean time in a phase."""
        if phase is Phase.DEVICE and self.device_ps is not None:
            return self.device_ps / PS_PER_MS
        return _mean_ms([request.phases_ps[phase] for request in self.requests])


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


def _span(singles: Sequence[Request | Batch | None]) -> dict[str, Sequence[float | None]]:
    """Begin and end of single requests or batches; None in place of an average."""
    return {
        "begin": [None if single is None else single.begin_ps / PS_PER_MS for single in singles],
        "end": [None if single is None else single.end_ps / PS_PER_MS for single in singles],
    }


def _batches(batches: Sequence[Batch], sort_by: str) -> Percentiles:
    """Batches sampled by the given column, averages per size, and the overall average."""
    key = _BATCH_KEYS.get(sort_by, _BATCH_KEYS["Latency"])
    ordered = sorted(batches, key=_by_latency)
    samples = sample([key(batch) for batch in ordered])
    groups: list[tuple[str, Sequence[Batch], float | None]] = [
        (f"{percentile:.3f}", [ordered[i]], None) for percentile, i in samples
    ]
    singles: list[Batch | None] = [ordered[i] for _, i in samples]
    rate = _throughput(batches)
    for size in sorted({batch.size for batch in batches}):
        of_size = [batch for batch in batches if batch.size == size]
        groups.append((f"Batch size {size}", of_size, ratio(rate * len(of_size), len(batches))))
    groups.append(("Aggregated", batches, rate))
    singles += [None] * (len(groups) - len(singles))
    programs = [dict.fromkeys(program for batch in group for program in batch.programs) for _, group, _ in groups[:-1]]
    data = {
        "percentile": [label for label, *_ in groups],
        "batch_id": [None if batch is None else batch.id for batch in singles],
        "latency": [_mean_ms([batch.duration_ps for batch in group]) for _, group, _ in groups],
        "padding_amount": [_mean([batch.padding for batch in group]) for _, group, _ in groups],
        "batch_size_after_padding": [_mean([batch.size for batch in group]) for _, group, _ in groups],
        "batching_efficiency": [_efficiency(*group) for _, group, _ in groups],
        "batching_delay": [_mean_ms([batch.delay_ps for batch in group]) for _, group, _ in groups],
        "throughput": [rate for *_, rate in groups],
        "device_compute": [_mean_ms([batch.device_ps for batch in group]) for _, group, _ in groups],
        "program_id": [*(",".join(names) or None for names in programs), None],
        **_span(singles),
    }
    return _percentiles(batches, Table(BATCHES, data), [percentile for percentile, _ in samples])


def _efficiency(*batches: Batch) -> float:
    size = sum(batch.size for batch in batches)
    return ratio(size - sum(batch.padding for batch in batches), size)


def _mean(values: Sequence[int]) -> int:
    """The average, without its fraction."""
    return sum(values) // len(values) if values else 0


def _mean_ms(times_ps: Sequence[int]) -> float:
    return _mean(times_ps) / PS_PER_MS


def _throughput(items: Sequence[Request] | Sequence[Batch]) -> float:
    if not items:
        return 0.0
    span = max(item.end_ps for item in items) - min(item.begin_ps for item in items)
    return ratio(len(items), span / PS_PER_S)


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
