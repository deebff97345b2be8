"""Small ops of typed-in devices, and what ops that run one by one belong to, by the calls around them."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis.blame.eager_ops import groups_of_rows, loop_of, small_ops
from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, Stacks
from tpu_profile_plugin.analysis.common.op_names import GRAPH
from tpu_profile_plugin.analysis.devices.cpu_torch import COMPILED
from tpu_profile_plugin.analysis.devices.model import Device, Op, OpSpans, Work
from tpu_profile_plugin.analysis.ops.op_nature import Nature, by_name

US = 10**6
NAMES = "aten::a", "aten::b", "aten::c"
ADAM = "Optimizer.step#Adam.step/aten::c"
NO_CALLS = Stacks()
WINDOW = np.array([1000 * US]), np.array([2000 * US])


def device(*runs, ops=("aten::a", "aten::b", ADAM)):
    """Runs (begin in us, us, index of the op)."""
    begin, length, op = np.array(runs, np.int64).reshape(-1, 3).T
    count = len(begin)
    spans = OpSpans(
        begin * US, (begin + length) * US, op.astype(np.int32), np.full(count, Work.COMPUTE, np.uint8), np.arange(count)
    )
    return Device("CPU", "cpu", 0, 0, tuple(Op(name, 0, Work.COMPUTE) for name in ops), spans)


SMALL = (
    (900, 10, 0),  # before the steps
    (1000, 19, 0),
    (1040, 20, 1),  # as long as a small op is not
    (1109, 5, 1),  # the next begins 50 us later, which is too much to be of it
    (1164, 10, 0),
    (1223, 2, 1),
    (1230, 3, 1),
    (1240, 10, 2),
    (2000, 5, 0),  # after them
)


def test_small_ops_last_until_the_next_one_unless_that_is_far():
    found = small_ops(device(*SMALL), NAMES, WINDOW, 2, NO_CALLS)
    assert found is not None
    assert [(times // US).tolist() for times in found.spans] == [[1000, 1109, 1164], [1040, 1114, 1250]]
    assert (found.count, found.optimizer, found.place) == (6 / 2, "", "")
    # `b` is called three times, and takes 22 us with the code after it; `a` 99 us.
    assert found.kinds == (("aten::a", 1.0), ("aten::b", 1.5), ("aten::c", 0.5))


@pytest.mark.parametrize(
    ("name", "loop"),
    [
        ("StatefulPartitionedCall/m_1/map/while/body/_57/m_1/map/while/MatMul_1", "m_1/map/while"),
        (
            "StatefulPartitionedCall/gradient_tape/m_1/map/while/m_1/map/while_grad/body/_2/gradients/AddN",
            "m_1/map/while",
        ),
        ("gradient_tape/while/add", "while"),
        ("m_1/gru_while/add", "m_1/gru_while"),
        ("m_1/meanwhiles/add", ""),
        ("m_1/while", ""),
    ],
)
def test_the_loop_of_a_graph_that_an_op_is_in(name, loop):
    assert loop_of(name) == loop


@pytest.mark.parametrize(("within", "place"), [("map/while/body/add", "map/while"), ("dense/add", "")])
def test_small_ops_of_a_graph_are_in_its_loop(within, place):
    ops = (within, "map/while/body/mul", ADAM)
    found = small_ops(device((1000, 11, 0), (1100, 10, 1), (1200, 9, 2), ops=ops), NAMES, WINDOW, 1, NO_CALLS)
    assert found is not None
    assert found.place == place


def test_without_steps_or_ops_in_them_there_are_no_small_ops():
    assert small_ops(device(*SMALL), NAMES, WINDOW, 0, NO_CALLS) is None
    assert small_ops(device(*SMALL[:1], *SMALL[-1:]), NAMES, WINDOW, 2, NO_CALLS) is None
    assert small_ops(device((1000, 20, 0), (1100, 30, 1)), NAMES, WINDOW, 1, NO_CALLS) is None


def test_an_op_within_another_is_followed_by_what_begins_after_both():
    found = small_ops(device((1000, 90, 0), (1010, 5, 1), (1100, 5, 1)), NAMES, WINDOW, 1, NO_CALLS)
    assert found is not None
    assert [(times // US).tolist() for times in found.spans] == [[1010, 1100], [1025, 1105]]


@pytest.mark.parametrize(
    ("count", "length", "steps", "found"),
    [
        (100, 49, 1, 100),
        (99, 49, 1, 0),
        (100, 50, 1, 0),
        (199, 30, 2, 0),
        (200, 30, 2, 200),
    ],
)
def test_ops_that_run_a_hundred_times_per_step_are_small_if_they_are_short(count, length, steps, found):
    window = np.array([0]), np.array([10**6 * US])
    runs = device(*((1000 * i, length, 0) for i in range(count)), (999_000, 400, 1))
    small = small_ops(runs, NAMES, window, steps, NO_CALLS)
    assert (0 if small is None else round(small.count * steps)) == found


def test_calls_of_compiled_functions_are_no_small_ops():
    runs = device((1000, 5, 0), (1100, 5, 1), (1200, 5, 2))
    found = small_ops(runs, ("aten::a", GRAPH, f"{COMPILED}: 0/0"), WINDOW, 1, NO_CALLS)
    assert found is not None
    assert found.kinds == (("aten::a", 1.0),)


@pytest.mark.parametrize(("other", "optimizer"), [(1, "Adam"), (2, ""), (3, "")])
def test_small_ops_of_an_optimizer_are_more_than_half_of_them(other, optimizer):
    runs = [(1000, 5, 2), (1100, 5, 2), *((1200 + 100 * i, 5, 0) for i in range(other))]
    found = small_ops(device(*runs), NAMES, WINDOW, 1, NO_CALLS)
    assert found is not None
    assert found.optimizer == optimizer


def test_small_ops_of_two_optimizers_are_of_neither():
    runs = device((1000, 5, 0), (1100, 5, 1), ops=(ADAM, "Optimizer.step#SGD.step/aten::a"))
    found = small_ops(runs, NAMES[:2], WINDOW, 1, NO_CALLS)
    assert found is not None
    assert found.optimizer == ""


@pytest.mark.parametrize(("length", "place"), [(9, "train.py:3 f"), (10, ""), (11, "train.py:9 g")])
def test_small_ops_are_of_the_function_that_launches_more_than_half_of_their_time(length, place):
    """Two of 5 us in one function, and one in the other."""
    calls = Stacks(
        np.array([1000, 1200]) * US, np.array([1200, 1400]) * US, np.array([0, 1]), np.full(2, NOWHERE), np.arange(2),
        ("$train.py:3 f", "$train.py:9 g"), np.array([True, True]), np.full(2, NOWHERE),
    )  # fmt: skip
    found = small_ops(device((1000, 5, 0), (1100, 5, 0), (1300, length, 0)), NAMES, WINDOW, 1, calls)
    assert found is not None
    assert found.place == place


def test_the_backward_pass_of_a_recurrent_layer_is_no_loop():
    """Nor is the layer, though most ops of its kind are short."""
    runs = (1000, 30, 0), (1100, 5, 2), (1200, 5, 3), *((1300 + 6 * row, 5, 1) for row in range(110))
    ops = "Net_0/GRU_0/aten::gru", "Net_0/GRU_0/MulBackward0", "Net_0/GRU_0/aten::mul", "Net_0/GRUCell_0/MulBackward0"
    kinds = "aten::gru", "aten::gru", "aten::mul", "aten::mul"
    small = small_ops(device(*runs, ops=ops), kinds, WINDOW, 1, NO_CALLS)
    assert small is not None
    assert [(times // US).tolist() for times in small.spans] == [[1100, 1200], [1105, 1205]]


def test_the_backward_pass_of_a_recurrent_layer_is_of_its_kind():
    assert by_name("Net_0/GRU_0/MulBackward0") == (Nature.MATRIX, "aten::gru")
    assert by_name("LSTM_12/AddmmBackward0") == (Nature.MATRIX, "aten::lstm")
    assert by_name("Net_0/LSTMCell_0/TanhBackward0") == (Nature.OTHER, "aten::tanh")
    kinds = [(Nature.MATRIX, "aten::gru")] * 2
    ops = Op("GRU_0/aten::gru", 0, Work.COMPUTE), Op("GRU_0/AddmmBackward0", 0, Work.COMPUTE)
    rows = np.arange(2), np.full(2, NOWHERE), np.full(2, 10)
    found = groups_of_rows(*rows, kinds, ops, NO_CALLS, [1, 9])
    assert not any(mine.any() for _, _, mine in found)


@pytest.mark.parametrize(
    ("back", "length", "place"),
    [
        ("Net_0/MulBackward0", 9, "train.py:3 f"),
        ("Net_0/MulBackward0", 2, "train.py:3 f"),  # with the forward pass it is more than half
        ("Net_0/mul", 9, "train.py:9 g"),
    ],
)
def test_the_backward_pass_is_where_the_forward_pass_of_its_module_is(back, length, place):
    calls = Stacks(
        np.array([1000, 1100]) * US, np.array([1100, 1400]) * US, np.array([0, 1]), np.full(2, NOWHERE), np.arange(2),
        ("$train.py:3 f", "$train.py:9 g"), np.array([True, True]), np.full(2, NOWHERE),
    )  # fmt: skip
    runs = (1000, 5, 0), (1060, 3, 1), (1120, length, 2), (1200, 3, 3)
    ops = "Net_0/aten::mul", "aten::mul", back, "aten::add"
    found = small_ops(device(*runs, ops=ops), (*NAMES, "aten::d"), WINDOW, 1, calls)
    assert found is not None
    assert found.place == place


# Groups of rows: by the calls around ops.


def grouped(rows, kinds, names=("main",), parents=(NOWHERE,), ops=None, runs=()):
    """(nature, name, rows) of groups with rows; `rows` are (op, node, ps), a node per name."""
    op, node, ps = np.array(rows, np.int64).reshape(-1, 3).T
    stacks = Stacks(
        parent=np.array(parents), name=np.arange(len(names)), names=names, user=np.zeros(len(names), np.bool_)
    )
    all_ops = [Op(name, 0, Work.COMPUTE) for name in ops or kinds]
    natures = [(Nature.MATRIX if name == "aten::mm" else Nature.OTHER, name) for name in kinds]
    found = groups_of_rows(op, node, ps, natures, all_ops, stacks, runs)
    return [(nature.name, name, np.flatnonzero(mine).tolist()) for nature, name, mine in found if mine.any()]


def test_ops_of_tensorflow_are_eager_or_elementwise():
    names = ("EagerLocalExecute: Mul", "EagerLocalExecute: __inference_step_7", "KernelAndDeviceFunc::Run")
    kinds = ("Mul", "MatMul", "Tile")
    rows = [(0, 2, 10), (1, 0, 20), (0, 1, 30), (2, NOWHERE, 40), (1, NOWHERE, 50), (1, 1, 60)]
    assert grouped(rows, kinds, names, (NOWHERE, NOWHERE, 0)) == [
        ("EAGER", "eager ops", [0, 1]),
        ("ELEMENTWISE", "elementwise ops", [2, 3]),
    ]
    assert grouped(rows, kinds, ("a", "b", "c"), (NOWHERE, NOWHERE, 0)) == [
        ("ELEMENTWISE", "elementwise ops", [0, 2, 3])
    ]


CONV, DENSE = "gradient_tape/model/conv/Conv2DBackpropFilter", "gradient_tape/model/dense/MatMul/MatMul"


@pytest.mark.parametrize(
    ("ops", "again"),
    [
        ((CONV, f"{CONV}_1", f"{CONV}_2"), [1, 2]),
        ((CONV, f"{CONV}_1"), []),  # as of adversarial networks
        # The gradients of both operands are matrix products.
        ((DENSE, f"{DENSE}_1", f"{DENSE}_2", f"{DENSE}_3", f"{DENSE}_4"), [2, 3, 4]),
        ((DENSE, f"{DENSE}_1", f"{DENSE}_2", f"{DENSE}_3"), []),
        (("model/conv/Conv2DBackpropFilter_2", "gradient_tape/model/add/Sum_4", "adam/MatMul_9"), []),
    ],
)
def test_backward_passes_of_tensorflow_through_the_same_ops(ops, again):
    rows = [(i, NOWHERE, 10) for i in range(len(ops))]
    found = grouped(rows, ("op",) * len(ops), ops=ops)
    assert found == ([("BACKWARD_AGAIN", "repeated backward passes", again)] if again else [])


LINEAR, BACK = "Net_0/Linear_0/aten::linear", "Net_0/Linear_0/AddmmBackward0"


@pytest.mark.parametrize(
    ("ops", "runs", "again"),
    [
        ((LINEAR, BACK), (1, 3), True),
        ((LINEAR, BACK), (1, 2.9), False),
        ((LINEAR, LINEAR, BACK), (1, 1, 5), False),  # of all calls of the module
        ((LINEAR, BACK, BACK), (2, 3, 3), True),
        (("Net_0/Linear_1/aten::linear", BACK), (1, 3), False),  # nothing is known of its forward pass
        ((LINEAR, BACK), (), False),
    ],
)
def test_backward_passes_of_pytorch_through_the_same_module(ops, runs, again):
    rows = [(i, NOWHERE, 10) for i in range(len(ops))]
    found = grouped(rows, ("aten::mm",) * len(ops), ops=ops, runs=runs)
    passes = [i for i, op in enumerate(ops) if op == BACK]
    assert found == ([("BACKWARD_AGAIN", "several backward passes", passes)] if again else [])
    assert grouped(rows, ("aten::sum",) * len(ops), ops=ops, runs=runs) == []


@pytest.mark.parametrize(
    ("name", "again"),
    [
        ("$torch/utils/checkpoint.py:1988 recompute_fn", True),
        ("$torch/utils/checkpoint.py:300 backward", True),
        ("$torch/utils/checkpoint.py:500 checkpoint", False),
        ("$train.py:30 recompute_fn", False),
    ],
)
def test_what_activation_checkpointing_computes_again(name, again):
    """An op in a callee, one in the function, and one elsewhere."""
    rows = [(0, 1, 10), (0, 0, 20), (0, NOWHERE, 30)]
    found = grouped(rows, ("aten::mm",), (name, "$model.py:9 forward"), (NOWHERE, 0))
    assert found == ([("RECOMPUTED", "recomputed activations", [0, 1])] if again else [])


REGION = f"{COMPILED}: 0/0"
BROKEN, CALLS = "ops of a compiled function outside of its graphs", "calls of compiled functions"


@pytest.mark.parametrize(
    ("loose", "graph", "expected"),
    [
        (50, GRAPH, [("BROKEN_GRAPH", BROKEN, [0, 1])]),
        (49, GRAPH, [("BROKEN_GRAPH", BROKEN, [1]), ("COMPILED_CALL", CALLS, [0])]),
        # What calls a graph has its time where the graph itself is not recorded.
        (50, "CompiledFunction", [("BROKEN_GRAPH", BROKEN, [0, 1])]),
        (49, "CompiledFunction", [("BROKEN_GRAPH", BROKEN, [1]), ("COMPILED_CALL", CALLS, [0])]),
    ],
)
def test_a_compiled_function_is_broken_if_ops_outside_of_its_graphs_take_as_long(loose, graph, expected):
    """A call of 100, an op of it, its graph of 50, and an op elsewhere."""
    ops = (REGION, f"{COMPILED}/aten::sort", graph, "aten::topk")
    rows = [(0, NOWHERE, 100), (1, NOWHERE, loose), (2, NOWHERE, 50), (3, NOWHERE, 70)]
    assert grouped(rows, (REGION, "aten::sort", graph, "aten::topk"), ops=ops) == expected


def test_of_a_backend_that_makes_no_graphs_no_op_is_outside():
    rows = [(0, NOWHERE, 100), (1, NOWHERE, 10), (2, NOWHERE, 20)]
    ops = (REGION, f"{COMPILED}/aten::sort", "aten::topk")
    assert grouped(rows, (REGION, "aten::sort", "aten::topk"), ops=ops) == [("COMPILED_CALL", CALLS, [0])]


def test_of_compiled_functions_without_graphs_all_ops_are_outside():
    rows = [(0, NOWHERE, 100), (1, NOWHERE, 10), (2, NOWHERE, 20)]
    assert grouped(rows, (REGION, "aten::sort", "other")) == [("BROKEN_GRAPH", BROKEN, [0, 1])]
    assert grouped(rows, (REGION, "other", "other")) == [("COMPILED_CALL", CALLS, [0])]


def test_ops_of_optimizers_are_of_each():
    ops = ("Optimizer.step#Adam.step/aten::div", "Optimizer.step#SGD.step/aten::add", "aten::sort")
    rows = [(0, NOWHERE, 10), (1, NOWHERE, 20), (2, NOWHERE, 30), (0, NOWHERE, 40)]
    assert sorted(grouped(rows, ("aten::div", "aten::add", "aten::sort"), ops=ops)) == [
        ("OPTIMIZER", "Adam", [0, 3]),
        ("OPTIMIZER", "SGD", [1]),
    ]


@pytest.mark.parametrize(
    ("inside", "matrix", "outside", "told"),
    [
        (500, 500, 501, True),
        (500, 500, 500, False),  # products outside take longer
        (499, 501, 900, False),  # and at most half of the range is products
        (4509, 0, 501, False),  # a range with nine tenths of all ops
        (4508, 0, 501, True),
        (25, 0, 475, True),
        (24, 0, 476, False),  # a twentieth is looked at
    ],
)
def test_a_range_of_the_program_beside_products_of_matrices(inside, matrix, outside, told):
    rows = [(0, 0, inside), (1, 0, matrix), (1, NOWHERE, outside)]
    found = grouped(rows, ("aten::sort", "aten::mm"), ("statistics",))
    assert found == ([("RANGE", "statistics", [0, 1])] if told else [])


@pytest.mark.parametrize("name", ["nn.Module: Linear_0", "PjitFunction(f)", "$train.py:3 f", "aten::sort:PyTorch"])
def test_what_libraries_record_is_no_range_of_the_program(name):
    assert grouped([(0, 0, 100), (1, NOWHERE, 200)], ("aten::sort", "aten::mm"), (name,)) == []


def test_elementwise_ops_are_those_that_are_left():
    rows = [(0, 0, 100), (1, NOWHERE, 200), (0, NOWHERE, 50), (2, NOWHERE, 10)]
    assert grouped(rows, ("aten::mul", "aten::mm", "aten::sort"), ("statistics",)) == [
        ("RANGE", "statistics", [0]),
        ("ELEMENTWISE", "elementwise ops", [2]),
    ]
