"""Groups of typed-in rows of blame: the functions of the host that devices wait for, and those with their ops."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis.blame.host_blame import ANY_STEP, BETWEEN, NO_OP, HostBlame
from tpu_profile_plugin.analysis.blame.host_groups import (
    _evaluation,
    function_groups,
    helper_groups,
    host_groups,
    largest_group,
    launches_only,
    traced_groups,
)
from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, Stacks
from tpu_profile_plugin.analysis.budget.categories import (
    CATEGORIES,
    COMPUTE,
    IDLE_GAP,
    IDLE_HOST,
    IDLE_INPUT,
    IDLE_OTHER,
    INPUT_COPY,
)
from tpu_profile_plugin.analysis.devices.model import Op, Work
from tpu_profile_plugin.analysis.ops.op_nature import Nature

F, G, H = "$train.py:3 f", "$train.py:9 g", "$train.py:20 h"


def blamed(rows, calls, ops=(), thread=(), steps=None):
    """Rows (part, op, node, ps); calls (name, caller), those of files train.py being the program's own."""
    part, op, node, ps = np.array(rows, np.int64).reshape(-1, 4).T
    names = tuple(dict.fromkeys(name for name, _ in calls))
    stacks = Stacks(
        parent=np.array([caller for _, caller in calls], np.int64),
        name=np.array([names.index(name) for name, _ in calls], np.int64),
        names=names,
        user=np.array([name.startswith("$train.py") for name in names], np.bool_),
    )
    thread_ps = np.array(thread or [0] * len(calls), np.int64)
    step = np.full(len(ps), ANY_STEP) if steps is None else np.array(steps)
    return HostBlame(part, op, node, ps, tuple(Op(name, 0, Work.COMPUTE) for name in ops), stacks, thread_ps, step)


def told(groups):
    """Name, inner call and time of groups."""
    return [(group.name, group.inner, group.ps) for group in groups]


def waits(*times):
    """Rows of idle time, one per node."""
    return [(IDLE_HOST, NO_OP, node, ps) for node, ps in enumerate(times)]


def test_groups_are_of_time_in_which_devices_wait_in_steps_and_between_them():
    rows = [
        (IDLE_HOST, NO_OP, 0, 500), (INPUT_COPY, 0, 0, 300), (IDLE_GAP, NO_OP, 0, 200), (COMPUTE, 0, 0, 70),
        (IDLE_INPUT + BETWEEN, NO_OP, 0, 50),
    ]  # fmt: skip
    found = blamed(rows, [(F, NOWHERE)], ["copy"])
    (group,) = host_groups(found)
    assert (group.name, group.ps, group.rows.tolist()) == (F, 550, [0, 4])
    assert group.by_part.tolist() == [
        *(500 if part == IDLE_HOST else 0 for part in range(len(CATEGORIES))), 50,
    ]  # fmt: skip
    assert found.by_part(group.rows).tolist() == group.by_part.tolist()


def test_the_largest_group_of_some_parts():
    rows = [
        (IDLE_HOST, NO_OP, 0, 500), (IDLE_INPUT, NO_OP, 1, 300), (IDLE_INPUT, NO_OP, 0, 200), (INPUT_COPY, 0, 0, 400),
        (IDLE_INPUT + BETWEEN, NO_OP, 1, 50),
    ]  # fmt: skip
    found = blamed(rows, [(F, NOWHERE), (G, NOWHERE)], ["copy"])
    largest = largest_group(found, (IDLE_INPUT, INPUT_COPY))
    assert largest is not None
    assert told([largest]) == [(G, "", 350)]
    assert largest_group(found, (IDLE_GAP,)) is None


def test_as_many_groups_as_are_asked_for_and_the_largest_first():
    found = blamed(waits(100, 300, 200), [(F, NOWHERE), (G, NOWHERE), (H, NOWHERE)])
    assert told(host_groups(found, 1)) == [(G, "", 300)]
    assert told(host_groups(found, 2)) == [(G, "", 300), (H, "", 200)]


