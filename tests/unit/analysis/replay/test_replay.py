"""Replays of simulated training, whose step after an edit another simulation tells exactly; and without an edit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders.answers import run_of
from builders.simulated import Program, simulated

from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.figures.replay import run_replay

US = 10**6
UNEVEN = (200, 260, 210, 190)
PROGRAMS = {
    "waits": Program(),
    "runs ahead": Program(waits=False),
    "limited by the host": Program(forward=(20,), backward=(30,), update=(10,)),
    "runs ahead, limited by the host": Program(waits=False, forward=(20,), backward=(30,), update=(10,)),
    "ranks": Program(ranks=4, transfer=80, backward=UNEVEN),
    "ranks run ahead": Program(ranks=4, transfer=80, waits=False, backward=UNEVEN),
    "overlap": Program(ranks=2, transfer=170, overlap=True, backward=(300,)),
}
EDITS = {
    "without a kernel": (lambda p: replace(p, forward=(0,)), {"without": "forward"}),
    "half a kernel": (
        lambda p: replace(p, backward=tuple(us // 2 for us in p.backward)),
        {"scale": {"backward": 0.5}},
    ),
    "twice a kernel": (lambda p: replace(p, update=(2 * p.update[0],)), {"scale": {"update": 2}}),
    "without a function": (lambda p: replace(p, prepare=0), {"without": "train.py:20 prepare"}),
    "free input": (lambda p: replace(p, load=0), {"input_free": True}),
    "several": (
        lambda p: replace(p, load=0, prepare=0, forward=(0,)),
        {"without": ("forward", "train.py:20"), "input_free": True},
    ),
}


def step_us(program: Program) -> float:
    """The average step of a simulated program, as the time budget has it."""
    budget = run_of(*simulated(program)).budget()
    return (budget.step_ps + budget.between_step_ps) / US


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_is_what_the_edited_program_takes(program: Program, edit) -> None:
    edited, arguments = edit
    found = run_of(*simulated(program)).what_if(**arguments)
    assert (found.step_ps / US, found.after_ps / US) == pytest.approx((step_us(program), step_us(edited(program))))
    assert found.low_ps == found.after_ps == found.high_ps
    assert found.drift_ps == 0


KERNELS = "forward", "backward", "update"
LOADERS = {"slow": Program(load=0, decode=600), "fast": Program(load=0, decode=200)}


@pytest.mark.parametrize(
    ("name", "changed", "edit"),
    [
        ("slow", {"decode": 300}, {"scale": {"load.py:3 decode": 0.5}}),
        ("slow", {"decode": 1200}, {"scale": {"decode": 2}}),
        ("slow", {"forward": (0,), "prepare": 0}, {"without": ("forward", "prepare")}),
        ("fast", {"forward": (0,)}, {"without": "forward"}),
        ("fast", {"forward": (10,), "backward": (20,), "update": (6,)}, {"scale": dict.fromkeys(KERNELS, 0.1)}),
        ("fast", {"decode": 800}, {"scale": {"decode": 4}}),
        ("fast", {"decode": 100}, {"scale": {"decode": 0.5}}),
    ],
)
def test_a_loader_thread_and_the_main_thread_wait_for_each_other(name: str, changed, edit) -> None:
    program = replace(LOADERS[name], steps=40)
    found = run_of(*simulated(program)).what_if(**edit)
    expected = run_of(*simulated(replace(program, **changed))).budget()
    assert found.step_ps / US == pytest.approx(step_us(program))
    # To put a batch takes 1 us, which a blocked thread does not show.
    assert found.after_median_ps == pytest.approx(float(np.median(expected.of_steps_ps[0])), abs=1 * US)
    # A batch more or less is ready at the begin.
    assert found.after_ps == pytest.approx(expected.step_ps, rel=0.02)


@pytest.mark.parametrize("name", ["ranks", "ranks run ahead", "overlap"])
def test_hidden_collectives_still_wait_for_late_ranks(name: str) -> None:
    program = PROGRAMS[name]
    after = run_of(*simulated(program)).what_if(hide_collectives=True).after_ps / US
    assert after == pytest.approx(step_us(replace(program, transfer=0)))
    assert after < step_us(program)


@pytest.mark.parametrize("name", ["ranks", "ranks run ahead"])
def test_equal_ranks_take_the_mean(name: str) -> None:
    program = PROGRAMS[name]
    after = run_of(*simulated(program)).what_if(ranks_equal=True).after_ps / US
    assert after == pytest.approx(step_us(replace(program, backward=(215,))))
    assert step_us(program) - after == pytest.approx(45)


@pytest.mark.parametrize("name", ["waits", "limited by the host", "runs ahead, limited by the host", "ranks"])
def test_the_saving_grows_with_the_dose(name: str) -> None:
    doses = [5, 10, 25, 50, 100]
    base = step_us(PROGRAMS[name])
    told, planted = [], []
    for dose in doses:
        program = replace(PROGRAMS[name], nap=dose)
        told.append(run_of(*simulated(program)).what_if("train.py:30 nap").saving_ps / US)
        planted.append(step_us(program) - base)
    slope = np.polyfit(planted, told, 1)[0]
    assert slope == pytest.approx(1, abs=0.001)
    assert planted == pytest.approx(doses)


def test_a_function_behind_the_device_saves_nothing() -> None:
    assert run_of(*simulated(Program(waits=False, nap=50))).what_if("nap").saving_ps == 0


def test_without_launches_only_work_of_devices_can_be_changed() -> None:
    host = "\n".join(line.split(" {correlation_id")[0] for line in simulated(Program())[0].splitlines())
    assert run_of(host).what_if("forward").saving_ps > 0
    for change in ({"without": "prepare"}, {"input_free": True}):
        with pytest.raises(NoData, match="Nothing tells which calls of the host launched the work of the devices"):
            run_of(host).what_if(**change)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_an_unedited_replay_is_the_recording(program: Program) -> None:
    graph = run_replay(run_of(*simulated(program))).graph
    np.testing.assert_array_equal(graph.recorded.end, graph.end_ps)
    np.testing.assert_array_equal(graph.recorded.ends - graph.recorded.begins, graph.budget.duration_ps)
