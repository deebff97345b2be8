"""Why a profile cannot tell something: a code, a sentence and a remedy in the words of each framework."""

from __future__ import annotations

import re

import pytest

from tpu_profile_plugin.analysis.common import reasons
from tpu_profile_plugin.analysis.common.op_names import JAX, PYTORCH, TENSORFLOW
from tpu_profile_plugin.analysis.common.reasons import NO_DEVICES, NO_FRAMES, NO_STEPS, PYTORCH_XLA, Advice, Reason
from tpu_profile_plugin.errors import NoData

TABLE = {name: value for name, value in vars(reasons).items() if isinstance(value, Reason)}
REMEDIES = {
    **{name: value for name, value in vars(reasons).items() if isinstance(value, Advice) and name != "RUN"},
    **{name: reason.remedy for name, reason in TABLE.items() if not name.startswith("TORCH_")},
}
FRAMEWORKS = (JAX, TENSORFLOW, PYTORCH, PYTORCH_XLA)
OF_OTHERS = {
    JAX: r"torch|prof\.step|tf\.profiler|jit_compile",
    TENSORFLOW: r"torch|prof\.step|jax",
    PYTORCH: r"jax|tf\.profiler|tpu-profile capture|--host-tracer|--python-tracer",
    PYTORCH_XLA: r"jax\.|tf\.profiler|torch\.profiler|prof\.step",
}


@pytest.mark.parametrize("name", TABLE)
def test_every_reason_has_a_code_and_a_sentence(name: str) -> None:
    reason = TABLE[name]
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", reason.code)
    assert reason.sentence.endswith(".")
    assert reason.error().reason == reason.code


@pytest.mark.parametrize("name", REMEDIES)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_remedies_speak_of_the_framework(name: str, framework: str) -> None:
    told = REMEDIES[name].of([framework])
    assert not told or told.endswith(".")
    if told != REMEDIES[name].general or framework == PYTORCH:
        assert not re.search(OF_OTHERS[framework], told), told


def test_advice_for_keras_is_for_its_programs_only() -> None:
    advice, none = Advice("all", tensorflow="tf", keras="fit"), Advice("all", tensorflow="tf")
    assert [advice.of([TENSORFLOW], keras=keras) for keras in (False, True)] == ["tf", "fit"]
    assert [none.of([TENSORFLOW], keras=keras) for keras in (False, True)] == ["tf", "tf"]


def test_forms() -> None:
    assert NO_FRAMES.in_full([PYTORCH]) == (
        "Python functions were not recorded: with_stack=True of torch.profiler.profile records them."
    )
    assert NO_FRAMES.in_full([]).endswith("recorded: `tpu-profile capture --python-tracer 1` records them.")
    said = NO_STEPS.said("No steps recorded.")
    assert (said.code, said.sentence, said.remedy) == ("no_steps", "No steps recorded.", NO_STEPS.remedy)
    assert said.told([PYTORCH]).startswith("No steps recorded. Call prof.step()")
    error = NO_DEVICES.error()
    assert (type(error), error.message, error.details) == (NoData, NO_DEVICES.sentence, {})
