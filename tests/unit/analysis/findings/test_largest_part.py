"""The largest parts of the step: named by function, op and line whether a rule knows their cause or not."""

from __future__ import annotations

import pytest
from builders import planes
from builders.answers import answer
from builders.profiles.planted import cpu, evidence, finding, findings, tf_loop
from builders.programs.hlo import metadata_plane, op, program

from tpu_profile_plugin.tools import registry


def largest(*profiles):
    """The findings about parts of the step that no rule explains, ordinary work included."""
    found = answer(registry.find("smart_suggestion"), *profiles, page=True)["findings"]
    return [one for one in found if one["id"] == "largest_part"]


def test_ops_that_most_programs_spend_little_on_have_a_cost():
    found = largest(cpu("0 5 PjitFunction(f)", "10 300 sort.1\n320 290 sort.2\n620 370 dot.1"))
    assert [(one["title"], one["saving_ps_per_step"]) for one in found] == [
        ("59.1% of the step: sort (2 ops), most of it in sort.1", 590 * 10**6)
    ]
    assert evidence(found[0]) == {
        "Most of it in": "sort.1",
        "Wall time of these ops, of the step": 59.059,
        "Wall time of these ops per step": 0.59,
    }
    assert found[0]["advice"].startswith("Sorting everything is needed for few results")


@pytest.mark.parametrize(("length", "told"), [(99, False), (101, True)])
def test_rare_ops_from_a_tenth_of_the_step(length, told):
    ops = f"0 {length} sort.1\n{length} {999 - length} dot.1"
    assert any("sort" in one["title"] for one in largest(cpu("0 5 PjitFunction(f)", ops))) == told


@pytest.mark.parametrize(
    ("length", "sort", "told"), [(240, 110, False), (260, 110, True), (99, 0, False), (101, 0, True)]
)
def test_ordinary_work_from_a_quarter_of_the_step_or_from_a_tenth_if_nothing_else_is_known(length, sort, told):
    kinds, each = "abcdefghijklmnopqrstuvwx", (999 - length - sort) // 24
    ops = f"0 {length} dot.1\n" + "\n".join(f"{length + each * i} {each} kind{kind}" for i, kind in enumerate(kinds))
    ops += f"\n{999 - sort} {sort} sort.1" if sort else ""
    found = [one for one in largest(cpu("0 5 PjitFunction(f)", ops)) if "dot" in one["title"]]
    assert bool(found) == told
    assert all(one["saving_ps_per_step"] == 0 and one["segments"] == [] for one in found)


@pytest.mark.parametrize(
    ("lengths", "more"),
    [
        ([300, 360, 420, 480, 540, 600, 660, 720], ", 60 us more with each step"),
        ([300, 360, 420, 480, 540, 500, 660, 720, 780, 840], ", 60 us more with each step"),  # one step is no trend
        ([300, 360, 420, 480, 540, 500, 660, 720], ""),  # six and one that falls may be chance
        ([300, 720, 360, 660, 420, 600, 480, 540], ""),
        ([480, 490, 500, 510, 520, 530, 540, 550], ""),  # 70 us are less than a quarter
        ([300, 420, 540, 660, 780], ""),
    ],
)
def test_what_grows_from_step_to_step(lengths, more):
    runs = "\n".join(f"{1000 * step}us +{length}us dot.1" for step, length in enumerate(lengths))
    marks = planes.marked(steps=len(lengths), period=1000)
    (found,) = largest(planes.profile(planes.host(marks, planes.xla_on_cpu(runs, program=0))))
    assert found["title"].endswith(f"of the step: dot{more}")
    assert (found["saving_ps_per_step"] > 0) == bool(more)
    assert found["advice"].startswith("What this works on grows from step to step") == bool(more)


