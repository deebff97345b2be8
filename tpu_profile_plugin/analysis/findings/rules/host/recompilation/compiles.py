"""Compilation and tracing within the steps of a host: when, of which programs, and how their parameters differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.host_names import is_recognised
from tpu_profile_plugin.analysis.common.op_names import compiles_torch
from tpu_profile_plugin.analysis.common.planes import rows_named, spans_at
from tpu_profile_plugin.analysis.common.spans import Times, join, times_of
from tpu_profile_plugin.analysis.findings.evidence.host.tf_calls import traced_calls
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.hlo.parameters import base_name
from tpu_profile_plugin.columns import EventFilter, Plane

_COMPILED = re.compile(
    r"backend_compile|XlaCompil|::Compile(?:AndLoad)?\b|(?:Cpu|GPU|NVPTX|AMDGPU)Compiler|TpuCompile"
    r"|HLO passes through layout assignment"
)
"""Events of compilation itself; tracing and lowering alone may be short and happen for programs that are cached."""
_MODULE = re.compile(r"(?:HLO passes through layout assignment \(|XlaCompile:#(?:.*,)?module=)(?P<name>[\w.\-]+)")


@dataclass(frozen=True, slots=True, eq=False)
class Compiles:
    """What a host compiled or traced.

    Attributes:
      times: when, on any thread.
      modules: name -> how often it was compiled, where events tell it; those with most time first.
      traced: name of a tf.function -> how often it was traced.
    """

    times: Times
    modules: Mapping[str, int]
    traced: Counter[str]


def _is_compilation(name: str) -> bool:
    return compiles_torch(name) or _COMPILED.search(name) is not None


def may_compile(host: HostView) -> bool:
    """Whether the names of events allow for it, without reading any event."""
    if host.plane is None:
        return False
    names = host.plane.declared.event_metadata.names
    return any(map(_is_compilation, names)) or any(one.expensive_ps for one in host.summary.functions)


def compiles(host: HostView) -> Compiles:
    """Reads the events of compilation and the calls that trace a tf.function."""
    assert host.plane is not None
    plane: Plane = host.plane
    if not plane.decoded:
        wanted = [name for name in plane.declared.event_metadata.names if _is_compilation(name)]
        read = host.reader.events if all(map(is_recognised, wanted)) else None
        plane = read or host.space.filtered(EventFilter(plane, event=set(wanted).__contains__))[0]
    names = plane.event_metadata.names
    compiling = rows_named(plane, _is_compilation)[plane.events.metadata]
    counts = np.bincount(plane.events.metadata, minlength=len(names))
    took = np.zeros(len(names), np.int64)
    np.add.at(took, plane.events.metadata, plane.events.duration_ps)
    modules: Counter[str] = Counter()
    for number in np.argsort(-took, kind="stable").tolist():
        if counts[number] and (module := _MODULE.match(names[number])):
            modules[base_name(module["name"])] += int(counts[number])
    events = times_of(*spans_at(plane, slice(None)), compiling)
    calls, traced = traced_calls(host)
    return Compiles(join(events, calls), modules, traced)
