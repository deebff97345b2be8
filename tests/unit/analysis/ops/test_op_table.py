"""Adding op metrics up, and the rates of ops."""

import dataclasses
import pickle

import numpy as np
import pytest

from tpu_profile_plugin.analysis.environment.environment import Hardware, Peaks
from tpu_profile_plugin.analysis.hlo.instructions import Dimension
from tpu_profile_plugin.analysis.ops.op_tables import (
    HBM,
    READ,
    VMEM,
    WRITE,
    OpRecords,
    OpTable,
    OpText,
    combine,
    framework_ops,
    is_rematerialized,
    no_traffic,
    rows_in,
)
from tpu_profile_plugin.analysis.ops.rates import Resource, rates
from tpu_profile_plugin.analysis.ops.tree import OpNode, add_details, add_use, rows_of, single_ops


def table(rows, total=0):
    """Rows of (module, name, category, provenance, occurrences, time, self, least, flops, bytes)."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * 10
    ints = [np.array(c, np.int64) for c in columns[4:8]]
    floats = [np.array(c, np.float64) for c in columns[8:10]]
    return OpTable(
        module=tuple(columns[0]), name=tuple(columns[1]), category=tuple(columns[2]), provenance=tuple(columns[3]),
        eager=np.zeros(len(rows), np.bool_), occurrences=ints[0], time_ps=ints[1], self_ps=ints[2], min_ps=ints[3],
        cores=np.ones(len(rows), np.int64), flops=floats[0], model_flops=floats[0], bytes=floats[1], total_ps=total,
    )  # fmt: skip


def test_rows_of_ops_in_a_table():
    found = rows_in(
        table([(1, "add", "", "", 2, 30, 20, 5, 8, 4), (2, "mul", "", "", 1, 1, 1, 1, 1, 1)]), [(2, "mul"), (1, "x")]
    )
    assert found.tolist() == [1, -1]


def test_calls_count_where_they_are_recorded():
    rows = [
        (1, f"k{i}", "", f"{name}:PyTorch", times, 9, 9, 9, 1, 1)
        for i, (name, times) in enumerate((("a", 7), ("a", 3), ("b", 5)))
    ]
    found = framework_ops(dataclasses.replace(table(rows), calls=np.array([2, 2, 0])))
    assert found.occurrences.tolist() == [4, 5]


@pytest.mark.parametrize(
    ("expression", "provenance", "again"),
    [
        ("%fusion.remat = f32[] fusion()", "", True),
        ("%fusion = f32[] fusion(%x.remat)", "", False),
        ("%fusion = f32[] fusion()", "jit(f)/rematted_computation/dot", True),
        ("", "", False),
    ],
)
def test_what_is_computed_again(expression, provenance, again):
    assert is_rematerialized(expression, provenance) is again


def node(kind, **facts):
    return OpNode("x", kind, **facts)


@pytest.mark.parametrize(
    ("one", "flops_use", "memory_use"),
    [
        (node("op", time_ps=10**12, flops=5e11), 0.5, (0.0, 0.0, None)),
        (node("op", time_ps=10**12, normalized_ps=5e11, flops=5e11), 1.0, (0.0, 0.0, None)),
        (node("op", time_ps=10**12, bytes=(4e9, 1e9, 1e9)), 0.0, (0.4, 0.05, None)),
        (node("op", time_ps=10**12), None, (0.0, 0.0, None)),
        (node("idle", time_ps=10**12), None, (None, None, None)),
        (node("idle", time_ps=10**12, bytes=(4e9, 0.0, 0.0)), 0.0, (0.4, 0.0, None)),
        (node("op", flops=5e11), None, (None, None, None)),
    ],
)
def test_the_use_of_the_peaks(one, flops_use, memory_use):
    one.rate(Peaks(1.0, (10.0, 20.0)))
    assert (one.flops_use, one.memory_use) == (flops_use, memory_use)


def test_single_ops_of_a_tree():
    ops = [node("op"), node("idle", program_id="7"), node("idle"), node("part", program_id="7")]
    tree = node("root", children=[node("group", program_id="7", children=ops[:2]), *ops[2:]])
    assert [id(one) for one in single_ops([tree])] == [id(one) for one in ops[:2]]


def test_nodes_without_time_of_their_own_have_no_use():
    inner, part, around = (
        node("op", time_ps=10**12, flops=1e12),
        node("part", time_ps=10**12, flops=1e12),
        node("op", time_ps=10**12, flops=1e12),
    )
    inner.children, around.contains = [part], True
    root = node("root", time_ps=10**12, flops=1e12, children=[inner, around])
    add_use(root, [], Peaks(1.0, (10.0, 20.0)))
    assert [one.flops_use for one in (root, inner, part, around)] == [1.0, 1.0, None, None]


@pytest.mark.parametrize(
    ("category", "layouts", "dimensions", "has"),
    [
        ("convolution", True, True, True),
        ("output fusion", True, True, True),
        ("copy", True, True, False),
        ("convolution", False, True, False),
        ("convolution", True, False, False),
    ],
)
def test_layouts_of_convolutions(category, layouts, dimensions, has):
    one = node("op", category=category)
    details = {(0, "x"): ((Dimension(6, 8, "feature"),) if dimensions else (), ())}
    add_details([one], details, layouts=layouts, most_parts=None)
    assert (bool(one.layout), one.layout_use) == (has, 0.75 if has else None)


def test_combine_adds_by_module_and_name_and_keeps_the_first_text():
    a = table([(1, "add", "", "", 2, 30, 20, 5, 8, 4), (1, "mul", "loop fusion", "m:Mul", 1, 10, 10, 10, 1, 1)], 50)
    b = table([(2, "add", "x", "", 1, 1, 1, 1, 1, 1), (1, "add", "fusion", "a:Add", 3, 50, 40, 3, 12, 6)], 70)
    both = combine([a, b, OpTable(total_ps=5)])
    assert list(zip(both.module, both.name, strict=True)) == [(1, "add"), (1, "mul"), (2, "add")]
    assert both.occurrences.tolist() == [5, 1, 1]
    assert both.self_ps.tolist() == [60, 10, 1]
    assert both.min_ps.tolist() == [3, 10, 1]
    assert both.cores.tolist() == [2, 1, 1]
    assert both.flops.tolist() == [20, 1, 1]
    assert both.category == ("fusion", "loop fusion", "x")
    assert (both.total_ps, both.op_ps, both.idle_ps) == (125, 71, 54)
    assert combine([a, b], cores=False).cores.tolist() == [1, 1, 1]


def test_least_time_ignores_rows_that_never_ran():
    never = table([(1, "add", "", "", 0, 0, 0, 0, 0, 0)])
    once = table([(1, "add", "", "", 1, 9, 9, 9, 0, 0)])
    assert combine([never, once]).min_ps.tolist() == [9]


def test_framework_ops_take_the_maximum_of_occurrences():
    device = table(
        [
            (1, "fusion", "loop fusion", "model/add:Add", 4, 10, 10, 1, 2, 2),
            (1, "copy", "copy", "model/add:Add", 7, 5, 5, 1, 2, 2),
            (1, "while", "while", "", 1, 3, 3, 3, 0, 0),
        ],
        100,
    )
    framework = framework_ops(device)
    assert list(zip(framework.name, framework.category, strict=True)) == [("model/add", "Add"), ("while", "Unknown")]
    assert framework.occurrences.tolist() == [7, 1]
    assert framework.self_ps.tolist() == [15, 3]
    assert framework.total_ps == 100


def test_order_pickle_and_empty():
    times = {"b": 5, "a": 5, "c": 9}
    rows = table([(1, name, "", "", 1, ps, ps, ps, 0, 0) for name, ps in times.items()])
    assert rows.by_self_time() == [2, 1, 0]
    assert pickle.loads(pickle.dumps(rows)).name == rows.name
    assert len(combine([])) == 0
    assert OpTable(total_ps=3).with_total(9).idle_ps == 9


def test_ops_that_never_ran_have_no_rank():
    made = table(
        [
            (1, "b", "", "", 1, 5, 5, 5, 0, 0),
            (1, "never", "", "", 0, 9, 9, 9, 0, 0),
            (1, "a", "", "", 2, 5, 5, 5, 0, 0),
            (1, "c", "", "", 1, 7, 7, 7, 0, 0),
        ]
    )
    zeros = np.zeros(4)
    records = OpRecords(made, zeros, zeros, zeros, zeros, no_traffic(4), (OpText(),) * 4)
    assert [made.name[row] for row in rows_of(records)] == ["c", "a", "b"]


# Rates and what binds an op.


PEAKS = Peaks(1.0, (100.0, 200.0, 200.0, 0.0, 0.0, 400.0, 400.0))
GIB = 2**30 / 1e9


def one(flops=0.0, accessed=0.0, traffic=None, hardware=Hardware.TPU, peaks=PEAKS):
    moved = no_traffic(1)
    for where, count in (traffic or {}).items():
        moved[(0, *where)] = count
    return rates(*(np.array([x]) for x in (1e6, flops, flops, accessed)), moved, peaks, hardware)  # 1 us


def test_units():
    found = one(2e5, 1e4, {(HBM, READ): 3e3, (HBM, WRITE): 1e3, (VMEM, READ): 8e3})
    assert found.flops[0] == 200.0  # GFLOP/s
    assert found.bandwidth[0] == pytest.approx(10 / GIB)
    assert found.memory[Resource.HBM][0] == pytest.approx(4 / GIB)
    assert found.memory[Resource.VMEM_READ][0] == pytest.approx(8 / GIB)
    assert found.intensity[0] == 20.0
    assert found.memory_intensity[Resource.HBM][0] == 50.0
    assert found.compute_share[0] == pytest.approx(0.2)
    assert found.memory_share[Resource.HBM][0] == pytest.approx(0.04)
    assert (found.bound, found.bound_intensity[0]) == ((Resource.COMPUTE,), 20.0)
    assert found.efficiency[0] == pytest.approx(0.2)
    assert found.optimal_flops[0] == pytest.approx(1000.0)


def test_without_a_breakdown_all_bytes_are_of_hbm():
    found = one(accessed=5e4)
    assert found.memory[Resource.HBM][0] == pytest.approx(50 / GIB)
    assert found.bound == (Resource.HBM,)


def test_equal_shares_go_to_the_first():
    assert one(1e5, traffic={(HBM, READ): 1e4}).bound == (Resource.COMPUTE,)


def test_nothing_known():
    found = one(1e5, 1e5, peaks=Peaks())
    assert (found.bound, found.efficiency[0], found.optimal_flops[0]) == ((Resource.UNKNOWN,), 0.0, 0.0)


def test_gpus_have_shared_memory():
    # Traffic is only known of HBM, which may all go through shared memory.
    found = one(1e3, traffic={(HBM, READ): 1e5}, hardware=Hardware.GPU, peaks=Peaks(1.0, (100.0, 50.0, 50.0)))
    assert (found.bound, found.bound_intensity.tolist()) == ((Resource.SHARED,), [0.01])
    assert found.best_memory_share.tolist() == pytest.approx([1e5 / 1e3 / 100.0])
    found = one(traffic={(HBM, READ): 1e5}, hardware=Hardware.GPU, peaks=Peaks(1.0, (100.0, 200.0, 200.0)))
    assert found.bound == (Resource.HBM,)
    assert found.memory_share.keys() == {Resource.HBM, Resource.VMEM_WRITE}
