"""Code of the host that devices wait for: its name, how long, and what other rules explain."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from builders.kineto import frame, op, step, trace
from builders.profiles.planted import cpu, evidence, finding, findings, reason, tf_loop, tpu

from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, Stacks
from tpu_profile_plugin.analysis.budget.categories import CATEGORIES
from tpu_profile_plugin.analysis.budget.purpose import Purpose
from tpu_profile_plugin.analysis.findings.evidence.host.calls import NamedPart, tree_of
from tpu_profile_plugin.analysis.findings.evidence.host.code import Idle
from tpu_profile_plugin.analysis.findings.evidence.host.usual import usual_shares
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss
from tpu_profile_plugin.analysis.findings.lost import Lost, within
from tpu_profile_plugin.analysis.findings.model import Advice, Finding
from tpu_profile_plugin.analysis.findings.part_advice import HOST
from tpu_profile_plugin.analysis.findings.rules.host import slow_host_code


def loading(duration, name="$train.py:42 load_batch", inner="$augment.py:7 crop"):
    """A step of 1000 us in which a function runs for `duration` before the op is launched."""
    main = f"0 999 $train.py:10 main\n0 {duration} {name}\n1 {duration - 2} {inner}\n{duration} 10 PjitFunction(f)"
    return main, f"{duration} {1000 - duration} dot.1"


def test_names_the_function_and_the_longest_wait():
    found = finding("slow_host_code", cpu(*loading(600)))
    assert found["title"] == "Devices wait 60.0% of the step for code on the host: augment.py:7 crop"
    assert found["confidence"] == "high"
    assert found["saving_ps_per_step"] == 600 * 10**6
    assert evidence(found) == {
        "Devices idle because of code on the host, of the step": 60.0,
        "Devices idle because of code on the host per step": 0.6,
        "Function": "augment.py:7 crop",
        "Because of this function, of that time": pytest.approx(99.667, abs=0.001),
        "Longest wait": 0.6,
    }
    assert found["evidence"][0]["tool"] == "time_budget"
    window = next(one["query"]["window"] for one in found["evidence"] if one["label"] == "Longest wait")
    assert window == "0,1200000000"


def test_a_function_that_steps_are_inferred_from_is_code_as_well():
    main, ops = loading(600)
    unmarked = "\n".join(line for line in cpu(main, ops, steps=8).splitlines() if "step_num" not in line)
    inner = unmarked.replace("$train.py:10 main", "other").replace("$augment.py:7 crop", "other")
    found = finding("slow_host_code", inner)
    assert "train.py:42 load_batch" in found["title"]


@pytest.mark.parametrize(("duration", "fires"), [(49, False), (52, True), (300, True)])
def test_the_threshold(duration, fires):
    assert (finding("slow_host_code", cpu(*loading(duration))) is not None) == fires


@pytest.mark.parametrize(
    ("call", "title", "advice"),
    [
        ("$_pickle dump", "a checkpoint: _pickle dump in train.py:12 save", "Save less often"),
        ("$npyio.py:546 save", "a checkpoint: npyio.py:546 save in train.py:12 save", "Save less often"),
        ("$builtins print", "logging: builtins print in train.py:12 save", "Log every N-th step"),
        ("$gc collect", "garbage collection: gc collect in train.py:12 save", "Call gc.freeze()"),
        (
            "$queue.py:154 get",
            "another thread or process: queue.py:154 get in train.py:12 save",
            "The step waits",
        ),
        ("$parser.py:9 parse", "code on the host: inner.py:7 write", "Launch the next step before"),
    ],
)
def test_what_the_code_is_for_decides_the_advice(call, title, advice):
    """A library of an unknown file writes inside of the call: the program's frame around the call is named."""
    main = f"0 600 $train.py:12 save\n1 598 {call}\n2 590 $inner.py:7 write\n600 10 PjitFunction(f)"
    found = finding("slow_host_code", cpu(main, "600 400 dot.1"))
    assert found["title"] == f"Devices wait 60.0% of the step for {title}"
    assert found["advice"].startswith(advice)


@pytest.mark.parametrize(("prints", "named"), [(10, "waits.py:7 report"), (11, "builtins print")])
def test_many_calls_for_one_purpose_tell_it_together(prints, named):
    """Calls of 30 us; 10 are half of 600 us."""
    calls = "\n".join(f"{number * 35} 30 $builtins print" for number in range(prints))
    found = finding(
        "slow_host_code", cpu(f"0 600 $waits.py:7 report\n{calls}\n600 10 PjitFunction(f)", "600 400 dot.1")
    )
    assert f": {named}" in found["title"]
    assert ("for logging" in found["title"]) == (named == "builtins print")


@pytest.mark.parametrize("sent", [True, False])
def test_code_whose_result_is_sent_to_a_device_is_input(sent):
    main, ops = loading(600)
    found = finding("slow_host_code", cpu(f"{main}\n605 2 DevicePut" if sent else main, ops))
    assert found["advice"].startswith("Prepare the next batch" if sent else "Launch the next step before")


