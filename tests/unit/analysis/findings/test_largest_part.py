"""The largest parts of the step: named by function, op and line whether a rule knows their cause or not."""

from __future__ import annotations

import pytest
from builders import planes
from builders.answers import answer
from builders.profiles.planted import cpu, evidence, finding, findings

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
    assert found[0]["advice"].startswith("Most programs spend little on such ops")


@pytest.mark.parametrize(("length", "told"), [(99, False), (101, True)])
def test_rare_ops_from_a_tenth_of_the_step(length, told):
    ops = f"0 {length} sort.1\n{length} {999 - length} dot.1"
    assert any("sort" in one["title"] for one in largest(cpu("0 5 PjitFunction(f)", ops))) == told


@pytest.mark.parametrize(("length", "told"), [(240, False), (260, True)])
def test_ordinary_work_from_a_quarter_of_the_step_without_a_cost(length, told):
    ops = f"0 {length} dot.1\n" + "\n".join(
        f"{length + 30 * i} 30 kind{'abcdefghijklmnopqrstuvwx'[i]}" for i in range(20)
    )
    found = [one for one in largest(cpu("0 5 PjitFunction(f)", ops)) if "dot" in one["title"]]
    assert bool(found) == told
    assert all(one["saving_ps_per_step"] == 0 and one["segments"] == [] for one in found)


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


@pytest.mark.parametrize(("python", "told"), [(330, False), (380, True)])
def test_python_between_the_ops_of_an_eager_program(python, told):
    """Programs with nothing to mend have up to 31% of it."""
    main = f"0 990 $train.py:16 train_step\n{python} {980 - python} aten::linear:PyTorch"
    found = findings(torch(main))["findings"]
    assert any("train_step" in one["title"] for one in found) == told