@pytest.mark.parametrize("number", [0, 7])
def test_programs_have_any_number(number):
    """Without a program `wrapped` would be an op of its own kind, and of no line."""
    of, line = "f32[64,64]{1,0}", {"source_file": "/home/me/model.py", "source_line": 7}
    inside = [op("a", "parameter", of), op("b", "dot", of, "a", "a")]
    entry = [op("x", "parameter", of), op("wrapped", "fusion", of, "x", called=["inside"], **line)]
    thread = planes.xla_on_cpu("0us +400us wrapped", program=number)
    programs = metadata_plane(jit_f=(number, program(entry, inside=inside)))
    found = largest(planes.profile(planes.host(planes.marked(steps=1, period=1000), thread), programs))
    assert [one["title"] for one in found] == ["40.0% of the step: dot (model.py:7)"]


def test_ops_of_several_lines_name_those_with_a_tenth():
    of = "f32[64,64]{1,0}"
    lines = {"dot.1": 7, "dot.2": 9, "dot.3": 12, "dot.4": 20}
    dots = [op(name, "dot", of, "x", "x", source_file="model.py", source_line=line) for name, line in lines.items()]
    thread = planes.xla_on_cpu("0us +160us dot.1\n160us +140us dot.2\n300us +70us dot.3\n370us +30us dot.4", program=1)
    programs = metadata_plane(jit_f=(1, program([op("x", "parameter", of), *dots])))
    (found,) = largest(planes.profile(planes.host(planes.marked(steps=1, period=1000), thread), programs))
    assert found["title"] == "40.0% of the step: dot (4 ops, 40% in model.py:7, 35% in model.py:9)"
    told = [(one["label"], one["value"]) for one in found["evidence"] if one["label"].startswith("Where")]
    assert told == [
        ("Where 40% of it comes from", "model.py:7"),
        ("Where 35% of it comes from", "model.py:9"),
        ("Where 18% of it comes from", "model.py:12"),
    ]


def test_ops_of_functions_that_share_the_time_name_them():
    """Both are traced in `block`, which most of the time is in and which tells nothing."""
    of = "f32[64,64]{1,0}"
    frames = [("block", 3), ("encode", 12), ("decode", 20), ("step", 30), ("step", 31)]
    index = {
        "file_names": ["/src/model.py"],
        "function_names": [name for name, _ in frames],
        "file_locations": [
            {"file_name_id": 1, "function_name_id": i, "line": line} for i, (_, line) in enumerate(frames, 1)
        ],
        "stack_frames": [
            {"file_location_id": 4},
            {"file_location_id": 5},
            {"file_location_id": 2, "parent_frame_id": 1},
            {"file_location_id": 3, "parent_frame_id": 2},
            {"file_location_id": 1, "parent_frame_id": 3},
            {"file_location_id": 1, "parent_frame_id": 4},
        ],
    }  # fmt: skip
    dots = [
        op(f"dot.{i}", "dot", of, "x", "x", source_file="/src/model.py", source_line=3, stack_frame_id=4 + i)
        for i in (1, 2)
    ]
    thread = planes.xla_on_cpu("0us +270us dot.1\n270us +230us dot.2", program=1)
    made = program([op("x", "parameter", of), *dots], more={"stack_frame_index": index})
    (found,) = largest(
        planes.profile(planes.host(planes.marked(steps=1, period=1000), thread), metadata_plane(jit_f=(1, made)))
    )
    assert found["title"] == (
        "50.0% of the step: dot (2 ops, model.py:3, 54% in model.py:12 encode, 46% in model.py:20 decode), "
        "most of it in dot.1"
    )
    told = [(one["label"], one["value"]) for one in found["evidence"] if one["label"].startswith("Where")]
    assert told == [
        ("Where", "model.py:3"),
        ("Where 54% of it comes from", "model.py:12 encode"),
        ("Where 46% of it comes from", "model.py:20 decode"),
    ]


