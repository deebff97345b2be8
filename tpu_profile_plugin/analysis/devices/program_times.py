"""The programs that devices ran: their time, and their names even where their HLO was not recorded."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.attribution import named_ops
from tpu_profile_plugin.analysis.common.planes import device_planes, host_plane
from tpu_profile_plugin.analysis.devices.model import Device
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms
from tpu_profile_plugin.analysis.memory.buffers import ProgramRan
from tpu_profile_plugin.columns import Plane, XSpace

_MODULE = re.compile(r"(?P<name>[\w.\-]+)\((?P<id>\d{1,20})\)\Z")
"""How runs of programs are named on TPUs: `jit_step(7)`."""


def programs_of_devices(space: XSpace, devices: Sequence[Device], programs: HloPrograms) -> tuple[ProgramRan, ...]:
    """The programs that ops of the devices name, in no order; those without HLO by the names in the events."""
    times: dict[int, int] = {}
    for device in devices:
        program = np.array([op.program for op in device.ops], np.uint64)
        ids, which = np.unique(program, return_inverse=True)
        length = device.runs.end_ps - device.runs.begin_ps
        sums = np.zeros(len(ids), np.int64)
        np.add.at(sums, which.reshape(-1)[device.runs.op], length)
        for number, ps in zip(ids.tolist(), sums.tolist(), strict=True):
            times[number] = times.get(number, 0) + ps
    ran = {number: ps for number, ps in times.items() if number and ps}
    names = _names(space, {number for number in ran if number not in programs.names})
    return tuple(
        ProgramRan(programs.names.get(number) or names.get(number, str(number)), ps, number in programs.modules)
        for number, ps in ran.items()
    )


def _names(space: XSpace, wanted: set[int]) -> dict[int, str]:
    """`module(program id)` by program id, from runs of programs on TPUs, else from stats of ops."""
    names: dict[int, str] = {}
    host = host_plane(space)
    for plane in (*device_planes(space), *([] if host is None else [host])):
        if not wanted - names.keys():
            break
        for text in plane.declared.event_metadata.names:
            if (match := _MODULE.match(text)) and (number := int(match["id"]) % 2**64) in wanted:
                names.setdefault(number, text)
        if wanted - names.keys() and plane.declared.stat_metadata.row("hlo_module") is not None:
            names = {**_of_stats(space, plane, wanted), **names}
    return names


def _of_stats(space: XSpace, plane: Plane, wanted: set[int]) -> dict[int, str]:
    return {
        op.program: f"{op.hlo_module}({op.program})"
        for op in named_ops(space, plane).ops
        if op.hlo_module and op.program in wanted
    }
