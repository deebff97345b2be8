"""Calls from compiled programs into Python, on every kind of device."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from builders.profiles.planted import cpu, evidence, finding, reason, tpu
from builders.programs.hlo import metadata_plane, op, program

from tpu_profile_plugin.analysis.devices.model import Op, OpSpans, Work
from tpu_profile_plugin.analysis.findings.rules.host import debug_callbacks

MAIN = "0 999 $train.py:10 main\n0 10 PjitFunction(f)"


def calling(name, op_name="jit(f)/while/body/debug_print"):
    """The program 7 with a call into Python."""
    call = op(
        name, "custom-call", "f32[]", op_name=op_name, source_file="/home/me/train.py", source_line=31,
        custom_call_target="xla_ffi_python_cpu_callback",
    )  # fmt: skip
    return "\n" + metadata_plane(jit_f=(7, program([call], module="jit_f")))


def test_names_the_op_and_its_line():
    found = finding("debug_callbacks", cpu(MAIN, "0 600 dot.1\n600 399 debug_print.2") + calling("debug_print.2"))
    title = "Calls into Python take 39.9% of the step: debug_print at train.py:31, 1 per step"
    assert found["title"] == title
    assert [one["id"] for one in found["segments"]] == ["compute"]
    assert found["saving_ps_per_step"] == 399 * 10**6
    assert evidence(found) == {
        "Callbacks and waits for them, of the step": 39.94,
        "Callbacks and waits for them per step": 0.399,
        "Longest callback": 0.399,
        "Callbacks per step and device": 1.0,
        "Op": "debug_print.2",
        "Source line": "train.py:31",
    }
    assert found["evidence"][2]["query"] == {"host": "h0", "window": "201000000,1398000000"}


@pytest.mark.parametrize(("duration", "fires"), [(49, False), (51, True)])
def test_the_threshold(duration, fires):
    text = cpu(MAIN, f"0 900 dot.1\n900 {duration} io_callback.1\n951 48 dot.3")
    assert (finding("debug_callbacks", text) is not None) == fires


@pytest.mark.parametrize(
    ("name", "op_name", "fires"),
    [
        ("custom-call.5", "jit(f)/pure_callback", True),
        ("custom-call.5", "jit(f)/custom_jvp_call/erf_inv", False),
        ("custom-call.5", "jit(callback_free)/sort", False),
        ("pure_callback.3", "", True),
    ],
)
def test_the_framework_op_tells_what_a_custom_call_is(name, op_name, fires):
    text = cpu(MAIN, f"0 600 dot.1\n600 399 {name}") + calling(name, op_name)
    assert (finding("debug_callbacks", text) is not None) == fires


def test_tensor_cores_say_it_in_the_framework_op():
    text = tpu(MAIN, "0 600 fusion.1\n600 390 recv-done.2")
    stats = '{program_id=u7, symbol_id=u2, hlo_category="loop fusion"}'
    text = text.replace(stats, stats[:-1] + ', tf_op="jit(f)/debug_callback"}')
    found = finding("debug_callbacks", text)
    assert found["title"] == "Calls into Python take 39.0% of the step: debug_callback, 1 per step"


def test_a_device_that_is_idle_while_python_runs():
    """A GPU's or TPU's profile may only have the host's side."""
    python = "\n600 300 $callback.py:815 _wrapped_callback"
    found = finding("debug_callbacks", tpu(MAIN + python, "0 600 fusion.1\n900 99 fusion.2"))
    assert found["saving_ps_per_step"] == 300 * 10**6
    assert finding("debug_callbacks", tpu(MAIN + python, "0 999 fusion.1")) is None


def test_python_in_tensorflow_functions():
    text = 'plane 1 "/host:CPU"\nline 1 main\n'
    steps = [
        line
        for i in range(5)
        for line in (f"{1000 * i}us +990us train {{_r=1, step_num={i}}}", f"{1000 * i + 520}us +50us MatMul:MatMul")
    ]
    calls = [f"{1000 * i + 100}us +400us EagerPyFunc:EagerPyFunc" for i in range(5)]
    found = finding("debug_callbacks", "\n".join([text, *steps, "line 2 tf_Compute", *calls]))
    assert "EagerPyFunc" in found["title"]
    assert found["saving_ps_per_step"] == 400 * 10**6
    # Python ops of an input pipeline look the same.
    data = "\n".join([text, *steps, "line 2 tf_Compute", *calls, "0us +1us Iterator::Model::ParallelMap"])
    assert reason("debug_callbacks", data) == "No program calls Python."


def test_python_in_a_step_and_in_the_pipeline_of_a_tensorflow_program():
    """Executors tell which of the ops are the step's."""
    lines = ['plane 1 "/host:CPU"', "line 1 main"]
    for at in range(0, 5000, 1000):
        lines.append(f"{at}us +990us train {{_r=1, step_num={at // 1000}}}")
        lines.append(f"{at}us +980us EagerExecute")
    lines.append("line 2 tf_Compute")
    for at in range(0, 5000, 1000):
        lines.append(f"{at + 100}us +800us ExecutorState::Process {{id=1}}")
        lines += [f"{at + 100}us +400us matmul:MatMul", f"{at + 500}us +400us EagerPyFunc:EagerPyFunc"]
    lines += ["line 3 tf_data_iterator", "0us +5us Iterator::Root"]
    found = finding("debug_callbacks", "\n".join(lines))
    assert found["title"].startswith("Calls into Python take 4")
    assert "EagerPyFunc, 1 per step" in found["title"]
    assert found["saving_ps_per_step"] == 400 * 10**6


# Parts of the rule, on typed-in names and times.


