"""What PyTorch's device ops tell by name and operands: launches of the optimizer, pageable copies, data types."""

from __future__ import annotations

import re

from tpu_profile_plugin.analysis.blame.op_nature import Nature
from tpu_profile_plugin.analysis.common.op_names import PYTORCH, parse_op
from tpu_profile_plugin.analysis.common.planes import device_planes
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import ReadOp
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.ops.gpu_kernels import is_eligible
from tpu_profile_plugin.analysis.ops.op_tables import OpTable
from tpu_profile_plugin.analysis.ops.torch_inputs import OpInputs, dtype_of, op_inputs

_OPTIMIZER = re.compile(r"(?:^|/)(?P<range>Optimizer\.\w+#(?P<name>[\w.]+?)(?:\.step)?)/")
_UPLOAD = re.compile(r"/Memcpy HtoD \((?P<source>\w+) -> ")


def optimizer_launches(table: OpTable) -> tuple[str, float]:
    """The optimizer with most kernels, and its share of all kernels; ("", 0) without one."""
    counts: dict[str, int] = {}
    for name, runs in zip(table.name, table.occurrences.tolist(), strict=True):
        if match := _OPTIMIZER.search(name):
            counts[match["name"]] = counts.get(match["name"], 0) + runs
    if not counts:
        return "", 0.0
    most = max(counts, key=lambda name: counts[name])
    return most, counts[most] / int(table.occurrences.sum())


def pageable_share(table: OpTable) -> float | None:
    """Time of copies to the device from pageable memory, as a share of all copies to it; None without copies."""
    times = {True: 0, False: 0}
    for name, ps in zip(table.name, table.time_ps.tolist(), strict=True):
        if match := _UPLOAD.search(name):
            times[match["source"] == "Pageable"] += ps
    return times[True] / sum(times.values()) if any(times.values()) else None


def typed_ops(host: HostView) -> list[ReadOp]:
    """The host's device ops whose data type is recorded, most time first; `does` is the type.

    It is that of the first tensor in most runs of the op. Those that matrix units could run are products.
    """
    table = host.ops
    inputs = op_inputs(host.space, device_planes(host.space))
    found = []
    for row in table.by_self_time():
        op = parse_op(table.provenance[row])
        if op.category != PYTORCH:
            continue
        kernel = table.name[row].removeprefix(f"{op.name}/")
        if dtype := dtype_of(inputs.get(op.name, OpInputs()).types, kernel):
            nature = Nature.MATRIX if is_eligible(op.type) else Nature.OTHER
            found.append(ReadOp(row, nature, dtype, int(table.self_ps[row])))
    return found
