"""Compilation in steps: how much, in how many of them, of what, and what differs between the programs."""

from __future__ import annotations

import pytest
from builders.answers import answer, rows
from builders.profiles.planted import cpu, evidence, finding, reason, tpu
from builders.programs.hlo import metadata_plane, op, program

from tpu_profile_plugin.tools import registry


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