@pytest.mark.parametrize(("wait", "named"), [(200, True), (199, False)])
def test_a_wait_for_results_right_before_the_code_is_named(wait, named):
    """Results are waited for at the end of a step, and the next one begins with a function of 2 ms."""
    begin = 3990 - wait
    code = "0 3999 $train.py:10 main\n0 2000 $train.py:42 load_batch\n2000 10 PjitFunction(f)"
    main = f"{code}\n{begin} {wait} $array.py:298 __float__"
    found = finding("slow_host_code", cpu(main, f"2010 {begin + wait - 2010} dot.1", steps=9, length=4000))
    assert ("Right before it the host waits for results in" in evidence(found)) is named
    assert found["advice"].startswith("The host waits for results before" if named else "Launch the next step before")


def test_a_loop_that_lasts_through_all_steps_is_the_place():
    main = "0 600 $_pickle dump\n600 10 PjitFunction(f)"
    found = finding("slow_host_code", cpu(main, "600 400 dot.1", once="0 4000 $train.py:20 fit"))
    assert found["title"].endswith("for a checkpoint: _pickle dump in train.py:20 fit")
    assert evidence(found)["Called by"] == "train.py:20 fit"


def test_code_between_the_steps_counts_as_well():
    main = "0 100 $train.py:20 step\n0 10 PjitFunction(f)\n200 800 $train.py:42 load_batch"
    found = finding("slow_host_code", cpu(main, "5 90 dot.1", lasting=100))
    assert found["title"] == (
        "Devices wait 90.0% of the time from step to step for code on the host: train.py:42 load_batch"
    )


def test_comprehensions_are_named_by_the_function_around_them():
    found = finding("slow_host_code", cpu(*loading(600, "$data.py:6 records", "$data.py:11 <listcomp>")))
    assert "data.py:6 records" in found["title"]
    assert "<listcomp>" not in str(found)


@pytest.mark.parametrize(
    "name", ["$queue.py:154 get", "$loader.py:9 __next__", "IteratorGetNext", "backend_compile_and_load"]
)
def test_silent_about_what_other_rules_explain(name):
    main = f"0 999 $train.py:10 main\n0 600 {name}\n600 10 PjitFunction(f)\n602 5 DevicePut"
    assert finding("slow_host_code", cpu(main, "600 400 dot.1")) is None


def test_what_it_costs_to_call_the_runtime_is_not_slow_code():
    """Many small ops with little Python in between."""
    main = "0 999 $train.py:10 main\n" + "\n".join(f"{at} 10 PjitFunction(add)" for at in range(0, 1000, 50))
    ops = "\n".join(f"{at + 5} 10 add.1" for at in range(0, 1000, 50))
    assert finding("slow_host_code", cpu(main, ops)) is None


def test_without_python_functions_the_advice_is_to_record_them():
    main = "0 10 PjitFunction(f) {run_id=$N1}\n900 10 PjitFunction(f) {run_id=$N2}"
    text = tpu(main, "0 200 fusion.1\n910 89 fusion.2", modules="0 200 f(7) {run_id=$N1}\n910 89 f(7) {run_id=$N2}")
    found = finding("slow_host_code", text)
    assert found["title"] == (
        "Devices idle 70.1% of the step, and the profile does not show why: Python functions were not recorded"
    )
    assert found["confidence"] == "low"
    assert found["advice"].startswith("Record again")
    assert found["evidence"][-1]["query"] == {"python_tracer_level": "1"}
    # What is lost is what the time budget cannot explain.
    assert [one["id"] for one in found["segments"]] == ["idle_other"]
    busy = cpu("0 999 $train.py:10 main", "0 990 dot.1")
    assert reason("slow_host_code", busy) == "Code on the host takes 0.0% of the step while devices are idle."


@pytest.mark.parametrize(("busy", "saving_us"), [(400, 590), (600, 0)])
def test_few_steps_of_a_cpu_without_functions_are_waste_from_half_of_the_time_on(busy, saving_us):
    found = finding("slow_host_code", cpu("0 10 PjitFunction(f)", f"{1000 - busy} {busy - 1} dot.1", steps=4))
    assert found["title"].endswith("the profile does not show why: Python functions were not recorded")
    assert found["saving_ps_per_step"] == saving_us * 10**6
    assert ("no waste is known" in found["formula"]) == (saving_us == 0)


@pytest.mark.parametrize("within", [200, 300, 400])
def test_gaps_in_programs_are_not_unexplained(within):
    """A gap in a run of a program, and 300 us until the next launch."""
    main = "0 10 PjitFunction(f) {run_id=$N1}\n900 10 PjitFunction(f) {run_id=$N2}"
    ops = f"0 {600 - within} fusion.1\n900 99 fusion.2"
    text = tpu(main, ops, modules="0 600 f(7) {run_id=$N1}\n900 99 f(7) {run_id=$N2}")
    assert finding("slow_host_code", text)["title"].startswith("Devices idle 30.0% of the step")


def test_a_tensor_core_waits():
    main = "0 999 $train.py:10 main\n0 500 $train.py:42 load_batch\n500 10 PjitFunction(f)"
    found = finding("slow_host_code", tpu(main, "505 490 fusion.1"))
    assert found["saving_ps_per_step"] == pytest.approx(500 * 10**6, rel=0.03)
    assert findings(tpu(main, "505 490 fusion.1"))["findings"][0]["id"] == "slow_host_code"


