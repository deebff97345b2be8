"""The op profile as XProf answers it: a tree with idle time and one without, utilization weighted with time."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from tpu_profile_plugin.analysis.environment.environment import Hardware, Peaks
from tpu_profile_plugin.analysis.ops.tree import CATEGORY, PROGRAM, PROVENANCE, OpNode, is_fusion
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.common.ops import chosen_ops
from tpu_profile_plugin.tools.ops import op_profile
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query

_KEYS = {PROGRAM: "byProgram", CATEGORY: "byCategory", PROVENANCE: "byProvenance"}
_OF_OP = ("category", "program_id", "framework_op", "expression", "source_file", "source_line", "source_stack")


def build(run: Run, query: Query) -> Json:
    """The tree with idle time and the one without."""
    profile, key = op_profile.build(run, query), _KEYS[query.text("group_by")]
    whole = _with_idle(profile, chosen_ops(run, query).peaks)
    tpu = profile.device == Hardware.TPU.value
    return Json(
        {
            key: _node(whole, whole.time_ps, tpu),
            f"{key}ExcludeIdle": _node(profile.ops, profile.ops.time_ps, tpu),
            "deviceType": profile.device,
            "aggDvfsTimeScaleMultiplier": profile.time_scale,
        },
    )


def _with_idle(profile: op_profile.OpProfile, peaks: Peaks) -> OpNode:
    """The root of all time. If nothing but idle time is below it, it becomes that, or represents it as duplicates."""
    ops, idle = profile.ops, profile.idle
    root = replace(ops, children=sorted([*ops.children, *idle], key=lambda node: (node.contains, -node.time_ps)))
    root.count += len(idle)
    for node in idle:
        root.add(node, runs=False)
    root.time_ps = profile.total_ps
    root.rate(peaks)
    if not idle or any(node.kind != "idle" for node in root.children if not node.contains):
        return root
    if len(idle) == 1:
        return idle[0]
    first = root.children[0]
    if not first.program_id:  # the time without any op
        return replace(root, name=f"{first.name} and its duplicate(s)")
    described = {name: getattr(first, name) for name in ("name", *_OF_OP)}
    return replace(root, kind="duplicates", **described)


def _node(node: OpNode, total_ps: int, tpu: bool) -> dict[str, Any]:
    children = [child for child in node.children if not child.contains]
    count = node.count - len(node.children) + len(children)
    if node.kind == "op" and not tpu and children:  # the instructions in a fusion
        children, count = [], 0
    entry = {
        "name": f"{node.name} and its duplicate(s)" if node.kind == "duplicates" else node.name,
        "metrics": _metrics(node, total_ps),
        "children": [_node(child, total_ps, tpu) for child in children],
    }
    if node.kind == "part":
        return {**entry, "xla": _xla(node), "numChildren": count}
    op = {} if node.kind in ("root", "group") else {"xla": _xla(node)}
    return {**entry, "numChildren": count, **op}


def _metrics(node: OpNode, total_ps: int) -> dict[str, Any]:
    share, use = node.time_ps / total_ps if total_ps else 0.0, node.flops_use or 0.0
    return {
        "flops": min(1.0, use) * share,
        "uncappedFlops": use * share,
        "bandwidthUtils": [min(1.0, memory or 0.0) for memory in node.memory_use],
        "rawTime": node.time_ps,
        "normalizedTimePs": node.normalized_ps,
        "rawFlops": node.model_flops,
        "bf16Flops": node.flops,
        # XProf derives it from rates, which are 0 without time.
        "rawBytesAccessedArray": list(node.bytes) if node.time_ps else [0.0] * len(node.bytes),
        "occurrences": node.runs,
        "avgTimePs": node.time_ps / node.runs if node.runs else 0.0,
    }


def _xla(node: OpNode) -> dict[str, Any]:
    duplicates, fusion = node.kind == "duplicates", is_fusion(node.category)
    entry = {
        "op": "",
        "expression": node.expression,
        "provenance": "" if duplicates and fusion else node.framework_op,
        "category": node.category,
        "computationPrimitiveSize": 0,
        "fingerprint": "0",
        "programId": "0" if node.kind == "part" else node.program_id or "0",
        "sourceInfo": {
            "fileName": node.source_file,
            "lineNumber": node.source_line,
            "stackFrame": node.source_stack,
        },
        "xprofKernelMetadata": "",
    }
    if node.layout or (duplicates and not fusion):
        entry["layout"] = {"dimensions": [asdict(dimension) for dimension in node.layout]}
    return entry


TOOL = replace(op_profile.TOOL, build=build)