def test_a_jitted_function_and_those_that_the_ops_are_traced_in():
    of, callers = "f32[64,64]{1,0}", ["main", "step", "loss", "encode", "block", "dense"]
    index = {
        "file_names": ["/src/model.py"],
        "function_names": callers,
        "file_locations": [{"file_name_id": 1, "function_name_id": i, "line": 10 * i} for i in range(1, 7)],
        "stack_frames": [{"file_location_id": i, "parent_frame_id": i - 1} for i in range(1, 7)],
    }
    line = {"source_file": "/src/model.py", "source_line": 60, "stack_frame_id": 6, "op_name": "jit(step)/dot_general"}
    made = program(
        [op("x", "parameter", of), op("dot.1", "dot", of, "x", "x", **line)], more={"stack_frame_index": index}
    )
    threads = planes.marked(steps=1, period=1000), planes.xla_on_cpu("0us +500us dot.1", program=1)
    (found,) = largest(planes.profile(planes.host(*threads), metadata_plane(jit_f=(1, made))))
    assert found["title"] == "50.0% of the step: dot (model.py:60, in step/encode/block/dense)"


def traced(runs, frames, ops):
    """A program whose ops come from call stacks: `frames` are function and line, each called by the one before it, with
    ops of `(name, opcode, frame)`; `runs` is one step of 1 ms.
    """
    of = "f32[64,64]{1,0}"
    index = {
        "file_names": ["/src/model.py"],
        "function_names": [name for name, *_ in frames],
        "file_locations": [
            {"file_name_id": 1, "function_name_id": i, "line": line} for i, (_, line, _) in enumerate(frames, 1)
        ],
        "stack_frames": [
            {"file_location_id": i, **({"parent_frame_id": caller} if caller else {})}
            for i, (*_, caller) in enumerate(frames, 1)
        ],
    }  # fmt: skip
    entry = [op("x", "parameter", of)]
    for name, opcode, frame in ops:
        operands = ("x", "x") if opcode in ("dot", "multiply") else ("x",)
        place = {"source_file": "/src/model.py", "source_line": frames[frame - 1][1], "stack_frame_id": frame}
        entry.append(op(name, opcode, of, *operands, op_name=f"jit(step)/{opcode}", **place))
    made = program(entry, more={"stack_frame_index": index})
    threads = planes.marked(steps=1, period=1000), planes.xla_on_cpu(runs, program=1)
    return planes.profile(planes.host(*threads), metadata_plane(jit_f=(1, made)))


FRAMES = [("step", 10, 0), ("loss", 20, 1), ("solve", 30, 2), ("solve.<locals>.iterate", 31, 3), ("encode", 40, 2)]
OPS = [("tanh.1", "tanh", 4), ("multiply.1", "multiply", 4), ("dot.1", "dot", 5), ("exp.1", "exponential", 5)]


def test_a_function_of_a_compiled_program_without_products_is_one_part():
    """Its callee has nearly all of its time, and its callers have the products as well."""
    runs = "0us +160us tanh.1\n160us +140us multiply.1\n300us +400us dot.1\n700us +100us exp.1"
    found = [one for one in largest(traced(runs, FRAMES, OPS)) if one["share"]]
    assert [(one["title"], one["saving_ps_per_step"]) for one in found] == [
        ("30.0% of the step is model.py:31 solve.iterate, without matrix products: tanh, multiply", 300 * 10**6)
    ]


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ("0us +190us tanh.1\n300us +500us dot.1", "less than healthy programs have"),
        ("0us +900us tanh.1\n900us +40us dot.1", "no model is beside it"),
        ("0us +300us dot.1\n300us +200us exp.1\n500us +40us tanh.1", "it has the products"),
    ],
)
def test_functions_of_compiled_programs_that_are_no_part_of_their_own(runs, why):
    assert not [one for one in largest(traced(runs, FRAMES, OPS)) if "without matrix" in one["title"]], why


@pytest.mark.parametrize(("opcode", "told"), [("exponential", True), ("fft", False), ("custom-call", False)])
def test_transforms_and_calls_of_libraries_are_told_as_ops(opcode, told):
    ops = [("a.1", opcode, 4), *OPS[2:]]
    found = largest(traced("0us +300us a.1\n300us +400us dot.1", FRAMES, ops))
    assert any("without matrix products" in one["title"] for one in found) == told