def keras(frames):
    """A batch of 1000 us: a call of the train function, then a callback between the marks of the steps."""
    lines = ['plane 1 "/host:CPU"', "line 1 main"]
    for at in range(0, 5000, 1000):
        lines.append(f"{at}us +310us train {{_r=1, step_num={at // 1000}}}")
        lines.append(f'{at}us +300us one_step {{tf_function_call="notTraced-nonXla"}}')
        lines.append(f"{at + 10}us +280us EagerExecute")
        lines.append(f"{at + 20}us +200us MatMul:MatMul")
        lines += [f'{at + 320}us +650us "$score.py:5 on_batch_end"'] if frames else []
    return "\n".join(lines)


def test_tensorflow_on_the_host_alone():
    found = finding("slow_host_code", keras(frames=True))
    assert found["title"].endswith(": score.py:5 on_batch_end")
    assert found["title"].startswith("Code outside of TensorFlow takes")
    found = finding("slow_host_code", keras(frames=False))
    assert found["title"].endswith("; Python functions were not recorded")
    assert found["confidence"] == "medium"
    assert "callbacks" in found["advice"]


def test_tensorflow_that_is_busy_is_healthy():
    text = keras(frames=False).replace("+300us one_step", "+990us one_step").replace("+310us", "+995us")
    assert finding("slow_host_code", text) is None


def test_the_profiler_is_not_the_program():
    main = "0 999 $train.py:10 main\n0 600 $profiler.py:271 stop_trace\n600 10 PjitFunction(f)"
    assert finding("slow_host_code", cpu(main, "600 400 dot.1")) is None


@pytest.mark.parametrize(
    ("call", "title", "advice"),
    [
        ("$time sleep", "a sleep: time sleep", "The program sleeps"),
        ("$copy.py:128 deepcopy", "copies of objects: copy.py:128 deepcopy", "Arrays of JAX never change"),
        (
            "$json/__init__.py:299 loads",
            "reading or writing JSON: json/__init__.py:299 loads",
            "Parse each record once",
        ),
        ("$re/__init__.py:208 findall", "text processing: re/__init__.py:208 findall", "Tokenise and clean texts"),
        ("$_hashlib openssl_sha256", "hashing: _hashlib openssl_sha256", "Hash every N-th step"),
        ("$frame.py:10000 apply", "tables of pandas: frame.py:10000 apply", "Convert the table to arrays"),
        ("$numpy array", "conversions between Python objects and arrays: numpy array", "Make arrays once"),
        ("$random.py:520 uniform", "random numbers drawn on the host: random.py:520 uniform", "Draw whole arrays"),
        ("$gzip.py:300 read", "reading, writing or compressing files: gzip.py:300 read", "Read and decode"),
        ("$client.py:1430 getresponse", "the network: client.py:1430 getresponse", "Ask before the answer is needed"),
        ("$subprocess.py:506 run", "another program: subprocess.py:506 run", "Start the program once"),
        ("$<unknown> acquire", "a lock: acquire", "Another thread holds the lock"),
        ("$dispatch.py:300 check_special", "a debug mode: dispatch.py:300 check_special", "Switch off jax_debug_nans"),
        (
            "$dataset_ops.py:480 __iter__",
            "a new input pipeline or iterator: dataset_ops.py:480 __iter__",
            "Make the input",
        ),
    ],
)
def test_kinds_of_code(call, title, advice):
    found = finding(
        "slow_host_code", cpu(f"0 600 $train.py:12 step\n1 598 {call}\n600 10 PjitFunction(f)", "600 400 dot.1")
    )
    assert found["title"] == f"Devices wait 60.0% of the step for {title} in train.py:12 step"
    assert found["advice"].startswith(advice)


def test_short_calls_with_a_purpose_between_launches_are_no_launching():
    """Ten prints of 30 us, each between two launches of 5 us."""
    main = ["0 999 $train.py:10 main", *(f"{100 * i + 2} 30 $builtins print" for i in range(10))]
    main += [f"{100 * i + 35} 5 PjitFunction(f)" for i in range(10)]
    ops = "\n".join(f"{100 * i + 40} 60 dot.{i}" for i in range(10))
    found = finding("slow_host_code", cpu("\n".join(main), ops))
    assert "for logging: builtins print in train.py:10 main" in found["title"]
    assert finding("launch_bound", cpu("\n".join(main), ops)) is None


def test_an_iterator_that_is_made_in_each_step_is_no_launch():
    main = "0 600 EagerExecute\n2 590 EagerLocalExecute: MakeIterator\n610 389 EagerExecute"
    text = tf_loop(main, "650 340 dense/MatMul:MatMul")
    found = finding("slow_host_code", text)
    assert found["title"] == (
        "Devices wait 59.0% of the step for a new input pipeline or iterator: EagerLocalExecute: MakeIterator"
    )
    assert found["advice"].startswith("Call iter(dataset) once")
    assert finding("launch_bound", text) is None


