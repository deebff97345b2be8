"""XProf's inference profile: a table of models, then per model one of requests and, with batching, one of batches."""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.column import Column, texts
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.summary.inference_profile import TOOL as OURS
from tpu_profile_plugin.tools.summary.inference_profile import Percentiles, ServedModel
from tpu_profile_plugin.tools.summary.inference_profile import build as document

_NONE = "N/A"
_LINK = "trace_viewer_url"
_IDS = {"idle_time": "idle time", "begin": _LINK, "batching_delay": "batching_delay_us"}
"""XProf's ids where ours differ; its links, which are empty, stand where our table has the begin."""


def build(run: Run, query: Query) -> tuple[Table, ...]:
    """XProf's tables of a host."""
    models = document(run, query).models
    batching = any(model.batches is not None for model in models)
    properties = {"hasBatching": str(batching).lower(), "hasTensorPattern": "false"}
    tables = [Table((texts("model_name", "Model Name", ""),), [[model.name for model in models]], properties)]
    for model in models:
        tables.append(_table(model.requests, {"latency": "latency_ms"}, _rates(model.requests)))
        if model.batches is not None:
            tables.append(_table(model.batches, {}, _rates(model.batches) | _parameters(model), last_link=_NONE))
    return tuple(tables)


def _table(found: Percentiles, ids: dict[str, str], properties: dict[str, str], last_link: str = "") -> Table:
    columns, data = [], []
    for column in found.rows.columns:
        if column.id == "end":
            continue
        values = found.rows.column(column.id)
        id_, label, type_ = {**_IDS, **ids}.get(column.id, column.id), column.label, column.type
        if column.id == "throughput":
            type_, values = "string", [_NONE if rate is None else f"{rate:.1f}" for rate in values]
        elif id_ == _LINK:
            label, type_, values = "Trace Viewer URL", "string", [*[""] * (len(values) - 1), last_link]
        elif type_ == "string":
            values = [_NONE if text is None else text for text in values]
        columns.append(Column(id_, label, type_))
        data.append(values)
    return Table(tuple(columns), data, properties)


def _rates(found: Percentiles) -> dict[str, str]:
    return {"throughput": f"{found.per_second:.1f}", "averageLatencyMs": f"{found.latency_ms:.3f}"}


def _parameters(model: ServedModel) -> dict[str, str]:
    parameters = model.parameters
    if parameters is None:
        return {"hasBatchingParam": "false"}
    return {
        "hasBatchingParam": "true",
        "batchingParamNumBatchThreads": str(parameters.num_batch_threads),
        "batchingParamMaxBatchSize": str(parameters.max_batch_size),
        "batchingParamBatchTimeoutMicros": str(parameters.batch_timeout_micros),
        "batchingParamMaxEnqueuedBatches": str(parameters.max_enqueued_batches),
        "batchingParamAllowedBatchSizes": parameters.allowed_batch_sizes,
    }


TOOL = replace(OURS, build=build)
