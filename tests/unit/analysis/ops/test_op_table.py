"""Adding op metrics up."""

import pickle

import numpy as np

from tpu_profile_plugin.analysis.ops.op_tables import (
    OpRecords,
    OpTable,
    OpText,
    combine,
    framework_ops,
    no_traffic,
)
from tpu_profile_plugin.analysis.ops.tree import rows_of


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