@pytest.mark.parametrize(("begin", "length", "held"), [(400, 5590, True), (400, 4000, False), (5000, 990, False)])
def test_who_holds_the_lock(begin, length, held):
    """The main thread does nothing for 6 ms, until a function of another thread ends that ran most of that time."""
    main, ops = "0 6000 $serve.py:9 lookup\n6000 10 PjitFunction(f)", "6010 3900 dot.1"
    other = f"0 9990 $serve.py:30 loop\n{begin} {length} $serve.py:20 refresh"
    found = finding("slow_host_code", cpu(main, ops, other=other, length=10_000))
    assert ("a lock: serve.py:9 lookup, held by serve.py:20 refresh on another thread" in found["title"]) == held
    assert found["advice"].startswith("Another thread holds the lock" if held else "Launch the next step before")


@pytest.mark.parametrize(("call", "held"), [("$zlib compress", True), ("$_thread acquire", False)])
def test_a_lock_is_held_by_what_works(call, held):
    """The other thread runs a C function for 5.1 ms; the main thread waits for it, then copies for 0.5 ms."""
    main, ops = "0 6000 $serve.py:9 lookup\n6000 10 PjitFunction(f)", "6010 3900 dot.1"
    other = f"0 9990 $serve.py:30 loop\n400 5100 {call}"
    found = finding("slow_host_code", cpu(main, ops, other=other, length=10_000))
    assert (f"serve.py:9 lookup, held by {call[1:]} on another thread" in found["title"]) == held


def test_threads_that_have_the_lock_one_after_the_other():
    """In turn, two other threads end the wait of the main thread; each waits itself while the other has the lock."""
    main, ops = "0 6000 $serve.py:9 handle\n6000 10 PjitFunction(f)", "6010 3900 dot.1"
    ends = [(2900, 5990), (5990, 2900)]
    threads = []
    for number in range(2):
        turns = "\n".join(
            f'{10_000 * step}us +{ends[(step + number) % 2][0]}us "$serve.py:20 lookup"' for step in range(4)
        )
        threads.append(f"line {5 + number} worker{number}\n{turns}")
    found = finding("slow_host_code", cpu(main, ops, length=10_000) + "\n" + "\n".join(threads))
    assert "a lock: serve.py:9 handle, held by serve.py:20 lookup on another thread" in found["title"]


@pytest.mark.parametrize(("thread", "told"), [("0 5990 $serve.py:20 wait", True), ("0 3000 $serve.py:20 wait", False)])
def test_what_another_thread_does_while_a_queue_is_empty(thread, told):
    main = "0 6000 $queue.py:154 get\n6000 5 PjitFunction(f)\n6001 3 DevicePut"
    found = finding("input_bound", cpu(main, "6010 3900 dot.1", other=thread, length=10_000))
    assert ("queue.py:154 get, until serve.py:20 wait ends on another thread" in found["title"]) == told


@pytest.mark.parametrize(
    ("around", "sleeps", "told"),
    [
        ("0 40000 $serve.py:20 collect", 3100, ", while serve.py:20 collect sleeps on another thread"),
        ("0 1 $threading.py:973 run", 3100, ", while another thread sleeps"),  # its function began before the recording
        ("0 40000 $serve.py:20 collect", 2900, ""),
    ],
)
def test_a_queue_is_empty_while_another_thread_sleeps(around, sleeps, told):
    main = "0 6000 $queue.py:154 get\n6000 5 PjitFunction(f)\n6001 3 DevicePut"
    text = cpu(main, "6010 3900 dot.1", length=10_000)
    naps = "\n".join(f'{10_000 * step + 1000}us +{sleeps}us "$time sleep"' for step in range(4))
    begin, length, name = around.split(" ", 2)
    found = finding("input_bound", f'{text}\nline 5 batcher\n{begin}us +{length}us "{name}"\n{naps}')
    assert found["title"].endswith(f"queue.py:154 get{told}")
    assert found["advice"].startswith("The program sleeps") == bool(told)


def test_a_collection_that_pytorch_names():
    events = []
    for number in range(4):
        begin = 1000.0 + 2000 * number
        events += [step(number, begin, 1990), frame("train.py(61): train_step", begin, 1985)]
        events += [frame("<built-in function collect>", begin + 5, 1500), op("aten::linear", begin + 1510, 470)]
    found = finding("slow_host_code", trace(*events))
    assert "for garbage collection: <built-in function collect> in train.py:61 train_step" in found["title"]
    assert found["advice"].startswith("Call gc.freeze()")


def test_a_function_that_ends_all_the_time_holds_no_lock():
    main, ops = "0 6000 $serve.py:9 lookup\n6000 10 PjitFunction(f)", "6010 3900 dot.1"
    other = "\n".join(f"{at} 490 $serve.py:20 refresh" for at in range(0, 9500, 500))
    found = finding("slow_host_code", cpu(main, ops, other=other, length=10_000))
    assert "code on the host: serve.py:9 lookup" in found["title"]


def test_debug_modes_count_in_ops_that_run_in_the_hosts_calls():
    """PyTorch on the CPU: each op takes a stack trace, which no device is idle for."""
    events = []
    for number in range(4):
        begin = 1000.0 + 2000 * number
        events += [step(number, begin, 1990), frame("train.py(12): train_step", begin, 1985)]
        events += [op("aten::linear", begin + 5 + 480 * i, 470) for i in range(4)]
        events += [frame("torch/fx/traceback.py(504): format_stack", begin + 10 + 480 * i, 400) for i in range(4)]
    found = finding("slow_host_code", trace(*events))
    assert "for a debug mode: torch/fx/traceback.py:504 format_stack in train.py:12 train_step" in found["title"]
    assert found["saving_ps_per_step"] == pytest.approx(1600 * 10**6, rel=0.05)
    assert "set_detect_anomaly" in found["advice"]


