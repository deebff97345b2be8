"""TensorFlow on the CPU as a device: which events are its ops, and what its steps consist of."""

from __future__ import annotations

import pytest
from builders.computed import budget, communication, devices
from builders.computed import runs as runs_of

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, PARTS

US = 10**6


def runs(text):
    """(name, work, begin, end) of each run of the only device, times in us."""
    (device,) = devices(text)
    assert (device.name, device.kind, device.ordinal) == ("CPU (TensorFlow)", "cpu", 0)
    return runs_of(device.runs, device)


GRAPH = """
plane 1 "/host:CPU"
line 1 python
0us +100us train {_r=1, step_num=0}
2us +90us step
4us +86us EagerExecute
5us +84us "EagerLocalExecute: __inference_step_7"
6us +82us EagerKernelExecute
7us +80us "KernelAndDeviceFunc::Run"
8us +2us FunctionRun {id=11}
line 2 "tf_Compute/9"
10us +60us "ExecutorState::Process" {id=11}
12us +20us "model/dense/MatMul:MatMul"
34us +2us "model/while:While"
40us +30us "model/Relu:Relu"
75us +5us "loose:Relu"
"""


def test_ops_of_executors_are_runs_and_names_outside_of_them_are_not():
    assert runs(GRAPH) == [
        ("model/dense/MatMul", "COMPUTE", 12, 32),
        ("model/while", "COMPUTE", 34, 36),
        ("model/Relu", "COMPUTE", 40, 70),
    ]


def test_a_loop_whose_ops_are_recorded_is_not_computation_of_its_own():
    inside = GRAPH.replace('34us +2us "model/while:While"', '34us +36us "model/while:StatelessWhile"')
    assert [run[0] for run in runs(inside)] == ["model/dense/MatMul", "model/Relu"]


def test_ops_of_the_input_pipeline_are_left_out_on_its_own_threads_and_on_shared_ones():
    text = (
        GRAPH
        + """
line 3 "tf_data_private_threadpool/3"
0us +50us "ExecutorState::Process" {id=5}
1us +40us "DecodeJpeg:DecodeJpeg"
line 4 "tf_Compute/4"
0us +3us "InstantiatedCapturedFunction::RunAsync" {id=6}
20us +30us "ExecutorState::Process" {id=6}
21us +20us "Sort:TopKV2"
60us +30us "ExecutorState::Process" {id=11}
61us +20us "OptionalGetValue:OptionalGetValue"
82us +4us "Sum:Sum"
"""
    )
    assert [run[0] for run in runs(text)] == ["model/dense/MatMul", "model/while", "model/Relu", "Sum"]


def test_threads_without_events_move_no_op_to_another_thread():
    """Events of other threads at equal times enclose nothing here, nor do threads without events."""
    empty = 'line 7 "tf_data_none"\nline 8 "tf_data_too"\n'
    other = 'line 9 "tf_Compute/8"\n70us +20us "ExecutorState::Process" {id=11}\n'
    assert runs(GRAPH.replace("line 2", f"{empty}{other}{empty.replace('7', '17').replace('8', '18')}line 2")) == runs(
        GRAPH
    )
    loose = 'line 3 "tf_Compute/5"\n11us +8us "x/Add:Add"\n'
    assert runs(GRAPH + loose + empty) == runs(GRAPH)


def test_fetching_an_element_in_the_graph_is_waiting_for_input():
    text = (
        GRAPH
        + """
line 3 "tf_data_iterator_get_next/3"
10us +32us "IteratorGetNextOp::DoCompute"
"""
    )
    assert runs(text)[0] == ("IteratorGetNext", "INPUT", 10, 42)


EAGER = """
plane 1 "/host:CPU"
line 1 python
0us +100us train {_r=1, step_num=0}
10us +30us EagerExecute
11us +28us "EagerLocalExecute: MatMul"
14us +24us EagerKernelExecute
15us +20us "KernelAndDeviceFunc::Run"
50us +30us EagerExecute
51us +28us "EagerLocalExecute: IteratorGetNext"
54us +24us EagerKernelExecute
55us +20us "KernelAndDeviceFunc::Run"
56us +18us "IteratorGetNextOp::DoCompute"
"""


def test_an_eager_call_without_events_of_its_own_is_a_run_of_its_op():
    assert runs(EAGER) == [("MatMul", "COMPUTE", 15, 35), ("IteratorGetNext", "INPUT", 56, 74)]


def test_the_parts_of_a_step_add_up():
    found = budget(EAGER)
    values = found.time_ps.stacked(PARTS)[0, 0].tolist()
    assert {name: ps // US for name, ps in zip(CATEGORIES, values, strict=True) if ps} == {
        "compute": 20, "idle_input": 18, "idle_launch": 10 + 12, "idle_other": 40,
    }  # fmt: skip
    assert sum(values) == 100 * US


def test_tracing_is_compilation():
    text = GRAPH.replace("line 2", "8us +1us tf.constant\n95us +4us tf.function-graph_building\nline 2")
    found = budget(text)
    assert found.time_ps[CATEGORIES.index("idle_compile")][0, 0] == 4 * US


XLA = """
line 5 "tf_XLAEigen/5"
30us +9us fusion.1 {hlo_op="fusion.1", program_id=7, run_id=1, device_ordinal=0}
"""


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", ["CPU (TensorFlow)"]),
        (XLA, ["CPU device 0"]),
        ('plane 2 "/device:GPU:0"\nline 1 "Stream #1"\n0us +5us kernel', ["GPU 0"]),
        ('plane 2 "/device:TPU:0"\nline 1 "Steps"\n0us +5us 1', []),
    ],
)
def test_only_without_accelerators_and_xla(more, expected):
    assert [device.name for device in devices(GRAPH + more)] == expected


def test_a_profile_without_executor_has_no_such_device():
    assert devices('plane 1 "/host:CPU"\nline 1 python\n0us +9us "Data:Load"') == ()
    assert devices('plane 1 "/host:CPU"\nline 1 python\n0us +9us "ExecutorState::Process"') == ()


def test_it_does_not_communicate():
    assert communication(GRAPH).devices == ()


def test_eager_calls_beside_ops_of_executors():
    """Each is a run of the op that it names; a kernel that begins as a call ends is of none."""
    text = GRAPH.replace(
        "line 2",
        """110us +20us "EagerLocalExecute: MatMul"
112us +10us "KernelAndDeviceFunc::Run"
130us +5us "KernelAndDeviceFunc::Run"
140us +20us "EagerLocalExecute: Add"
142us +10us "KernelAndDeviceFunc::Run"
line 2""",
        1,
    )
    assert runs(text) == [*runs(GRAPH), ("MatMul", "COMPUTE", 112, 122), ("Add", "COMPUTE", 142, 152)]