@pytest.mark.parametrize(
    ("known", "name", "op"),
    [
        ({}, "custom-call.5", "jit(f)/pure_callback"),
        ({}, "custom-call.6", ""),  # not in the program
        ({}, "dot.1", ""),  # no name of a callback
        ({(7, "dot.1"): "jit(f)/io_callback"}, "dot.1", "jit(f)/io_callback"),
        ({(7, "dot.1"): "jit(f)/io_callback"}, "custom-call.5", ""),  # op statistics have all ops
        ({(8, "custom-call.5"): "jit(f)/io_callback"}, "custom-call.5", ""),
    ],
)
def test_what_op_statistics_have_else_the_program(known, name, op):
    made = SimpleNamespace(row_of={"custom-call.5": 1, "dot.1": 0}, op_names=("jit(f)/dot", "jit(f)/pure_callback"))
    host = SimpleNamespace(hlo=SimpleNamespace(programs=SimpleNamespace(program={7: made}.get)))
    assert debug_callbacks._framework_op(host, Op(name, 7, Work.COMPUTE), known) == op
    if not known:
        assert debug_callbacks._framework_op(host, Op(name, 8, Work.COMPUTE), known) == ""


def test_the_op_with_most_time_is_named():
    """Two runs of 20 us of one, a later one of 30 us of the other."""
    begin = np.array([100, 200, 900, 990])
    spans = OpSpans(begin, begin + np.array([20, 20, 30, 500]), np.array([0, 0, 1, 2]), np.zeros(4, np.uint8), begin)
    ops = tuple(Op(name, 7, Work.COMPUTE) for name in ("io_callback.1", "debug_print.2", "dot.3"))
    device = SimpleNamespace(name="TPU 0", runs=spans, ops=ops)
    programs = SimpleNamespace(program=lambda number: None)
    hlo = SimpleNamespace(programs=programs, source=lambda program, name: ("/home/me/train.py", 31, 0))
    host = SimpleNamespace(plane=None, summary=SimpleNamespace(device=SimpleNamespace(op_ps=0)), hlo=hlo)
    calls = debug_callbacks._on_device(host, device)
    assert (calls.count, calls.name, calls.kind, calls.source) == (3, "io_callback.1", "io_callback", "train.py:31")
    assert [one.tolist() for one in calls.times] == [[100, 200, 900], [120, 220, 930]]


def test_op_statistics_know_programs_by_signed_numbers():
    begin = np.array([100, 200, 300])
    spans = OpSpans(begin, begin + 50, np.arange(3), np.zeros(3, np.uint8), begin)
    ops = (Op("a.1", 2**64 - 5, Work.COMPUTE), Op("a.1", 200, Work.COMPUTE), Op("a.1", 5, Work.COMPUTE))
    names = ("jit(f)/io_callback", "jit(g)/pure_callback", "jit(h)/dot")
    table = SimpleNamespace(op_ps=9, module=(-5, 200, 5), name=("a.1",) * 3, provenance=names)
    hlo = SimpleNamespace(source=lambda program, name: ("", 0, 0))
    host = SimpleNamespace(plane=None, summary=SimpleNamespace(device=table), hlo=hlo)
    calls = debug_callbacks._on_device(host, SimpleNamespace(name="TPU 0", runs=spans, ops=ops))
    assert (calls.times[0].tolist(), calls.kind, calls.source) == ([100, 200], "io_callback", "")


def events_of(*events):
    """(name, begin, length) of each."""
    names = tuple(dict.fromkeys(name for name, *_ in events))
    begin, length = (np.array([one[i] for one in events], np.int64) for i in (1, 2))
    return SimpleNamespace(
        event_metadata=SimpleNamespace(names=names),
        events=SimpleNamespace(
            metadata=np.array([names.index(name) for name, *_ in events], np.int64), begin_ps=begin, duration_ps=length
        ),
    )


CALLBACK = ("$callback.py:815 _wrapped_callback", 10, 5)
PYTHON = ("EagerPyFunc:EagerPyFunc", 30, 9)


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ((CALLBACK, ("MatMul:MatMul", 50, 90)), (1, "callback.py:815 _wrapped_callback")),
        ((CALLBACK, ("$callback.py:815 _wrapped_callback", 20, 3), PYTHON), (3, "EagerPyFunc:EagerPyFunc")),
        ((("$debugging.py:7 debug_callback_impl", 90, 8), PYTHON), (2, "EagerPyFunc:EagerPyFunc")),
        ((("MatMul:MatMul", 50, 90),), (0, "")),
        # An input pipeline of TensorFlow runs Python ops as well, but no callbacks of JAX.
        ((CALLBACK, ("MatMul:MatMul", 50, 90), ("Iterator::Root", 0, 9)), (1, "callback.py:815 _wrapped_callback")),
        ((PYTHON, ("Iterator::Root", 0, 9)), (0, "")),
        ((("xla_python_cpu_callback", 50, 90), ("Iterator::Root", 0, 9)), (1, "xla_python_cpu_callback")),
    ],
)
@pytest.mark.parametrize("decoded", [True, False])
def test_callbacks_on_threads_of_the_host(events, found, decoded):
    plane = events_of(*events)
    declared = SimpleNamespace(event_metadata=plane.event_metadata)

    def filtered(wanted):
        return (events_of(*(one for one in events if wanted.event(one[0]))),)

    host = SimpleNamespace(
        plane=SimpleNamespace(declared=declared, decoded=decoded, **(vars(plane) if decoded else {})),
        space=None if decoded else SimpleNamespace(filtered=filtered),
    )
    calls = debug_callbacks._on_host(host)
    assert (calls.count, calls.name) == found
    host.plane = None
    assert debug_callbacks._on_host(host).count == 0