@pytest.mark.parametrize(
    ("on_cpus", "of_step", "expected"),
    [
        (True, [10, 10, 0, 10, 100], [1.0, 1.0, 1.0, 1.0, 0.2]),
        (True, [10, 10, 10, 20, 19], [1.0, 1.0, 1.0, 1.0, 1.0]),
        (True, [10, 10, 10, 100], [1.0, 1.0, 1.0, 1.0]),
        (False, [10, 10, 0, 10, 100], [1.0, 1.0, 1.0, 1.0, 1.0]),
    ],
)
def test_a_step_of_cpus_counts_as_two_usual_ones(on_cpus, of_step, expected):
    host = SimpleNamespace(on_cpus=on_cpus)
    assert usual_shares(host, np.array(of_step)).tolist() == expected


@pytest.mark.parametrize(
    ("read", "advice"), [("ReadVariableOp", "Values go between"), ("Relu", "Look at what the loop")]
)
def test_idle_time_between_eager_ops_of_tensorflow_is_named_by_the_op_before(read, advice):
    """Two ops in each step of 1 ms, and 600 us without an event between them."""
    main = f"0 100 EagerLocalExecute: {read}\n90 5 EagerLocalExecute: Identity\n700 290 EagerLocalExecute: Mul"
    found = finding("slow_host_code", tf_loop(main, f"0 100 {read}:{read}\n700 290 Mul:Mul", steps=8))
    assert found["title"] == (
        f"Devices idle 60.0% of the step in code that was not recorded, after {read} (1 per step)"
    )
    assert found["advice"].startswith(advice)


def test_functions_that_are_called_many_times_are_counted():
    """Twenty calls of a function in each step, within one that takes 600 us."""
    calls = "\n".join(f"{30 * i} 30 $data.py:6 parse" for i in range(20))
    main = f"0 999 $train.py:10 main\n0 600 $train.py:42 load_batch\n{calls}\n600 10 PjitFunction(f)"
    found = finding("slow_host_code", cpu(main, "600 400 dot.1"))
    assert evidence(found)["Calls per step"] == 20
    assert found["advice"].startswith("This runs many times per step.")


# Parts of the rule, on typed-in times.


def numbers(*values):
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("on_cpus", "steps", "saving", "told"),
    [
        (False, 4, 100, 100),
        (False, 4, 299, 299),
        (False, 9, 300, 600),  # half of the part is told as all of it
        (True, 4, 100, 0),
        (True, 4, 300, 600),  # half of the time from step to step is waste
        (True, 5, 300, 0),  # enough steps to tell what is regular
        (True, 1, 299, 0),
    ],
)
def test_idle_time_that_nothing_explains(on_cpus, steps, saving, told):
    parts = np.array([600 * (name == "idle_other") for name in CATEGORIES])
    budget = SimpleNamespace(parts_ps=parts, between_step_ps=0, base_ps=1200)
    run = SimpleNamespace(budget=budget, on_cpus=on_cpus, steps=steps, base="step", per="step")
    run.lost_in = lambda *segments: within(budget, 600, segments)
    found = Finding("t", saving, "f", "low", ("a", "b", "c"), Advice("Do it."), (), ("idle_other",))
    judged = slow_host_code._unexplained(run, found)
    assert judged.saving_ps == told
    assert judged.formula.startswith("f; no waste") == (told == 0)
    assert [getattr(one, "value", one) for one in judged.evidence][-1] == "c"
    assert len(judged.evidence) == 3
    assert "50.0%" in judged.title or saving < 300


@pytest.mark.parametrize(
    ("uploads", "sent"),
    [
        ((), False),
        ((20, 50), True),  # after two of three spans, before the next
        ((20, 25), False),
        ((19, 49), False),  # within the spans
        ((20, 59), True),
        ((20, 60), False),  # in the third
        ((90, 50), True),
        ((9, 90), False),
    ],
)
def test_uploads_after_most_spans(uploads, sent):
    host = SimpleNamespace(reader=SimpleNamespace(time=SimpleNamespace(upload=(np.sort(numbers(*uploads)),))))
    spans = Idle(numbers(10, 40, 60), numbers(20, 50, 80), numbers(0, 0, 0))
    assert slow_host_code._sent(host, spans) == sent


@pytest.mark.parametrize(
    ("begin", "told"),
    [
        ((300, 301), "b"),
        ((300, 700), ""),  # half of the spans
        ((300, 301, 700), "b"),
        ((100, 300, 301), "b"),
        ((10, 300, 310), "b"),
        ((100, 140, 149, 300), "a"),
        ((150, 349, 700), ""),  # 50 us later is not at once
        ((149, 300, 349, 700), "b"),
        ((30, 40, 50), ""),  # a short call, and before the others
    ],
)
def test_the_wait_right_before_most_spans(begin, told, monkeypatch):
    monkeypatch.setattr(slow_host_code, "GLUE_PS", 50)
    fetches = SimpleNamespace(
        begin_ps=numbers(10, 50, 200, 250), end_ps=numbers(30, 100, 249, 300), name=numbers(2, 0, 2, 1)
    )
    code = SimpleNamespace(fetches=fetches, calls=SimpleNamespace(main=SimpleNamespace(names=("a", "b", "c"))))
    assert slow_host_code._after_wait(code, numbers(*begin)) == told