@pytest.mark.parametrize(("part", "told_of"), [(20, True), (19, False)])
def test_groups_take_a_fiftieth_of_the_whole(part, told_of):
    rows = [*waits(part), (IDLE_GAP, NO_OP, NOWHERE, 1000 - part)]
    assert told(host_groups(blamed(rows, [(F, NOWHERE)]))) == ([(F, "", part)] if told_of else [])


@pytest.mark.parametrize(
    ("call", "outside", "expected"),
    [
        (100, 0, ("$io.py:1 read", "", 100)),
        (20, 0, ("$io.py:1 read", "", 20)),
        (19, 1, ("", "", 20)),
        (0, 20, ("", "", 20)),
        (0, 19, None),
    ],
)
def test_what_is_outside_of_the_programs_functions(call, outside, expected):
    """A call that no function of the program makes, if it is large enough, else what is outside of any."""
    rows = [*waits(0, call), (IDLE_HOST, NO_OP, NOWHERE, outside), (IDLE_GAP, NO_OP, NOWHERE, 1000 - call - outside)]
    found = told(host_groups(blamed(rows, [(F, NOWHERE), ("$io.py:1 read", NOWHERE)])))
    assert found == ([] if expected is None else [expected])


def test_time_outside_of_calls_belongs_to_none():
    rows = [*waits(300, 100), (IDLE_HOST, NO_OP, NOWHERE, 600)]
    assert told(host_groups(blamed(rows, [(F, NOWHERE), (G, NOWHERE)]))) == [("", "", 600), (F, "", 300), (G, "", 100)]


@pytest.mark.parametrize(("inside", "name"), [(900, G), (899, F)])
def test_a_callee_with_nine_tenths_of_its_caller_stands_for_it(inside, name):
    assert host_groups(blamed(waits(1000 - inside, inside), [(F, NOWHERE), (G, 0)]))[0].name == name


def test_functions_are_found_below_what_libraries_call():
    found = blamed(waits(500, 0, 400), [("$lib.py:1 run", NOWHERE), (F, 0), (G, 1)])
    assert told(host_groups(found)) == [("$lib.py:1 run", "", 500), (G, "", 400)]


LAUNCH = "PjitFunction(f)"


@pytest.mark.parametrize(
    ("own", "callee", "launching", "expected"),
    [
        (400, 401, (50, 50), [(G, 401), (F, 400)]),  # half of the launching: it runs the step
        (400, 401, (49, 51), [(F, 801)]),
        (400, 400, (50, 50), [(F, 400), (G, 400)]),  # its own code is the cause where it takes as long
    ],
)
def test_a_function_that_runs_the_step_is_told_by_its_own_code(own, callee, launching, expected):
    calls = [(F, NOWHERE), (G, 0), (LAUNCH, 0), (LAUNCH, NOWHERE)]
    found = host_groups(blamed(waits(own, callee), calls, thread=(0, 0, *launching)))
    assert [(group.name, group.ps) for group in found] == expected


@pytest.mark.parametrize(("elsewhere", "expected"), [(60, [G, F]), (61, [F])])
def test_launches_within_launches_count_once(elsewhere, expected):
    """In `f` 60, where a call of the runtime makes another."""
    calls = [(F, NOWHERE), (G, 0), (LAUNCH, 0), ("ExecuteReplicated", 2), (LAUNCH, NOWHERE)]
    found = host_groups(blamed(waits(400, 410), calls, thread=(0, 0, 10, 50, elsewhere)))
    assert [group.name for group in found] == expected


