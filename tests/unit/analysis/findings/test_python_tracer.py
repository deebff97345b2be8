"""What recorded Python functions tell besides names: waits for Python's lock."""

from __future__ import annotations

import re

import pytest
from builders.profiles.planted import cpu, evidence, finding, findings


def paused(pause=6000, other=20, usual=100, steps=8, every=2):
    """Steps of 10 ms: a launch, then a pause before the next call, which is long in some steps.

    Args:
      pause, usual: microseconds from the launch to the next call, in every `every`-th step and in the others.
      other: calls of functions per ms by another thread.
    """
    lines = ['plane 9 "/host:CPU"', "line 1 main", f'0us +{10_000 * steps}us "$train.py:5 fit"']
    for step in range(steps):
        at = 10_000 * step
        length = pause if step % every == every - 1 else usual
        lines += [f"{at}us +9999us train {{_r=1, step_num={step}}}", f"{at}us +10us PjitFunction(f)"]
        lines += [f'{at + 10 + length}us +5us "$train.py:9 log"', f"{at + 20 + length}us +5us PjitFunction(g)"]
    lines.append("line 2 worker")
    for step in range(steps):
        at = 10_000 * step
        length = pause if step % every == every - 1 else usual
        run = f'hlo_op="dot.1", device_ordinal=0, program_id=7, run_id={step}'
        lines.append(f"{at + 20 + length}us +{9970 - length}us dot.1 {{{run}}}")
    lines.append("line 3 loader")
    if other:
        lines += [f'{at}us +1us "$loader.py:7 parse"' for at in range(0, 10_000 * steps, 1000 // other)]
    return "\n".join(lines)


def test_another_thread_keeps_the_lock():
    found = findings(paused(other=50))["findings"][0]
    assert found["id"] == "python_lock"
    assert found["title"] == (
        "Devices idle 30.0% of the step because the main thread waits for Python's lock; another thread runs "
        "loader.py:7 parse"
    )
    assert found["saving_ps_per_step"] == 3000 * 10**6
    assert evidence(found) == {
        "Devices idle in such pauses, of the step": 30.003,
        "Devices idle in such pauses per step": 3.0,
        "Longest pause": 6.0,
        "Usual pause after the same event": 0.1,
        "This event": "PjitFunction(f)",
        "Pauses": 3,
        "Function on the other thread": "loader.py:7 parse",
        "Its calls of functions per ms": 50,
    }
    assert "process" in found["advice"]
    assert "More threads make it worse" in found["advice"]


@pytest.mark.parametrize(
    ("fires", "changed"),
    [
        (True, {}),
        # The pause: 4.5 ms.
        (True, {"pause": 4500}),
        (False, {"pause": 4490, "other": 50}),
        # Five times longer than usual.
        (True, {"pause": 6000, "usual": 1200}),
        (False, {"pause": 6000, "usual": 1210}),
        # 20 calls per ms on the other thread.
        (True, {"other": 20}),
        (False, {"other": 10}),
        (False, {"other": 0}),
        # Three pauses in steps that are whole.
        (False, {"steps": 6}),
        (True, {"steps": 7}),
        # Pauses in all steps are as usual.
        (False, {"every": 1}),
    ],
)
def test_the_limits_of_waits_for_the_lock(fires, changed):
    assert (finding("python_lock", paused(**changed)) is not None) == fires


def test_the_event_before_the_pauses_may_be_the_first_of_the_profile():
    # The last name is written first.
    earlier = "PjitFunction(g)", "$train.py:9 log", "dot.1", "$loader.py:7 parse"
    names = "\n".join(f'metadata "{name}"' for name in earlier)
    text = paused(other=50).replace("line 1 main", f"{names}\nline 1 main")
    assert evidence(finding("python_lock", text))["This event"] == "PjitFunction(f)"


def test_pauses_in_functions_count_before_the_time_zero_as_well():
    functions = "\n".join(f'{10_000 * step}us +9990us "$train.py:7 step"' for step in range(8))
    text = paused(other=50).replace("line 2 worker", f"{functions}\nline 2 worker")
    text = re.sub(r"^line \d \w+", r"\g<0> @-90ms", text, flags=re.MULTILINE)
    assert finding("python_lock", text)["saving_ps_per_step"] == 3000 * 10**6


def test_a_native_function_may_work_without_the_lock():
    text = paused(other=50)
    for step in (1, 3, 5):
        text = text.replace("line 2 worker", f'{10_000 * step + 12}us +5990us "$numpy dot"\nline 2 worker')
    assert finding("python_lock", text) is None


def test_slow_code_beside_it_is_not_advised_to_use_threads():
    text = paused(other=50)
    for step in range(8):
        begin = 10_000 * step + 20 + (6000 if step % 2 else 100)
        text = text.replace(f"{begin}us +5us PjitFunction(g)", f"{begin + 2000}us +5us PjitFunction(g)", 1)
        text = text.replace(f"{begin}us +{3970 if step % 2 else 9870}us dot.1", f"{begin + 2000}us +900us dot.1", 1)
        text = text.replace("line 2 worker", f'{begin}us +1990us "$data.py:3 crop"\nline 2 worker', 1)
    found = finding("slow_host_code", text)
    assert "data.py:3 crop" in found["title"]
    assert found["advice"].startswith("Another thread of the program runs Python all the time")


def test_without_python_functions_the_lock_is_unknown():
    answer = findings(cpu("0 10 PjitFunction(f)", "500 400 dot.1"))
    silent = next(one for one in answer["silent"] if one["id"] == "python_lock")
    assert silent["reason"] == "Python functions were not recorded."