def runs_of(*ops):
    """(begin, end, op) of each run of a device with two ops."""
    begin, end, op_of = (numbers(*column) for column in zip(*ops, strict=True))
    runs = SimpleNamespace(begin_ps=begin, end_ps=end, op=op_of)
    return SimpleNamespace(runs=runs, ops=(SimpleNamespace(name="add"), SimpleNamespace(name="mul")))


def test_what_idle_spans_follow():
    """A call of the host, else the last op that ended on the same device."""
    devices = (runs_of((0, 30, 1), (5, 20, 0)), runs_of((60, 70, 1)))
    stacks = Stacks(
        numbers(100, 200), numbers(150, 220), numbers(0, 1), numbers(NOWHERE, NOWHERE), numbers(1, 0), ("f", "g"),
        np.zeros(2, np.bool_), numbers(NOWHERE, 0),
    )  # fmt: skip
    spans = Idle(
        numbers(10, 20, 29, 30, 70, 80, 160, 200, 230), np.arange(9) * 1000, numbers(0, 0, 0, 0, 1, 0, 1, 1, 0)
    )
    names, which = slow_host_code._before(SimpleNamespace(devices=devices), stacks, spans)
    assert [names[i] for i in which] == ["", "add", "add", "mul", "mul", "mul", "mul", "g", "g"]


def test_a_call_that_began_with_the_recording_may_be_followed():
    stacks = Stacks(
        numbers(0, 200), numbers(50, 220), numbers(0, 1), numbers(NOWHERE, NOWHERE), numbers(0, 1), ("f", "g"),
        np.zeros(2, np.bool_), numbers(0, NOWHERE),
    )  # fmt: skip
    spans = Idle(numbers(60, 70, 230), numbers(65, 80, 240), numbers(0, 0, 0))
    names, which = slow_host_code._before(SimpleNamespace(devices=(runs_of((0, 30, 1)),)), stacks, spans)
    assert [names[i] for i in which] == ["f", "f", "mul"]


@pytest.mark.parametrize(("uploads", "sent"), [((20,), False), ((20, 50), True), ((51,), False)])
def test_uploads_after_half_of_the_spans_are_not_most(uploads, sent):
    host = SimpleNamespace(reader=SimpleNamespace(time=SimpleNamespace(upload=(numbers(*uploads),))))
    assert slow_host_code._sent(host, Idle(numbers(10, 40), numbers(20, 50), numbers(0, 1))) == sent


@pytest.mark.parametrize(
    ("steps", "spans", "found"),
    [
        # (begin, length, call before it) of each; a quarter of the steps may have less.
        (5, [(10, 40, 0), (110, 40, 0), (210, 40, 0), (310, 40, 0), (410, 10, 0)], (5 * 40, "f (1 per step)")),
        (4, [(10, 40, 0), (110, 40, 0), (210, 40, 0), (310, 40, 0)], (0.0, "")),
        (
            5,
            [(5, 40, 0), (110, 30, 0), (120, 10, 0), (210, 40, 0), (310, 40, 0), (420, 40, 0)],
            (5 * 40, "f (1 per step)"),
        ),
        # Calls with a tenth of all are told, the largest first.
        (
            5,
            [(100 * i + at, *one) for i in range(5) for at, *one in ((1, 10, 2), (30, 60, 1), (70, 30, 0))],
            (5 * 100, "g (1 per step), f (1 per step), h (1 per step)"),
        ),
        (
            5,
            [(100 * i + at, *one) for i in range(5) for at, *one in ((1, 9, 2), (30, 60, 1), (70, 31, 0))],
            (5 * 100, "g (1 per step), f (1 per step)"),
        ),
        (
            5,
            [(100 * i + at, 10, name) for i in range(5) for at, name in ((1, 3), (20, 0), (40, 0), (60, 3), (80, 3))],
            (5 * 50, "f (2 per step)"),  # nothing is known before the others
        ),
    ],
)  # fmt: skip
def test_calls_that_idle_time_follows_regularly(monkeypatch, steps, spans, found):
    """Of the calls f, g, h, and none, in steps of 100."""
    begin, length, name = (numbers(*column) for column in zip(*spans, strict=True))
    monkeypatch.setattr(slow_host_code, "_before", lambda host, stacks, spans: (["f", "g", "h", ""], name))
    host = SimpleNamespace(windows=(np.arange(steps) * 100, np.arange(steps) * 100 + 100))
    assert slow_host_code._regular(host, None, Idle(begin, begin + length, begin * 0)) == found


TREE = Stacks(
    numbers(10, 20, 30, 40, 50), numbers(19, 29, 39, 49, 59), numbers(0, 1, 2, 3, 4),
    numbers(NOWHERE, 0, NOWHERE, 2, NOWHERE), numbers(0, 1, 2, 1, 1),
    ("$train.py:5 step", "PjitFunction(f)", "$a.py:2 g"), np.array([True, False, True]), np.full(5, NOWHERE),
)  # fmt: skip
"""A function that launches, from 10 to 29; another one, from 30 to 49; a launch from 50 to 59 in no function."""