@pytest.mark.parametrize(("elsewhere", "expected"), [(50, [G, F]), (51, [F])])
def test_ops_that_run_within_calls_are_launched_by_them(elsewhere, expected):
    rows = [*waits(400, 410), (COMPUTE, 0, 0, 50), (COMPUTE, 1, 2, elsewhere), (COMPUTE, 1, NOWHERE, 300)]
    found = host_groups(blamed(rows, [(F, NOWHERE), (G, 0), (H, NOWHERE)], OPS))
    assert [group.name for group in found] == expected


# What a function calls for most of its time.


@pytest.mark.parametrize(
    ("times", "calls", "inner"),
    [
        ((499, 501), [(F, NOWHERE), ("$io.py:1 read", 0)], ("$io.py:1 read", 501)),
        ((500, 500), [(F, NOWHERE), ("$io.py:1 read", 0)], ("", 0)),
        # The deepest of several that have most of it.
        ((10, 390, 600), [(F, NOWHERE), ("$io.py:1 read", 0), ("$zip.py:1 inflate", 1)], ("$zip.py:1 inflate", 600)),
        # A function without a name, and what only launches, tell less than nothing.
        ((100, 900), [(F, NOWHERE), ("$train.py:5 <lambda>", 0)], ("", 0)),
        ((100, 900), [(F, NOWHERE), ("ExecuteReplicated", 0)], ("", 0)),
        # A function that calls itself counts once.
        ((400, 300, 300), [(F, NOWHERE), ("$io.py:1 walk", 0), ("$io.py:1 walk", 1)], ("$io.py:1 walk", 600)),
    ],
)
def test_what_a_function_calls_for_most_of_its_time(times, calls, inner):
    group = host_groups(blamed(waits(*times), calls))[0]
    assert (group.name, group.inner, group.inner_ps) == (F, *inner)


@pytest.mark.parametrize(("each", "inner"), [(1, ""), (2, "$io.py:1 read")])
def test_calls_with_a_thousandth_of_the_time_are_not_looked_at(each, inner):
    """400 or 800 calls of one name, each from a function of its own in a library."""
    count = 800 // each
    calls = [(F, NOWHERE)]
    for number in range(count):
        calls += [(f"$lib.py:{number} call", 0), ("$io.py:1 read", len(calls))]
    times = [1000 - each * count, *[0, each] * count]
    assert host_groups(blamed(waits(*times), calls))[0].inner == inner


# Functions with the ops that they launch.

OPS = ("aten::mul", "aten::add", "aten::mm")


def functions(found):
    """Name, time, kinds of ops, their time and that of a model's."""
    return [(group.name, group.ps, group.ops, group.ops_ps, group.model_ps) for group in found]


def test_functions_with_their_ops_and_waits():
    rows = [
        (COMPUTE, 0, 0, 300), (IDLE_HOST, NO_OP, 0, 400), (COMPUTE, 1, NOWHERE, 200), (IDLE_GAP, NO_OP, 0, 100),
        (COMPUTE, 1, 0, 30), (IDLE_OTHER + BETWEEN, NO_OP, 0, 7), (COMPUTE, 0, 0, 20),
    ]  # fmt: skip
    found = function_groups(blamed(rows, [(F, NOWHERE)], OPS[:2]))
    # Nothing tells which ops are a model's: all may be.
    assert functions(found) == [(F, 757, ("aten::mul", "aten::add"), 350, 350)]


@pytest.mark.parametrize(
    ("op", "layer", "model"),
    [
        ("aten::mm", "$lib.py:1 call", 100),  # a product of matrices
        ("Linear_0/aten::add", "$lib.py:1 call", 100),  # named after a layer
        ("AddBackward0", "$lib.py:1 call", 100),
        ("aten::add", "$torch/nn/modules/module.py:1 _call_impl", 100),  # within one
        ("aten::add", "$torch/nn/modules/linear.py:9 __init__", 800),
    ],
)
def test_ops_of_a_model_are_told_by_their_names_or_by_the_calls_around_them(op, layer, model):
    rows = [(COMPUTE, 1, 0, 700), (COMPUTE, 0, 1, 60), (COMPUTE, 2, 1, 40)]
    (found,) = function_groups(blamed(rows, [(F, NOWHERE), (layer, 0)], (op, "aten::mul", op)))
    assert (found.name, found.ps, found.model_ps) == (F, 700 if op == "aten::mm" else 800, model)