@pytest.mark.parametrize(
    ("inner", "advice"),
    [
        ("torch/optim/adam.py:300 step", "The Python code of an optimizer"),
        ("torch/utils/data/sampler.py:160 __iter__", "A sampler draws or shuffles"),
        ("/lib/site-packages/helpers/a.py:3 check", "Move this work to another thread"),
    ],
)
def test_the_call_that_has_most_of_a_function_decides_the_advice(inner, advice):
    found = findings(torch(f"0 500 $train.py:12 update\n5 400 ${inner}\n510 480 aten::mm:PyTorch"))["findings"][0]
    assert "train.py:12 update" in found["title"]
    assert found["advice"].startswith(advice)


@pytest.mark.parametrize(("inner", "told"), [("$api.py:2479 block_until_ready", False), ("$api.py:2479 flatten", True)])
def test_devices_that_are_idle_while_they_are_waited_for_wait_for_their_threads(inner, told):
    main = f"0 10 PjitFunction(f)\n10 900 $train.py:30 timed\n15 890 {inner}"
    found = findings(cpu(main, "400 500 dot.1"))["findings"]
    titles = [one["title"] for one in found if one["id"] in ("slow_host_code", "largest_part")]
    assert any("train.py:30 timed" in title for title in titles) == told


def test_functions_of_tensorflow_that_share_the_time():
    main = "0 500 EagerLocalExecute: __inference_train_7\n510 400 EagerLocalExecute: __inference_test_9"
    (found,) = largest(tf_loop(main, "10 450 dense/MatMul:MatMul\n520 300 dense/MatMul:MatMul"))
    assert found["title"] == "75.0% of the step: MatMul (60% in __inference_train_7, 40% in __inference_test_9)"


@pytest.mark.parametrize(("length", "told"), [(49, False), (52, True)])
def test_one_hot_rows_cost_products(length, told):
    ops = f"0 {length} one_hot/OneHot:OneHot\n{length} {900 - length} head/Sigmoid:_MklNativeFusedMatMul"
    found = largest(tf_loop("0 5 train_function", ops))
    assert [one["title"].partition(": ")[2] for one in found if one["share"]] == (["OneHot"] if told else [])
    # A fused op bears the name of the last one inside.
    assert any(one["title"].endswith("of the step: MatMul (beside one-hot rows)") and not one["share"] for one in found)


def test_a_function_of_several_causes_is_one_part():
    """A wait for results and code after it, in one function: more than either rule says."""
    main = (
        "0 700 $train.py:28 average\n0 300 np.asarray(jax.Array)\n300 390 $numpy/_methods.py:115 _mean\n"
        "710 10 PjitFunction(f)"
    )
    found = findings(cpu(main, "720 270 dot.1"))["findings"][0]
    assert "train.py:28 average" in found["title"]
    assert found["share"] >= 0.65
    assert evidence(found)["In this call, of that time"] == 55.714


def test_the_place_of_an_explained_part_is_pointed_at():
    main = "0 600 $train.py:30 batches\n5 590 __next__\n610 10 PjitFunction(f)"
    found = finding("input_bound", cpu(main, "620 370 dot.1"))
    texts = [found["title"], *(str(one["value"]) for one in found["evidence"])]
    assert any("train.py:30 batches" in text for text in texts)


def torch(main):
    """One host that runs ops of PyTorch within marked steps."""
    return planes.host(planes.marked(main, steps=4, period=1000, length=999))


MODEL = "500 480 $torch/nn/modules/module.py:1500 _call_impl\n505 470 aten::linear:PyTorch"


def test_a_function_beside_the_model_with_its_ops():
    main = f"0 495 $train.py:16 update\n10 200 aten::mul:PyTorch\n220 260 aten::clone:PyTorch\n{MODEL}"
    found = largest(torch(main))[0]
    assert found["title"] == ("49.5% of the step is train.py:16 update, outside of the model: aten::clone, aten::mul")
    assert evidence(found)["Wall time of this function and its ops per step"] == 0.495