@pytest.mark.parametrize(
    ("at", "launching"),
    [
        ([25] * 50, [True, True, False, False, False]),
        # A fiftieth of them; the call itself is not told apart from its function
        ([25] * 49 + [45], [True, True, True, True, False]),
        ([25] * 50 + [45], [True, True, False, False, False]),
        ([25] * 50 + [55] * 2, [True, True, False, False, True]),
        ([15, 45, 99, 99, 99], [True, True, True, True, False]),
        ([99] * 5, [False] * 5),
    ],
)
def test_functions_that_launch(at, launching):
    """Nothing is launched by what is outside of calls."""
    calls = tree_of(SimpleNamespace(names=TREE.names), TREE)
    ops = SimpleNamespace(at_ps=numbers(*at))
    assert slow_host_code._launching(calls, ops).tolist() == [*launching, False]


@pytest.mark.parametrize(
    ("thread", "evaluates"), [([50, 50, 0], False), ([49, 51, 0], True), ([0, 51, 49], True), ([0, 30, 70], False)]
)
def test_evaluation_that_is_the_program_itself(monkeypatch, thread, evaluates):
    """More than half of the thread's time; the second call is for evaluation."""
    purpose = np.array([Purpose.UNKNOWN, Purpose.EVALUATION, Purpose.CHECKPOINT, Purpose.UNKNOWN], np.uint8)
    monkeypatch.setattr(slow_host_code, "blame_of_calls", lambda host: SimpleNamespace(thread_ps=numbers(*thread)))
    most = NamedPart(Purpose.UNKNOWN, "f", "", "f", np.zeros(4, np.bool_), 5)
    silent = []
    monkeypatch.setattr(slow_host_code, "named_part", lambda host, node, ps, one: silent.append(one) or most)
    code = SimpleNamespace(calls=SimpleNamespace(purpose=purpose))
    assert slow_host_code._most(code, None, numbers(0), numbers(9)) is most
    assert (Purpose.EVALUATION in silent[0]) == evaluates


@pytest.mark.parametrize(
    ("batching", "purpose"), [((15, 70), Purpose.QUEUE), ((14, 70), Purpose.BATCHING), ((0, 0), Purpose.QUEUE)]
)
def test_waits_for_a_batch_of_requests(monkeypatch, batching, purpose):
    """More than half of the waits for a queue from 10 to 30 and, while devices wait, from 60 to 90."""
    monkeypatch.setattr(slow_host_code, "blame_of_calls", lambda host: SimpleNamespace(thread_ps=numbers(9)))
    most = NamedPart(Purpose.QUEUE, "f", "", "f", np.zeros(2, np.bool_), 5)
    monkeypatch.setattr(slow_host_code, "named_part", lambda *_: most)
    calls = SimpleNamespace(
        purpose=np.array([Purpose.QUEUE, 0], np.uint8), times=lambda nodes: (numbers(10, 50, 200), numbers(30, 90, 300))
    )
    code = SimpleNamespace(calls=calls, slow=Idle(numbers(0, 60), numbers(40, 110), numbers(0, 0)))
    host = SimpleNamespace(
        reader=SimpleNamespace(time=SimpleNamespace(batching=(numbers(batching[0]), numbers(batching[1]))))
    )
    if batching == (0, 0):
        host.reader.time.batching = numbers(), numbers()
    assert slow_host_code._most(code, host, numbers(0), numbers(9)).purpose == purpose


def slow(
    monkeypatch, spans, *, unknown=(), traced=True, most=("f", 100, "f", 100), ops=None, gap=0, cpus=False,
    regular=(0.0, ""), length=1000, often=0.0, purpose=Purpose.UNKNOWN, launching=(),
):  # fmt: skip
    """What slow code costs a host.

    Args:
      spans: idle time in code as (begin, end), each in a call of its own; unknown: without any event.
      most: the function with most of it, its time, its innermost call, and the time of that.
      ops: there are programs that are not compiled, the gaps between which may be so long; launching: the calls that
        launch them.
      regular: how much all steps have of `length`, and what it follows; often: calls per step.
    """
    name, ps, inner, inner_ps = most
    named = NamedPart(purpose, name, "", inner, np.ones(9, np.bool_), ps, inner_ps)
    begins = numbers(*(begin for begin, _ in spans))
    calls = SimpleNamespace(
        main=SimpleNamespace(traced=traced), times=lambda nodes: (begins, begins + 1), per_step=lambda *_: often,
        stacks=SimpleNamespace(at=lambda middle: np.searchsorted(begins, middle, side="right") - 1),
    )  # fmt: skip
    slow, other = (
        Idle(numbers(*(one[0] for one in of)), numbers(*(one[1] for one in of)), np.zeros(len(of), np.int64))
        for of in (spans, unknown)
    )
    code = SimpleNamespace(
        slow=slow, unknown=other, calls=calls, length_ps=length, within=lambda spans: (numbers(0), numbers(9))
    )
    launches = np.array([i in launching for i in range(len(spans) + 1)])
    told = {
        "code_of": code, "_most": named, "holding": "", "_after_wait": "", "_regular": regular, "_sent": False,
        "longest_gap_ps": gap, "_launching": launches,
    }  # fmt: skip
    for one, answer in told.items():
        monkeypatch.setattr(slow_host_code, one, lambda *_, answer=answer: answer)
    monkeypatch.setattr(slow_host_code.python_lock, "gather", lambda host: None)

    def by_part(spans, parts):
        found = np.zeros(len(CATEGORIES) + 1, np.int64)
        found[CATEGORIES.index("idle_host")] = sum(int((end - begin).sum()) for begin, end in spans)
        return found

    host = SimpleNamespace(
        name="h0", devices=(0,), steps=(), windows=(), on_cpus=cpus, by_part=by_part,
        summary=SimpleNamespace(frameworks=("JAX",)),
    )  # fmt: skip
    return slow_host_code.slow_code(host, ops)


