"""Of more than five marked steps the first and the last are left out: every door that counts steps says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.answers import answer
from builders.asking import asked
from builders.logdirs import write
from builders.planes import host, marked, profile, tpu

import tpu_profile_plugin as tp
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.opening import OpenLogdir
from tpu_profile_plugin.tools.fleet import pod_viewer
from tpu_profile_plugin.tools.summary import smart_suggestion, time_budget

OPS = "\n".join(
    f'{100 * step + 10}us +80us dot.1 {{hlo_op="dot.1", device_ordinal=0, run_id={step}, program_id=3}}'
    for step in range(20)
)


def steps(count: int) -> str:
    """So many marked steps of 100 us, with XLA ops of the CPU."""
    markers = "\n".join(f"{100 * step}us +100us train {{_r=1, step_num={step}}}" for step in range(count))
    ops = "\n".join(OPS.splitlines()[:count])
    return f'plane 1 "/host:CPU"\nline 1 python\n{markers}\nline 2 worker\n{ops}'


def opened(tmp_path: Path, count: int) -> OpenLogdir:
    return tp.open(write(tmp_path / str(count), {"plugins/profile/s/h.xplane.pb": steps(count)}))


@pytest.mark.parametrize(("marked_steps", "shown", "left_out"), [(5, 5, 0), (6, 4, 2), (10, 8, 2)])
def test_of_more_than_five_two_are_left_out(tmp_path: Path, marked_steps: int, shown: int, left_out: int) -> None:
    run = opened(tmp_path, marked_steps).run()
    found = run.decomposition()
    assert (len(found), found.left_out, run.steps().left_out) == (shown, left_out, left_out)


def test_commands_and_answers_say_how_many_were_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logdir = opened(tmp_path, 10)
    assert main(["explain", logdir.path]) == 0
    assert "8 steps recorded: 10 marked, the first and last left out." in capsys.readouterr().out
    for verb in ("steps", "budget", "overview"):
        told = asked(logdir, verb)["answer"]
        assert told["steps_marked"] == "10, the first and last left out", verb
    few = opened(tmp_path, 5)
    assert main(["explain", few.path]) == 0
    assert "5 steps recorded." in capsys.readouterr().out
    assert "steps_marked" not in asked(few, "steps")["answer"]


def test_pages_get_the_number() -> None:
    suggestion = answer(smart_suggestion.TOOL, steps(10), page=True)
    assert (suggestion["steps"], suggestion["steps_left_out"]) == (8, 2)
    assert "10 steps are marked." in [one["reason"] for one in suggestion["silent"]]
    assert answer(time_budget.TOOL, steps(10))["decomposition"]["left_out"] == 2
    assert answer(pod_viewer.TOOL, steps(10), page=True)["steps"]["left_out"] == 2
    assert answer(time_budget.TOOL, steps(5))["decomposition"]["left_out"] == 0


def test_devices_that_mark_their_steps_themselves_keep_all() -> None:
    of_tpu = "\n".join(f"{100 * step} 100 {step} {{_ct=9, _c={step}}}" for step in range(10))
    ops = "\n".join(f"{100 * step} 90 fusion.1" for step in range(10))
    text = profile(tpu(ops, steps=of_tpu), host(marked("10 30 load", steps=10, period=100)))
    found = answer(time_budget.TOOL, text)
    assert (len(found["steps"]["name"]), found["decomposition"]["left_out"]) == (10, 0)
