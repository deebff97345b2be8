"""Collectives of PyTorch: sizes, kinds and groups from what the launch recorded."""

from __future__ import annotations

from typing import Any

import pytest
from builders.kineto import event, kernel, launch, trace
from builders.shown import profile

from tpu_profile_plugin import columns
from tpu_profile_plugin.analysis.devices.collectives import Transfer, transfer_of
from tpu_profile_plugin.analysis.devices.inventory import devices_of
from tpu_profile_plugin.analysis.devices.model import Op, Work
from tpu_profile_plugin.analysis.devices.torch_collectives import _backward_waits, _distributed, _pair
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


@pytest.mark.parametrize(
    ("rank", "source", "target", "pair"),
    [
        (None, 0, -1, ""),
        (3, -1, 5, "3 to 5"),
        (3, -1, 0, "3 to 0"),
        (0, -1, 1, "0 to 1"),
        (3, 5, -1, "5 to 3"),
        (3, 0, -1, "0 to 3"),
        (3, -1, -1, ""),
        (3, 1, 2, ""),
    ],
)
def test_a_pair_is_the_rank_and_the_other_one(rank: int | None, source: int, target: int, pair: str) -> None:
    assert _pair(rank, source, target) == pair


@pytest.mark.parametrize(("size", "distributed"), [(2, True), (1, False), (None, False)])
def test_one_of_several_ranks(size: int | None, distributed: bool) -> None:
    stats = "" if size is None else f' {{distributedInfo="{{\\"world_size\\": {size}}}"}}'
    assert _distributed(profile(f'plane 9 "Task Environment"{stats}')) is distributed


def test_the_end_of_a_backward_pass_is_a_wait_for_other_ranks() -> None:
    """One pass before any op, one with a wait, and one that ends with its last op."""
    run = '"<built-in method run_backward of torch._C._EngineBase object at 0x1>"'
    times = ((0, 5, run), (10, 90, run), (20, 50, "aten::mul:PyTorch"), (200, 50, run), (210, 40, "aten::mul:PyTorch"))
    events = "\n".join(
        f"{at}us +{length}us {name if name == run else chr(34) + name + chr(34)}" for at, length, name in times
    )
    space = profile(f'plane 1 "/host:CPU"\nline 1 main\n{events}')
    found = _backward_waits(space, space.planes[0])
    spans = [
        (begin // 10**6, end // 10**6) for begin, end in zip(found.spans.begin_ps, found.spans.end_ps, strict=True)
    ]
    assert spans == [(0, 5), (70, 100)]


def test_without_arguments_nothing_is_known() -> None:
    op, transfer = collective(kernel(NAME, 1, 5, 1))
    assert (op.name, op.collective, transfer) == (NAME, "collective", Transfer())


def test_a_kernel_of_unknown_kind_is_of_the_op_around_its_launch() -> None:
    mark = event("user_annotation", "nccl:all_reduce", 0, 10)
    op, _ = collective(mark, launch(2, 1), kernel("exchange_kernel", 3, 5, 1))
    assert (op.work, op.collective) == (Work.COMMUNICATION, "all-reduce")
    op, _ = collective(launch(2, 1), kernel("exchange_kernel", 3, 5, 1))
    assert (op.work, op.collective) == (Work.COMPUTE, "")