@pytest.mark.parametrize(
    ("name", "ps", "kinds"),
    [("$train.py:3 f", 500, ("aten::mul",)), ("$train.py:3 evaluate", 800, ("aten::mul", "aten::mm"))],
)
def test_matrix_products_are_no_part_of_a_function_unless_it_evaluates(name, ps, kinds):
    rows = [(COMPUTE, 0, 0, 300), (COMPUTE, 1, 0, 400), (IDLE_HOST, NO_OP, 0, 100)]
    (found,) = function_groups(blamed(rows, [(name, NOWHERE)], ("aten::mm", "aten::mul")))
    assert (found.name, found.ps, found.ops, found.ops_ps) == (name, ps, kinds, ps - 100)
    assert int(found.by_part.sum()) == ps


EVALUATE = "$train.py:5 validate"


@pytest.mark.parametrize(
    ("op", "beside", "ps"),
    [
        ("aten::mm", 94, 837),  # what the model takes in it and its waits, with what is called for that
        ("aten::mm", 93, None),  # nine tenths are the program itself
        ("aten::topk", 94, None),  # a metric
    ],
)
def test_an_evaluation_is_all_that_runs_the_model_for_it(op, beside, ps):
    rows = [(COMPUTE, 0, 1, 600), (COMPUTE, 1, 0, 200), (IDLE_HOST, NO_OP, 0, 37), (COMPUTE, 1, 2, beside)]
    calls = [(EVALUATE, NOWHERE), ("$model.py:9 forward", 0), (F, NOWHERE)]
    blame = blamed(rows, calls, (op, "aten::mul"))
    found = _evaluation(blame, np.ones(len(blame.ps), np.bool_))
    assert [(one.name, one.ps, one.by_part.sum()) for one in found] == ([] if ps is None else [(EVALUATE, ps, ps)])


@pytest.mark.parametrize(
    ("caller", "name"),
    [("$train.py:5 on_end", "$train.py:5 on_end"), ("$loop.py:5 on_end", "$keras/trainer.py:455 evaluate")],
)
def test_an_evaluation_of_a_library_is_of_the_function_that_calls_it(caller, name):
    rows = [(COMPUTE, 0, 1, 300), (COMPUTE, 1, 1, 100), (IDLE_HOST, NO_OP, 1, 200), (COMPUTE, 1, 2, 500)]
    calls = [(caller, NOWHERE), ("$keras/trainer.py:455 evaluate", 0), (F, NOWHERE)]
    found = function_groups(blamed(rows, calls, ("_FusedMatMul", "aten::mul")))
    assert [(one.name, one.ps, one.ops, one.evaluates) for one in sorted(found, key=lambda one: one.ps)] == [
        (F, 500, ("aten::mul",), False),
        (name, 600, ("_FusedMatMul", "aten::mul"), True),
    ]


@pytest.mark.parametrize("calls", [[("$api.py:9 wait", NOWHERE)], [("$api.py:9 wait", NOWHERE), (F, NOWHERE)]])
def test_a_call_of_a_library_is_no_function_of_the_program_whatever_runs_in_it(calls):
    assert function_groups(blamed([(COMPUTE, 0, 0, 900), (IDLE_HOST, NO_OP, 0, 50)], calls, OPS)) == []


def test_where_nothing_is_launched_one_by_one_functions_have_no_ops():
    rows = [(COMPUTE, 0, NOWHERE, 300), (IDLE_HOST, NO_OP, 0, 400)]
    assert function_groups(blamed(rows, [(F, NOWHERE)], OPS)) == []
    assert host_groups(blamed(rows, [(F, NOWHERE)], OPS))[0].launched_ps(blamed(rows, [(F, NOWHERE)], OPS)) == 0