@pytest.mark.parametrize(("later", "first"), [(80, "largest_part"), (140, "launch_bound")])
def test_a_function_that_takes_more_than_any_of_its_causes(later, first):
    """Launches of 220 us in it, and others: together more or less than four fifths of what the function takes."""
    main = (
        "0 420 $train.py:5 on_end\n5 220 EagerExecute\n230 80 $copy.py:128 deepcopy\n320 80 $copy.py:128 deepcopy\n"
        f"430 {later} EagerExecute"
    )
    found = findings(tf_loop(main, "600 395 dense/MatMul:MatMul"))["findings"]
    assert found[0]["id"] == first
    title = "Devices wait 42.0% of the step while the host runs train.py:5 on_end"
    assert [one["title"] for one in found].count(title) == (first == "largest_part")


@pytest.mark.parametrize(
    ("function", "length", "told"), [("validate", 290, True), ("validate", 260, False), ("forward_twice", 290, False)]
)
def test_an_evaluation_runs_the_model_as_well(function, length, told):
    main = (
        f"0 {length} $train.py:16 {function}\n0 {length} $torch/nn/modules/module.py:1500 _call_impl\n"
        f"5 {length - 10} Net_0/aten::linear:PyTorch\n{MODEL}"
    )
    title = f"{length / 9.99:.1f}% of the step is train.py:16 {function}, an evaluation: aten::linear"
    found = [one for one in largest(torch(main)) if one["title"] == title]
    assert bool(found) == told
    assert all(one["advice"].startswith("Evaluation is work of its own") for one in found)


@pytest.mark.parametrize(
    ("function", "first"),
    [
        ("validate", ["47.0% of the step is train.py:16 validate, an evaluation: aten::linear"]),
        (
            "update",
            ["Devices wait 33.3% of the step for copies of objects: copy.py:128 deepcopy in train.py:16 update"],
        ),
    ],
)
def test_causes_within_an_evaluation_are_part_of_it(function, first):
    main = (
        f"0 470 $train.py:16 {function}\n5 300 $copy.py:128 deepcopy\n"
        "310 155 $torch/nn/modules/module.py:1500 _call_impl\n"
        f"315 150 Net_0/aten::linear:PyTorch\n{MODEL}"
    )
    assert [one["title"] for one in findings(torch(main))["findings"] if one["share"] > 0.1] == first


@pytest.mark.parametrize(("length", "told"), [(190, False), (210, True)])
def test_a_function_without_matrix_products_within_the_model(length, told):
    main = (
        f"0 990 $torch/nn/modules/module.py:1500 _call_impl\n5 {length + 20} $train.py:10 checked\n"
        f"10 {length - 80} aten::isinf:PyTorch\n{length - 60} 80 aten::any:PyTorch\n"
        f"{length + 30} {950 - length} aten::linear:PyTorch"
    )
    found = [one for one in largest(torch(main)) if "train.py:10 checked, without matrix products" in one["title"]]
    assert bool(found) == told
    assert all("NaN and infinities" in one["advice"] for one in found)


def test_a_compiled_function_whose_graph_was_not_recorded():
    ops = "0 600 CompiledFunction:PyTorch\n610 380 CompiledFunctionBackward:PyTorch"
    assert not any("outside of its graphs" in one["title"] for one in largest(torch(ops)))


@pytest.mark.parametrize(("python", "told"), [(330, False), (380, True)])
def test_python_between_the_ops_of_an_eager_program(python, told):
    """Programs with nothing to mend have up to 31% of it."""
    main = f"0 990 $train.py:16 train_step\n{python} {980 - python} aten::linear:PyTorch"
    found = findings(torch(main))["findings"]
    assert any("train_step" in one["title"] for one in found) == told


LINEAR = "aten::linear:PyTorch"


def test_elementwise_ops_one_by_one_are_one_part():
    ops = "0 200 aten::mul:PyTorch\n200 150 aten::add:PyTorch\n350 50 PowBackward0:PyTorch"
    found = largest(torch(f"{ops}\n400 590 {LINEAR}"))[0]
    assert found["title"] == "40.0% of the step: elementwise ops (aten::mul, aten::add, aten::pow)"
    assert "fuse" in found["advice"]


