"""Collectives of PyTorch: sizes, kinds and groups from what the launch recorded."""

from __future__ import annotations

from typing import Any

import pytest
from builders.kineto import event, kernel, launch, trace

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.devices.collectives import Transfer, transfer_of
from tpu_profile_plugin.analysis.devices.inventory import devices_of
from tpu_profile_plugin.analysis.devices.model import Op
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.formats import unpack

NAME = "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"


def collective(*events: Any) -> tuple[Op, Transfer]:
    space = columns.load(unpack(trace(*events)).space)
    (device,) = devices_of(space, hlo_programs(space))
    (op,) = device.ops
    return op, transfer_of(op, hlo_programs(space))


@pytest.mark.parametrize(
    ("args", "name", "kind", "size"),
    [
        ({"Collective name": "allreduce", "dtype": "BFloat16"}, "[all-reduce, 100 BFloat16]", "all-reduce", 200),
        ({"Collective name": "_allgather_base", "dtype": "Float"}, "[all-gather, 100 Float]", "all-gather", 400),
        ({"Collective name": "reduce_scatter", "dtype": "Half"}, "[reduce-scatter, 100 Half]", "reduce-scatter", 200),
        ({"Collective name": "all_to_allv", "dtype": "Long"}, "[all-to-all]", "all-to-all", 800),
        (
            {"Collective name": "broadcast", "dtype": "Odd"},
            "[collective-broadcast, 100 Odd]",
            "collective-broadcast",
            0,
        ),
    ],
)
def test_arguments_of_the_kernel(args: dict[str, Any], name: str, kind: str, size: int) -> None:
    sent = {**args, "In msg nelems": 100, "Group size": 4}
    op, transfer = collective(kernel(NAME, 1, 5, 1, **sent))
    assert (op.name, op.collective) == (f"{NAME} {name}", kind)
    assert transfer == Transfer(size or None, ((0, 1, 2, 3),))


def test_groups_are_different_ops() -> None:
    sent = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 8, "Group size": 2}
    op, _ = collective(kernel(NAME, 1, 5, 1, **sent, **{"Process Group Name": "7", "Process Group Ranks": "[0, 4]"}))
    assert op.name == f"{NAME} [all-reduce, 8 Float, group 7: [0, 4]]"


def test_marks_of_older_versions() -> None:
    shapes = {"Input Dims": [[10, 2], [5]], "Input type": ["float", "float"]}
    mark = event("user_annotation", "nccl:all_reduce", 0, 10, **shapes)
    op, transfer = collective(mark, launch(2, 1), kernel("ncclKernel_AllReduce_RING_LL_Sum_float", 3, 5, 1))
    assert op.name == "ncclKernel_AllReduce_RING_LL_Sum_float [25 float]"
    assert transfer == Transfer(100, ())


def test_without_arguments_nothing_is_known() -> None:
    op, transfer = collective(kernel(NAME, 1, 5, 1))
    assert (op.name, op.collective, transfer) == (NAME, "collective", Transfer())