def test_ops_below_calls_of_a_group_are_launched_by_it():
    rows = [
        (IDLE_HOST, NO_OP, 0, 400), (IDLE_HOST, NO_OP, NOWHERE, 50), (COMPUTE, 0, 1, 30), (COMPUTE, 0, 0, 7),
        (COMPUTE, 1, 2, 500), (COMPUTE, 1, NOWHERE, 900), (IDLE_HOST, NO_OP, 2, 300),
    ]  # fmt: skip
    found = blamed(rows, [(F, NOWHERE), (G, 0), (H, NOWHERE)], OPS)
    assert [(group.name, group.launched_ps(found)) for group in host_groups(found)] == [(F, 37), (H, 500), ("", 0)]


def test_helpers_launch_ops_but_no_products_of_matrices():
    """The two with most time; `f` is outside of them by its product, and what no function launches is no helper."""
    calls = [(F, NOWHERE), (G, NOWHERE), (H, NOWHERE), ("$train.py:30 k", NOWHERE), ("main", NOWHERE)]
    rows = [
        (COMPUTE, 1, 0, 900), (COMPUTE, 2, 0, 10), (COMPUTE, 0, 1, 300), (COMPUTE, 1, 1, 20), (COMPUTE, 0, 2, 400),
        (COMPUTE, 1, 3, 200), (COMPUTE, 0, 4, 50), (COMPUTE, 3, 3, 800), (COMPUTE, 0, NOWHERE, 990),
        (IDLE_HOST, NO_OP, 3, 700), (COMPUTE, 4, 3, 800),
    ]  # fmt: skip
    found = helper_groups(blamed(rows, calls, (*OPS, "memcpy", "aten::compiledfunction")))
    assert functions(found) == [
        ("train.py:20 h", 400, ("aten::mul",), 400, 0),
        ("train.py:9 g", 320, ("aten::mul", "aten::add"), 320, 0),
    ]
    (outside,) = helper_groups(
        blamed([(COMPUTE, 0, 0, 5), (COMPUTE, 0, 1, 50)], [(F, NOWHERE), ("main", NOWHERE)], OPS)
    )
    assert outside.name == "train.py:3 f"
    assert helper_groups(blamed(rows, [("main", NOWHERE)] * 5, (*OPS, "memcpy", "aten::compiledfunction"))) == []
    assert helper_groups(blamed(rows[9:10], calls, OPS)) == []


def test_growth_is_of_the_average_step():
    """60 more in each of eight steps of 510 on average; what is of no step does not count."""
    times = [300, 360, 420, 480, 540, 600, 660, 720]
    rows = [(IDLE_HOST, NO_OP, 0, ps) for ps in (*times[::-1], 5000)]
    found = blamed(rows, [(F, NOWHERE)], steps=[*range(7, -1, -1), ANY_STEP])
    assert found.growth(np.arange(9)) == pytest.approx(60 / 510)
    assert found.growth(np.array([0, 1])) == 0.0
    assert blamed(rows, [(F, NOWHERE)]).growth(np.arange(9)) == 0.0


@pytest.mark.parametrize(
    ("name", "only"),
    [
        ("PjitFunction(f)", False),
        ("EagerLocalExecute: Mul", False),
        ("EagerLocalExecute: __inference_f_7", True),
        ("ExecutorState::Process", True),
        ("__inference_f_7", True),
        ("one_step_on_data", True),
        ("train_function", True),
        ("$train.py:3 f", False),
    ],
)
def test_calls_that_launch_without_telling_what(name, only):
    assert launches_only(name) is only


# The function with most time in ops of compiled programs.