@pytest.mark.parametrize(("length", "told"), [(390, False), (410, True)])
def test_elementwise_ops_from_two_fifths(length, told):
    found = largest(torch(f"0 {length} aten::mul:PyTorch\n{length} {990 - length} {LINEAR}"))
    assert any(one["saving_ps_per_step"] and "elementwise" in one["title"] for one in found) == told


def test_a_range_of_the_program_beside_the_model():
    main = f"0 400 statistics\n10 200 aten::std:PyTorch\n210 180 aten::mean:PyTorch\n400 590 {LINEAR}"
    found = largest(torch(main))[0]
    assert found["title"] == "38.0% of the step: statistics (aten::std, aten::mean)"


@pytest.mark.parametrize("length", [600, 990])
def test_a_range_with_the_model_is_no_part(length):
    main = f"0 {length} forward\n10 100 aten::std:PyTorch\n110 {length - 120} {LINEAR}"
    assert not any("forward" in one["title"] for one in largest(torch(main)))


def test_an_optimizer_that_takes_more_than_usual():
    scope = "Optimizer.step#Adam.step"
    ops = f"0 300 {scope}/aten::div:PyTorch\n300 200 {scope}/aten::sqrt:PyTorch\n500 490 {LINEAR}"
    found = largest(torch(ops))[0]
    assert found["title"] == "50.1% of the step: Adam (aten::div, aten::sqrt)"
    assert "sparse" in found["advice"]


@pytest.mark.parametrize(("look_ups", "told"), [(0, False), (30, False), (60, True)])
def test_an_optimizer_of_a_table(look_ups, told):
    ops = f"0 300 Optimizer.step#Adam.step/aten::div:PyTorch\n300 {look_ups} EmbeddingBackward0:PyTorch"
    found = largest(torch(f"{ops}\n{300 + look_ups} {690 - look_ups} {LINEAR}"))[0]
    assert (found["title"] == "30.0% of the step: Adam (aten::div)") == told


def test_a_compiled_function_whose_graph_broke():
    ops = "\n".join(f"{10 + 90 * i} 80 aten::mul:PyTorch" for i in range(10))
    region = f"0 950 Torch-Compiled Region: 0/0:PyTorch\n{ops}"
    found = largest(torch(f"{region}\n912 20 CompiledFunction:PyTorch"))[0]
    assert found["title"] == (
        "93.1% of the step: ops of a compiled function outside of its graphs (aten::mul, Torch-Compiled Region)"
    )
    assert "fullgraph=True" in found["advice"]

    # Without any graph the backend runs ops as they are.
    assert not any("outside of its graphs" in one["title"] for one in largest(torch(region)))


def test_calls_of_compiled_functions_around_small_graphs():
    calls = "\n".join(
        f"{100 * i} 90 Torch-Compiled Region: 0/0:PyTorch\n{100 * i + 60} 25 ## Call CompiledFxGraph f1 ##:PyTorch"
        for i in range(9)
    )
    found = largest(torch(calls))[0]
    assert found["title"] == "58.6% of the step: calls of compiled functions (Torch-Compiled Region)"


@pytest.mark.parametrize("suffix", [":PyTorch", ""], ids=["op", "range"])
def test_a_compiled_function_that_is_its_graph_is_ordinary_work(suffix):
    main = f"0 950 Torch-Compiled Region: 0/0:PyTorch\n10 930 ## Call CompiledFxGraph f1 ##{suffix}"
    assert [(one["title"], one["saving_ps_per_step"]) for one in largest(torch(main))] == [
        ("93.1% of the step: CompiledFxGraph", 0)
    ]


def loop(count):
    """Ops of 2 us with 1 us between them, and a model."""
    small = "\n".join(f"{3 * i} 2 aten::index:PyTorch" for i in range(count))
    return torch(f"{small}\n{3 * count} {980 - 3 * count} {LINEAR}")


def test_many_small_ops_are_counted():
    found = largest(loop(120))[0]
    assert found["title"] == "36.0% of the step: 120 small ops, 3 us each: aten::index 120 times"
    assert found["saving_ps_per_step"] == 360 * 10**6
    assert evidence(found)["Small ops per step"] == 120


