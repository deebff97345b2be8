"""Compilation in steps: how much, in how many of them, of what, and what differs between the programs."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from builders.answers import answer, rows
from builders.profiles.planted import cpu, evidence, finding, reason, tpu
from builders.programs.hlo import metadata_plane, op, program

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN
from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, IDLE_COMPILE, IDLE_HOST
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Finding
from tpu_profile_plugin.analysis.findings.rules.host import recompilation
from tpu_profile_plugin.tools import registry

US = 10**6


def modules(*parameters, name="jit_step"):
    """A program of the same name per shape of its parameter x, ids ascending."""
    texts = []
    for number, shape in enumerate(parameters, 11):
        weights = op("w.1", "parameter", "f32[4,4]", op_name="params['w']", parameter_number=1)
        entry = [op("x.1", "parameter", shape, op_name="x"), weights, op("dot.1", "dot", shape, "x.1", "w.1")]
        texts += metadata_plane(**{name: (number, program(entry, module=name))}).splitlines()[len(texts) > 0 :]
    return "\n" + "\n".join(texts)


def compiling(duration, name="backend_compile_and_load"):
    main = f"0 999 $train.py:10 main\n0 {duration} {name}\n{duration} 10 PjitFunction(step)"
    return main, f"{duration} {990 - duration} dot.1"


PASSES = "5 10 HLO passes through layout assignment (jit_step)"


def test_names_the_program_the_parameter_and_its_values():
    found = finding(
        "recompilation",
        cpu(*compiling(600), other=PASSES) + modules("f32[64,4]", "f32[65,4]", "f32[66,4]", "f32[64,4]"),
    )
    assert found["title"] == (
        "Compilation takes 60.1% of the step: jit_step was compiled 4 times (x: dimension 0 was 64, 65, 66, 64)"
    )
    assert found["saving_ps_per_step"] == 600 * 10**6
    assert found["advice"].startswith("Give the program the same shapes")
    assert evidence(found) == {
        "Idle during compilation and tracing, of the step": 60.06,
        "Idle during compilation and tracing per step": 0.6,
        "Steps with compilation, of 4": 4,
        "Longest compilation": 0.6,
        "Compilations of jit_step": 4,
        "Parameter that changed": "x: dimension 0 was 64, 65, 66, 64",
        "Largest part": "train.py:10 main, 600 us per step and device",
    }


def test_programs_with_the_same_shapes_are_compiled_for_another_reason():
    found = finding("recompilation", cpu(*compiling(600), other=PASSES) + modules("f32[64,4]", "f32[64,4]"))
    assert found["title"] == "Compilation takes 60.1% of the step: jit_step was compiled 4 times"
    assert evidence(found)["Parameters"] == "the same in all of its programs"
    assert found["advice"].startswith("Call jax.jit once")


def test_another_element_type():
    found = finding("recompilation", cpu(*compiling(600), other=PASSES) + modules("f32[8]", "bf16[8]"))
    assert evidence(found)["Parameter that changed"] == "x: type was f32, bf16"


@pytest.mark.parametrize(("duration", "fires"), [(5, False), (12, True), (45, True)])
def test_in_several_steps_a_hundredth_is_enough(duration, fires):
    assert (finding("recompilation", cpu(*compiling(duration))) is not None) == fires


def once(duration):
    """Four steps of which only the last compiles."""
    main, compilation = "0 999 $train.py:10 main\n0 10 PjitFunction(step)", f"3100 {duration} backend_compile_and_load"
    text = cpu(main, "10 980 dot.1", once=compilation)
    return text.replace("3010us +980us", f"{3100 + duration}us +{880 - duration}us")


def test_in_one_step_it_is_the_first_call_and_costs_later_steps_nothing():
    found = finding("recompilation", once(600))
    assert found["saving_ps_per_step"] == 0
    assert found["title"].startswith("Compilation in one of 4 steps takes 15.0% of the time")
    assert found["advice"].startswith("Record later")
    assert "3.8%" in reason("recompilation", once(150))


@pytest.mark.parametrize(
    "name",
    [
        "backend_compile_and_load",
        "PjRtCpuClient::Compile",
        "XlaCompile",
        "XlaCompileBackend",
        "NVPTXCompiler::CompileTargetBinary",
    ],
)
def test_events_of_several_runtimes(name):
    assert finding("recompilation", cpu(*compiling(600, name))) is not None


def test_tracing_without_compilation_is_not_enough():
    assert reason("recompilation", cpu(*compiling(600, "$partial_eval.py:2268 trace_to_jaxpr")))


def test_a_tensor_core_waits_for_compilation():
    main, ops = compiling(500)
    found = finding("recompilation", tpu(main, ops.replace("dot", "fusion")))
    assert found["saving_ps_per_step"] == pytest.approx(500 * 10**6, rel=0.01)


RETRACED = """
plane 1 "/host:CPU"
line 1 main
{}
"""


def retracing(mode):
    lines = []
    for step in range(5):
        lines.append(f"{1000 * step}us +990us train {{_r=1, step_num={step}}}")
        lines.append(f'{1000 * step + 100}us +600us train_step {{tf_function_call="{mode}", tracing_count={step}}}')
        lines.append(f"{1000 * step + 710}us +150us EagerExecute")
        lines.append(f"{1000 * step + 720}us +100us MatMul:MatMul")
    return RETRACED.format("\n".join(lines))


def test_functions_that_are_traced_again():
    found = finding("recompilation", retracing("traced-nonXla"))
    assert "train_step was traced 5 times" in found["title"]
    assert evidence(found)["Traces of train_step"] == 5
    assert found["advice"].startswith("Give the function an input_signature")
    assert reason("recompilation", retracing("notTraced-nonXla"))


@pytest.mark.parametrize("profile", [retracing("traced-nonXla"), retracing("traced-xla"), cpu(*compiling(300))])
def test_the_saving_is_the_part_of_the_time_budget(profile):
    found = finding("recompilation", profile)
    parts = answer(registry.find("time_budget"), profile)
    table = rows(parts["average"], "device", "category", "percent")
    (percent,) = (percent for device, category, percent in table if (device, category) == ("all", "idle_compile"))
    assert 100 * found["share"] == pytest.approx(percent, abs=0.01)


def test_compilation_in_one_step_does_not_explain_what_others_lose():
    """It saves nothing in later steps, so that the launches of all of them are still the finding."""
    main, ops = "0 999 $train.py:1 epoch\n10 600 PjitFunction(f)", "700 290 dot.1"
    assert finding("launch_bound", cpu(main, ops)) is not None
    once = cpu(main, ops, once="20 500 backend_compile_and_load")
    assert finding("recompilation", once)["saving_ps_per_step"] == 0
    assert finding("launch_bound", once) is not None


def test_steps_that_leave_out_much_of_the_compilation():
    text = cpu("0 20 PjitFunction(f)\n120 700 backend_compile_and_load", "20 70 dot.1", length=1000, lasting=100)
    found = finding("recompilation", text)
    assert found["title"].startswith("Compilation takes ")
    assert f"{found['share']:.1%} of the time from step to step" in found["title"]


# Parts of the rule, on typed-in events; times are in us.


def plane_of(*events, decoded=True):
    """A plane of events (name, begin, length)."""
    names = tuple(dict.fromkeys(name for name, *_ in events))
    begin, duration = (np.array([one[i] for one in events], np.int64) * US for i in (1, 2))
    metadata = SimpleNamespace(names=names)
    return SimpleNamespace(
        events=SimpleNamespace(
            metadata=np.array([names.index(name) for name, *_ in events]), begin_ps=begin, duration_ps=duration
        ),
        event_metadata=metadata, declared=SimpleNamespace(event_metadata=metadata), decoded=decoded,
    )  # fmt: skip


PASS = "HLO passes through layout assignment (jit_{})"
EVENTS = (
    (PASS.format("small"), 0, 5), (PASS.format("large"), 10, 4), (PASS.format("large"), 20, 4), ("other", 40, 900),
    (PASS.format("tiny"), 50, 1),
)  # fmt: skip


def compiled(monkeypatch, plane, *, functions=(), read=None, filtered=None):
    calls = (np.array([70]) * US, np.array([75]) * US), Counter(f=2)
    monkeypatch.setattr(recompilation, "traced_calls", lambda host: calls)
    host = SimpleNamespace(
        plane=plane, summary=SimpleNamespace(functions=[SimpleNamespace(expensive_ps=ps) for ps in functions]),
        reader=SimpleNamespace(events=read), space=SimpleNamespace(filtered=lambda wanted: (filtered,)),
    )  # fmt: skip
    found = recompilation._compiles(host)
    if found is None:
        return None
    (begin, end), modules, traces = found
    return list(zip((begin // US).tolist(), (end // US).tolist(), strict=True)), list(modules.items()), dict(traces)


def test_calls_of_jax_that_compile_trace_and_lower_as_well(monkeypatch):
    """The second call is that of a program that is compiled already."""
    calls = [("PjitFunction(large)", 8, 20), ("PjitFunction(large)", 30, 20), ("PjitFunction(tiny)", 44, 26)]
    times, _, _ = compiled(monkeypatch, plane_of(*EVENTS, *calls))
    assert times == [(0, 5), (8, 28), (44, 75)]


def test_what_waits_for_calls_that_compile_is_compilation(monkeypatch):
    loss, _ = loss_of(monkeypatch, EVERY, us=150, beside=20, waiting=40)
    assert (loss.ps, loss.by_part[IDLE_HOST]) == (210 * US, 40 * US)


def test_when_and_what_a_host_compiles(monkeypatch):
    """The module with most time first: 8 us of two, 5 of one."""
    times, modules, traces = compiled(monkeypatch, plane_of(*EVENTS))
    assert times == [(0, 5), (10, 14), (20, 24), (50, 51), (70, 75)]
    assert modules == [("jit_large", 2), ("jit_small", 1), ("jit_tiny", 1)]
    assert traces == {"f": 2}


@pytest.mark.parametrize(
    ("names", "functions", "known"),
    [
        (("other",), (), False),
        (("other",), (0, 0), False),
        (("other",), (0, 5), True),
        (("backend_compile",), (), True),
        (None, (5,), False),
    ],
)
def test_names_tell_whether_a_host_may_compile(monkeypatch, names, functions, known):
    plane = names and plane_of(*((name, 0, 5) for name in names))
    assert (compiled(monkeypatch, plane, functions=functions) is not None) == known


@pytest.mark.parametrize(
    ("name", "read", "begin"),
    [
        ("backend_compile", True, 30),  # read already, as all of these events are
        ("backend_compile", False, 60),
        (PASS.format("f"), True, 60),  # no other rule reads these
    ],
)
def test_only_compilation_is_read(monkeypatch, name, read, begin):
    known, filtered = (plane_of((name, at, 5)) for at in (30, 60))
    plane = plane_of((name, 0, 5), decoded=False)
    times, *_ = compiled(monkeypatch, plane, read=known if read else None, filtered=filtered)
    assert times == [(begin, begin + 5), (70, 75)]


NOTHING = (np.zeros(0, np.int64), np.zeros(0, np.int64))


def loss_of(
    monkeypatch, spans, *, modules=(), traces=(), counted=None, steps=4, us=600, beside=0, base=1000, per="step",
    changed=None, waiting=0,
):  # fmt: skip
    """What a host loses to compilation in these spans, with four steps of 1000 us from 500 us on.

    Args:
      modules, traces: how often each was compiled and traced; counted: programs of each name instead.
      us: idle during compilation; waiting: other idle time of calls that compile; beside: what these take of a
        processor; base: of the average step.
      changed: parameters of the first module that differ between its programs.
    """
    begin, end = (np.array([one[i] for one in spans], np.int64) * US for i in (0, 1))
    since = (500 + 1000 * np.arange(steps)) * US
    monkeypatch.setattr(
        recompilation, "_compiles", lambda host: ((begin, end), Counter(dict(modules)), Counter(dict(traces)))
    )
    monkeypatch.setattr(recompilation, "programs_of", lambda programs: counted or {})
    monkeypatch.setattr(recompilation, "changes", lambda programs, ids: changed)
    part = np.array([IDLE_COMPILE, IDLE_HOST, BETWEEN + IDLE_COMPILE])
    ps = np.array([us - 100, 9999, 100]) * US

    def by_part(rows):
        found = np.zeros(len(CATEGORIES) + 1, np.int64)
        found[IDLE_COMPILE] = ps[rows].sum()
        return found

    other = np.zeros(len(CATEGORIES) + 1, np.int64)
    other[[0, IDLE_HOST]] = beside * US  # what waits meanwhile counts as that
    idle = np.zeros(len(CATEGORIES) + 1, np.int64)
    idle[IDLE_HOST] = waiting * US
    host = SimpleNamespace(
        name="h0", windows=(since, since + 1000 * US), hlo=SimpleNamespace(programs=None), per=per,
        beside=lambda times: other.copy(), blame=SimpleNamespace(part=part, by_part=by_part),
        devices=(None, None), by_part=lambda times, parts: idle * (IDLE_HOST in parts) * (IDLE_COMPILE not in parts),
        time=SimpleNamespace(cells=steps, base_ps=base * US),
    )  # fmt: skip
    return recompilation.gather(host)


EVERY = [(600, 700), (1600, 1750), (2600, 2700), (3600, 3700)]


@pytest.mark.parametrize(
    ("spans", "steps", "found"),
    [
        (EVERY, 4, True),
        (EVERY[:1], 4, True),
        ([(0, 500), (4500, 4600)], 4, False),  # before and after the steps
        ([(499, 501)], 4, True),
        (EVERY, 0, False),
        ([], 4, False),
    ],
)
def test_compilation_outside_of_steps_costs_them_nothing(monkeypatch, spans, steps, found):
    assert (loss_of(monkeypatch, spans, steps=steps) is not None) == found


@pytest.mark.parametrize(
    ("spans", "us", "beside", "harmless"),
    [
        (EVERY, 600, 0, False),
        (EVERY, 200, 0, False),  # a hundredth of four steps of 5000 us
        (EVERY, 199, 0, True),
        (EVERY, 150, 50, False),
        (EVERY[:2], 200, 0, False),
        (EVERY[:1], 200, 0, True),  # in a single step a twentieth
        (EVERY[:1], 1000, 0, False),
        (EVERY[:1], 999, 0, True),
    ],
)
def test_the_least_time_of_compilation(monkeypatch, spans, us, beside, harmless):
    loss, again = loss_of(monkeypatch, spans, us=us, beside=beside, base=5000)
    assert bool(loss.harmless) == harmless
    assert (loss.ps, loss.beside, again) == ((us + beside) * US, beside > 0, len(spans) > 1)


@pytest.mark.parametrize(
    ("given", "what", "evidence"),
    [
        (
            {"modules": {"a": 1, "b": 3, "c": 2}, "traces": {"f": 1, "g": 3, "h": 2}},
            "Compilation takes {share} of the {base}: b was compiled 3 times",
            {"Compilations of b": 3, "Compilations of c": 2, "Traces of g": 3, "Traces of h": 2},
        ),
        (
            {"traces": {"f": 1, "g": 3}},
            "Tracing takes {share} of the {base}: g was traced 3 times",
            {"Traces of g": 3},
        ),
        (
            {"traces": {"f": 1}, "modules": {"a": 1}, "counted": {"b": [7, 8, 9]}},
            "Compilation takes {share} of the {base}, in 4 of 4 steps",
            {},
        ),
        (
            {"counted": {"a": [1], "b": [7, 8], "c": [3, 4, 5, 6, 9]}},
            "Compilation takes {share} of the {base}: c was compiled 4 times",  # there were four compilations
            {"Compilations of c": 4, "Compilations of b": 2},
        ),
        (
            {"modules": {"b": 3}, "changed": ("x: 1, 2", "y: 3, 4")},
            "Compilation takes {share} of the {base}: b was compiled 3 times (x: 1, 2)",
            {"Compilations of b": 3, "Parameter that changed": "y: 3, 4"},
        ),
    ],
)
def test_what_is_compiled_again(monkeypatch, given, what, evidence):
    loss, _ = loss_of(monkeypatch, EVERY, **given)
    assert loss.what == what
    assert {one.label: one.value for one in loss.evidence} == {
        "Steps with compilation, of 4": 4, "Longest compilation": 0.15, **evidence,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "whole", "devices", "looked"),
    [(1, False, True, True), (0, False, True, False), (1, True, True, True), (1, True, False, False),
     (1, False, False, True)],
)  # fmt: skip
def test_compilation_is_judged_by_steps(steps, whole, devices, looked):
    run = SimpleNamespace(
        steps=steps, whole_recording=whole, has_devices=devices, base="step", per="step",
        present=lambda gathered: [], located=lambda by_part: Lost(0.0, 0.0, ()),
    )  # fmt: skip
    found = recompilation.judge(run, [None])
    assert found.looked == looked
    assert found.reason.startswith("Nothing was compiled in" if looked else "No steps")


@pytest.mark.parametrize(
    ("devices", "beside", "idle"), [(True, 0, True), (True, 5, False), (False, 0, False), (False, 5, False)]
)
@pytest.mark.parametrize("again", [True, False])
def test_what_compilation_costs(monkeypatch, devices, beside, idle, again):
    """On two hosts: the one that loses more decides whether later steps lose anything."""
    more = loss_of(monkeypatch, EVERY if again else EVERY[:1], us=900, beside=beside)
    less = loss_of(monkeypatch, EVERY[:1] if again else EVERY, us=800)
    run = SimpleNamespace(
        steps=4, whole_recording=False, has_devices=devices, base="step", per="step",
        present=lambda gathered: list(zip(gathered, ("h0", "h1"), strict=True)),
        located=lambda by_part: Lost(500.0 * US, 0.5, ()),
    )  # fmt: skip
    found = recompilation.judge(run, [less, more])
    assert isinstance(found, Finding)
    label = "Idle during compilation and tracing" if idle else "Compilation and tracing"
    assert found.evidence[0].label == f"{label}, of the step"
    assert (found.saving_ps, found.hosts) == (500 * US if again else 0, ("h1",))
