"""Columns about requests to a model server and their batches."""

from __future__ import annotations

from tpu_profile_plugin.tables.catalogue import Catalogue
from tpu_profile_plugin.tables.column import numbers, texts

_REQUESTS = Catalogue(
    texts("percentile", "Percentile", "Share of items that are faster, or the averaged group."),
    texts("request_id", "Request ID", "Group id of the request's events."),
    texts("batch_id", "Batch ID", "Group id of the batch's events."),
    numbers("latency", "Latency", "ms", "From the first event of the request to the end of the last."),
    numbers("batching_request_size", "Request size", "", "Number of inputs in the request."),
    numbers("host_batch_formation", "Host batch formation", "ms", "Time until the batch of the request starts."),
    numbers("throughput", "Throughput", "1/s", "Items per second; of averages only."),
    numbers("host_preprocessing", "Host preprocess", "ms", "Time on the host before the program is called."),
    numbers("host_runtime", "Host runtime", "ms", "Time from the call until the program is enqueued on the device."),
    numbers("data_transfer_h2d", "Data transfer H2D", "ms", "Time of copying inputs to the device."),
    numbers("data_transfer_d2h", "Data transfer D2H", "ms", "Time of copying results from the device."),
    numbers("device_compute", "Device compute", "ms", "Time in which the device runs the program."),
    numbers("host_postprocess", "Host postprocess", "ms", "Time on the host after the program ends."),
    numbers("idle_time", "Idle time", "ms", "Time in none of the other parts."),
    numbers("padding_amount", "Padding amount", "", "Inputs added to reach an allowed batch size."),
    numbers("batch_size_after_padding", "Batch size after padding", "", "Inputs in the batch."),
    numbers("batching_efficiency", "Batching efficiency", "fraction",
            "Share of the batch that is not padding, 0 to 1."),
    numbers("batching_delay", "Batching delay", "ms",
            "Time from the earliest request of the batch until the batch starts."),
    texts("program_id", "Program ID(s)", "Program that the batch ran on the device."),
    numbers("begin", "Begin", "ms", "Begin on the time axis of the profile; of single requests and batches only."),
    numbers("end", "End", "ms", "When it ends."),
)  # fmt: skip
_SPAN = _REQUESTS.columns("begin", "end")
_FIRST = _REQUESTS.columns("percentile", "request_id", "latency")
_OF_BATCHES = _REQUESTS.columns("batching_request_size", "host_batch_formation", "throughput")
PHASES = _REQUESTS.columns(
    *("host_preprocessing", "host_runtime", "data_transfer_h2d", "data_transfer_d2h"),
    *("device_compute", "host_postprocess", "idle_time"),
)
REQUESTS = (*_FIRST, *PHASES, *_SPAN)
"""Of the tool `inference_profile`, by request."""
BATCHED_REQUESTS = (*_FIRST, *_OF_BATCHES, *PHASES, *_SPAN)
"""Likewise, of a server that puts requests into batches."""
BATCHES = _REQUESTS.columns(
    *("percentile", "batch_id", _REQUESTS.column("latency", "Processing of the batch."), "padding_amount"),
    *("batch_size_after_padding", "batching_efficiency", "batching_delay", "throughput", "device_compute"),
    *("program_id", "begin", "end"),
)
"""Of the tool `inference_profile`, by batch."""