@pytest.mark.parametrize(
    ("unknown", "traced", "ps"),
    [([(50, 80)], False, 30), ([(50, 81)], False, 31), ([(50, 81)], True, 30), ([(50, 60), (70, 91)], False, 31)],
)
def test_idle_time_without_events_counts_if_it_is_more(monkeypatch, unknown, traced, ps):
    """Than the 30 with an event; where functions are known, only code counts."""
    loss = slow(monkeypatch, [(100, 130)], unknown=unknown, traced=traced)
    assert loss.ps == ps
    window = next(one.query["window"] for one in loss.evidence if one.label == "Longest wait")
    longest = max(
        [(100, 130)] if ps == 30 and (traced or unknown == [(50, 80)]) else unknown, key=lambda one: one[1] - one[0]
    )
    begin, end = longest
    assert window == f"{2 * begin - end},{2 * end - begin}"


@pytest.mark.parametrize(
    ("gap", "launching", "ps"),
    [(20, (), 60), (21, (), 40), (41, (), None), (20, (1,), 20), (20, (0, 1), None)],
)
def test_code_between_operations_that_are_not_compiled(monkeypatch, gap, launching, ps):
    """Spans of 20, 40 and 0; shorter ones, and those in functions that launch, do not count."""
    loss = slow(monkeypatch, [(10, 30), (50, 90)], ops=object(), gap=gap, launching=launching)
    assert (loss and loss.ps) == ps
    assert slow(monkeypatch, [(10, 30), (50, 90)], gap=gap, launching=launching).ps == 60


@pytest.mark.parametrize(
    ("most", "label"),
    [
        (("f", 100, "g", 51), "Most of it in"),
        (("f", 100, "g", 50), "The call with the largest part"),
        (("f", 0, "g", 0), "The call with the largest part"),
        (("f", 100, "f", 100), None),
    ],
)
def test_the_call_with_most_of_a_function(monkeypatch, most, label):
    labels = [one.label for one in slow(monkeypatch, [(10, 30)], most=most).evidence if one.value == "g"]
    assert labels == ([label] if label else [])


@pytest.mark.parametrize(
    ("cpus", "regular", "after", "confidence"),
    [
        (True, 200, "f (2 per step)", "medium"),  # a fifth of 1000
        (True, 199, "f (2 per step)", "low"),
        (True, 200, "", "low"),
        (False, 200, "f (2 per step)", "low"),
    ],
)
def test_idle_time_that_is_the_programs_own(monkeypatch, cpus, regular, after, confidence):
    loss = slow(monkeypatch, [(10, 30)], most=("", 0, "", 0), cpus=cpus, regular=(regular, after))
    assert loss.confidence == confidence
    assert loss.what.endswith(after if confidence == "medium" else "after")
    assert [one.value for one in loss.evidence if one.label == "It follows"] == ([after] if after else [])


@pytest.mark.parametrize(("often", "counted"), [(19.9, False), (20, True)])
def test_calls_that_are_counted(monkeypatch, often, counted):
    loss = slow(monkeypatch, [(10, 30)], most=("$train.py:5 f", 20, "$train.py:5 f", 20), often=often)
    assert any(one.label == "Calls per step" for one in loss.evidence) == counted
    assert loss.advice.general.startswith("This runs many times per step") == counted


@pytest.mark.parametrize(
    ("devices", "what", "title", "formula"),
    [
        (True, "wait for x", "Devices wait for x", "one event of the main thread covers"),
        (True, f"{slow_host_code._IDLE} f", "Devices idle 50.0% of the step in code", "no event of the main thread"),
        (False, ": f", "Code outside of TensorFlow takes 50.0% of the step: f", "outside of calls into TensorFlow"),
    ],
)
def test_what_code_costs(devices, what, title, formula):
    def loss(ps, what):
        by_part = np.zeros(len(CATEGORIES) + 1, np.int64)
        by_part[0] = ps
        return HostLoss(by_part, what, (), HOST)

    run = SimpleNamespace(
        has_devices=devices, base="step", per="step", located=lambda by_part: Lost(5.0, 0.5, ()),
        present=lambda gathered: [(one, f"h{i}") for i, one in enumerate(gathered) if one is not None],
    )  # fmt: skip
    found = slow_host_code.judge(run, [loss(3, "small"), None, loss(5, what), loss(4, "small")])
    assert found.title.startswith(title)
    assert formula in found.formula
    assert found.hosts == ("h2",)
    silent = slow_host_code.judge(run, [None])
    assert silent.looked == devices