STEP, NET, DATA, AGAIN = ("/m.py", "step", 1), ("/m.py", "net", 2), ("/a/d.py", "data", 7), ("/a/d.py", "data", 8)
SORT, SCOPE = ("/a/d.py", "data.<locals>.sort", 9), ("", "scope", 0)
CHAINS = {
    "dot": (STEP, NET),
    "sort": (STEP, DATA, SORT),
    "gather": (STEP, AGAIN),
    "add": (STEP, SCOPE),
    "fft": (STEP, NET),
}
CHAINS |= {"data dot": (STEP, DATA), "take": (STEP, DATA, DATA)}


class Names:
    """Where ops come from and what they do."""

    def chain(self, op):
        return CHAINS[op.name]

    def kind(self, op):
        return Nature.MATRIX if op.name.endswith("dot") else Nature.MOVEMENT, op.name


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        # 450 is nine tenths of the 500 of the function around it, which the line with most of its time stands for.
        ({"dot": 100, "sort": 450, "gather": 50, "add": 400}, ("$d.py:9 data.sort", 450, ("sort",))),
        ({"dot": 100, "sort": 449, "gather": 51, "add": 400}, ("$d.py:7 data", 500, ("sort", "gather"))),
        ({"dot": 100, "sort": 30, "gather": 470, "add": 400}, ("$d.py:8 data", 500, ("gather", "sort"))),
        (
            {"dot": 100, "take": 40, "gather": 38, "sort": 32, "add": 790},
            ("$d.py:7 data", 110, ("take", "gather", "sort")),
        ),
        # Products and calls of libraries take a twentieth of all, or no model is beside it.
        ({"dot": 50, "gather": 500, "add": 450}, ("$d.py:8 data", 500, ("gather",))),
        ({"dot": 49, "gather": 500, "add": 451}, None),
        ({"fft": 50, "gather": 500, "add": 450}, ("$d.py:8 data", 500, ("gather",))),
        ({"gather": 500, "add": 500}, None),
        # Hardly any of it is products, and it is not nearly all.
        ({"dot": 51, "data dot": 49, "gather": 451, "add": 449}, ("$d.py:8 data", 500, ("gather", "data dot"))),
        ({"dot": 50, "data dot": 50, "gather": 450, "add": 450}, None),
        ({"dot": 101, "gather": 899}, ("$d.py:8 data", 899, ("gather",))),
        ({"dot": 100, "gather": 900}, None),
        ({"dot": 1000}, None),
    ],
)
def test_functions_of_compiled_programs_beside_a_model(times, expected):
    rows = [(COMPUTE, op, NOWHERE, ps) for op, ps in enumerate(times.values())]
    found = traced_groups(blamed([*rows, (IDLE_GAP, NO_OP, NOWHERE, 10)], [], tuple(times)), Names())
    assert [(one.name, one.ps, one.ops) for one in found] == ([] if expected is None else [expected])
    for one in found:
        assert (one.ops_ps, one.by_part[COMPUTE], one.by_part.sum(), one.model_ps) == (one.ps, one.ps, one.ps, 0)
        assert one.traced


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("norm", False),
        ("layer_norm", False),
        ("Block.RMSNorm", False),
        ("gelu", False),
        ("regelu", True),
        ("normalise", True),
    ],
)
def test_functions_that_any_model_has_are_no_parts_of_their_own(function, told):
    names = Names()
    names.chain = lambda op: () if op.name == "dot" else (("d.py", function, 8),)
    rows = [(COMPUTE, op, NOWHERE, ps) for op, ps in enumerate((500, 500))]
    assert bool(traced_groups(blamed(rows, [], ("dot", "add")), names)) == told


@pytest.mark.parametrize(("read", "calls"), [(501, ("$io.py:1 read",)), (500, ()), (499, ())])
def test_names_of_all_that_a_function_calls_for_most_of_its_time(read, calls):
    group = host_groups(blamed(waits(1000 - read, read), [(F, NOWHERE), ("$io.py:1 read", 0)]))[0]
    assert group.calls == calls