@pytest.mark.parametrize(("count", "told"), [(60, False), (70, True)])
def test_small_ops_from_a_fifth_of_the_step(count, told):
    assert any("small ops" in one["title"] for one in largest(loop(count))) == told


@pytest.mark.parametrize(("length", "told"), [(19, True), (21, False)])
def test_what_a_small_op_is(length, told):
    ops = "\n".join(f"{60 * i} {length} aten::index:PyTorch" for i in range(15))
    assert any("small ops" in one["title"] for one in largest(torch(ops))) == told


@pytest.mark.parametrize(("length", "told"), [(820, False), (700, True)])
def test_without_functions_idle_time_that_each_step_has_is_told_from_a_fifth(length, told):
    """As much as programs with nothing to mend have is not worth a guess."""
    found = findings(planes.host(planes.marked(f"0 {length} {LINEAR}", steps=8, period=1000, length=999)))["findings"]
    titles = [one["title"] for one in found if one["share"]]
    share = f"{(999 - length) / 999:.1%}"
    assert (
        titles
        == [f"Devices idle {share} of the step in code that was not recorded, after aten::linear (1 per step)"] * told
    )


def test_small_ops_of_an_optimizer_name_it():
    small = "\n".join(f"{3 * i} 2 Optimizer.step#AdamW.step/aten::mul_:PyTorch" for i in range(100))
    found = largest(torch(f"{small}\n300 680 {LINEAR}"))[0]
    assert found["title"].startswith("30.0% of the step: 100 small ops, 3 us each, most of the optimizer AdamW: ")


def test_a_compiled_function_that_was_given_up():
    ops = "\n".join(f"{10 + 90 * i} 80 aten::mul:PyTorch" for i in range(10))
    found = largest(torch(f"0 5 TorchDynamo Cache Lookup:PyTorch\n{ops}"))[0]
    assert found["title"].startswith("80.6% of the step: ops of a compiled function outside of its graphs (aten::mul")
    assert "TORCH_LOGS=recompiles" in found["advice"]


def test_matrix_products_are_the_model_wherever_they_run():
    """A search server multiplies the query with all documents outside of a layer."""
    main = f"0 495 $serve.py:13 answer\n10 400 aten::matmul:PyTorch\n420 60 aten::topk:PyTorch\n{MODEL}"
    assert not [one for one in findings(torch(main))["findings"] if one["saving_ps_per_step"]]


def test_making_a_model_is_not_the_model():
    main = (
        "0 600 $serve.py:18 build\n5 590 $torch/nn/modules/linear.py:96 __init__\n10 580 aten::uniform_:PyTorch\n"
        "610 380 $torch/nn/modules/module.py:1500 _call_impl\n615 370 aten::linear:PyTorch"
    )
    assert (
        largest(torch(main))[0]["title"]
        == "60.1% of the step is serve.py:18 build, outside of the model: aten::uniform_"
    )


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        ("trainer.py:600 train_on_batch", "Each such call goes through Keras's"),
        ("train.py:9 prepare", "Move this work to another"),
    ],
)
def test_advice_about_functions_of_keras(function, advice):
    found = findings(cpu(f"0 600 ${function}", "600 390 dot.1"))["findings"][0]
    assert found["advice"].startswith(advice)


def test_short_waits_for_a_launch_are_usual():
    found = findings(cpu("0 140 PjitFunction(solve)", "140 850 dot.1"))["findings"]
    assert [one["id"] for one in found if one["share"]] == []


@pytest.mark.parametrize(
    ("op", "advice"),
    [
        ("linalg_inv", "Solve the linear system"),
        ("_foreach_norm", "Norms of all parameters"),
        ("_unique2", "Such ops sort or count"),
        ("uniform_", "Draw random numbers"),
        ("fft_rfft", "A transform whose length"),
    ],
)
def test_advice_by_what_an_op_does(op, advice):
    found = largest(torch(f"0 500 aten::{op}:PyTorch\n500 490 {LINEAR}"))
    assert found[0]["advice"].startswith(advice)


@pytest.mark.parametrize(("call", "told"), [("Mul", True), ("__inference_step_7", False), ("IteratorGetNext", False)])
def test_eager_ops_of_tensorflow(call, told):
    main = "\n".join(
        f"{100 * i} 60 EagerLocalExecute: {call}\n{100 * i + 5} 50 KernelAndDeviceFunc::Run" for i in range(9)
    )
    found = [one for one in largest(torch(main)) if "eager" in one["title"]]
    assert [one["title"] for one in found] == (["45.0% of the step: eager ops (Mul)"] if told else [])
    assert all("tf.function" in one["advice"] for one in found)


def test_eager_ops_that_write_summaries():
    calls = ("Sum", "Floor", "OneHot", "Range", "WriteSummary")
    main = "\n".join(
        f"{100 * i} 60 EagerLocalExecute: {calls[i % 5]}\n{100 * i + 5} {50 - i % 5} KernelAndDeviceFunc::Run"
        for i in range(9)
    )
    (found,) = [one for one in largest(torch(main)) if "eager" in one["title"]]
    assert "WriteSummary)" in found["title"]
    assert "Write summaries every N-th step" in found["advice"]


def test_without_a_cost_the_largest_wait_is_named():
    """Calls of TensorFlow that take longer than calls do: the graph's threads may have waited for a core."""
    ops = "400 200 MatMul:MatMul\n600 200 Conv2D:Conv2D\n800 150 Relu:Relu"
    [found] = largest(tf_loop("0 990 FunctionRun\n5 980 KernelAndDeviceFunc::Run", ops))
    assert found["title"] == "Devices wait 43.0% of the step while the host runs KernelAndDeviceFunc::Run"
    assert (found["share"], evidence(found)["Waiting meanwhile, of the step"]) == (0.0, pytest.approx(43.0))


def test_a_fused_layer_is_a_matrix_product():
    main = "0 990 $train.py:10 served\n10 900 aten::_transformer_encoder_layer_fwd:PyTorch"
    assert not [one for one in largest(torch(main)) if "without matrix products" in one["title"]]


@pytest.mark.parametrize(("length", "cost"), [(390, 0), (410, 410 * 10**6)])
def test_elementwise_ops_of_tensorflow(length, cost):
    ops = f"0 {length - 200} auc/Tile:Tile\n{length - 200} 200 auc/Less:Less\n{length} {990 - length} d/MatMul:MatMul"
    found = [one for one in findings(tf_loop("0 5 train_function", ops))["findings"] if "elementwise" in one["title"]]
    assert [one["saving_ps_per_step"] for one in found] == ([cost] if cost else [])
    for one in found:
        assert one["title"] == "41.0% of the step: elementwise ops (Tile, Less)"
        assert "jit_compile=True" in one["advice"]


def test_many_runs_name_the_loops_that_they_are_in():
    """A loop over the batch, in it a loop over time, with an op that runs 120 times per step."""
    of = "f32[8]"
    line = {row: {"source_file": "/home/me/model.py", "source_line": row} for row in (7, 8, 9)}
    entry = [op("x", "parameter", of), op("while.1", "while", of, "x", called=["batch"], **line[9])]
    batch = [op("b", "parameter", of), op("while.2", "while", of, "b", called=["time"], **line[8])]
    time = [op("t", "parameter", of), op("dot.5", "dot", of, "t", "t", **line[7])]
    runs = "\n".join(f"{1000 * step + 8 * i}us +8us dot.5" for step in range(3) for i in range(120))
    threads = planes.marked(steps=3, period=1000), planes.xla_on_cpu(runs, program=5)
    proto = program(entry, batch=batch, time=time)
    (found,) = largest(planes.profile(planes.host(*threads), metadata_plane(jit_f=(5, proto))))
    assert found["title"] == (
        "96.0% of the step: dot (120 runs per step, in the loop at model.py:9 and that at model.py:8, model.py:7)"
    )
