"""Steps far above the median are compared apart from ordinary ones; recordings without steps by their executions."""

from __future__ import annotations

import pytest
from builders import planes
from builders.answers import answer, rows
from builders.profiles.compared import sides, verdict
from builders.programs import hlo

from tpu_profile_plugin.tools import registry

COMPARE = registry.find("compare")
US = 10**6
TEXT = "%fusion.1 = f32[8,128] fusion(f32[8,128] %p), kind=kLoop"
META = (
    f'metadata "{TEXT}" {{program_id=u7, symbol_id=u1, hlo_category="loop fusion", tf_op="jit(f)/mul", '
    'source="model.py:3"}'
)


def core(*lengths, op=100, executions=1, marked=True, gap=0):
    """A TensorCore with steps of the given lengths in us, each with as many executions of `jit_f`, of one op each."""
    marks, ops, modules, at = [], [], [], 0
    for i, length in enumerate(lengths):
        marks.append(f"{at}us +{length}us {i} {{_ct=9, _c={i}}}")
        for number in range(executions):
            ops.append(f'{at + number * op}us +{op}us "{TEXT}"')
            modules.append(f'{at + number * op}us +{op}us "jit_f(7)"')
        at += length + gap
    lines = [
        hlo.metadata_plane(jit_f=(7, hlo.relu_program())),
        'plane 1 "/device:TPU:0" {device_type_string="TPU v4"}',
        *(["line 1 Steps", *marks] if marked else []),
        *('line 2 "XLA Ops"', *ops, 'line 3 "XLA Modules"', *modules, META, 'metadata "jit_f(7)" {}'),
    ]
    return "\n".join(lines) + "\n"


def compared(base, run):
    found = answer(COMPARE, run, base=[base])
    delta = sum(delta for (delta,) in rows(found["contributions"], "delta_ps_per_step"))
    assert delta == found["length"]["delta"]
    return found


def spiky(*long, count=20, usual=200):
    """Steps of about 200 us, every fifth of them long as far as `long` goes."""
    return core(*(long[i // 5] if i % 5 == 4 and i // 5 < len(long) else usual + i % 3 for i in range(count)))


def changes(found):
    listed = rows(found["contributions"], "what", "kind", "delta_ps_per_step", "certain")
    return [(what, kind, round(delta / US), certain) for what, kind, delta, certain in listed if abs(delta) > 0.1 * US]


def test_long_steps_are_a_change_of_their_own():
    found = compared(spiky(), spiky(1200, 1200, 1200))
    assert verdict(found) == {
        "text": "74.6% slower (200.9 to 350.8 us): unexplained idle time rose by 149.9 us in 3 of 20 steps.",
        "tone": "slower",
    }
    assert changes(found) == [("Unexplained (All others), in single steps", "single_steps", 150, True)]
    assert found["notes"] == [
        "Median step: 201.0 to 201.0 us; far longer are 0 of 20 steps of the base and 3 of 20 here."
    ]
    assert sides(found, "median_ps") == {"base": 201 * US, "run": 201 * US}
    assert sides(found, "single_steps") == {"base": [], "run": [4, 9, 14]}
    assert sides(found, "excess_ps_per_step") == {"base": 0, "run": 149850000}
    assert sides(found, "period") == {"base": None, "run": 5}


def test_long_steps_that_went_are_a_change_as_well():
    found = compared(spiky(1200, 1200), spiky())
    assert found["headline"].endswith("unexplained idle time fell by 99.90 us in 2 of 20 steps.")
    assert found["tone"] == "faster"


def test_one_long_step_may_be_an_accident():
    found = compared(spiky(), spiky(1200))
    assert verdict(found) == {
        "text": "Steps too uneven or too few to tell (200.9 to 250.9 us): unexplained idle time rose by 49.95 us in "
        "1 of 20 steps.",
        "tone": "same",
    }
    assert changes(found) == [("Unexplained (All others), in single steps", "single_steps", 50, False)]


def test_long_steps_do_not_hide_that_the_others_are_slower():
    # With the long steps among them, the steps vary by more than they differ.
    found = compared(spiky(1200, 1200, 1200), spiky(1200, 1200, 1200, usual=260))
    assert found["tone"] == "slower"
    assert changes(found) == [
        ("Unexplained (All others)", "slower", 60, True),
        ("Unexplained (All others), in single steps", "single_steps", -9, True),
    ]


def test_long_steps_that_make_less_difference_than_noise_are_not_apart():
    # 1 % of 250.85 us per step.
    found = compared(spiky(1200), spiky(1248))
    assert [kind for _, kind, _, _ in changes(found)] == ["slower"]
    found = compared(spiky(1200), spiky(1252))
    assert [kind for _, kind, _, _ in changes(found)] == ["single_steps"]


def test_a_few_steps_that_take_somewhat_longer_are_no_slower_run():
    # Not far above the median, and most are as long as before: seven of 20 are too many for chance, four are not.
    found = compared(core(*[200] * 20), core(*[200] * 13, *[240] * 7))
    assert found["headline"].startswith("7.0% slower (200.0 to 214.0 us)")
    found = compared(core(*[200, 201] * 10), core(*[200, 201] * 8, *[240] * 4))
    assert found["headline"].startswith("Steps too uneven or too few to tell (200.5 to 208.4 us)")


def test_few_uneven_steps_tell_nothing():
    found = compared(core(200, 200, 900), core(200, 201, 202))
    assert verdict(found) == {
        "text": "Steps too uneven or too few to tell (433.3 to 201.0 us): unexplained idle time fell by 232.3 us.",
        "tone": "same",
    }


def test_executions_per_step_are_a_kind_of_change():
    found = compared(core(*[300] * 6), core(*[600] * 6, executions=3))
    assert found["headline"] == (
        "2.0 times as long (300.0 to 600.0 us): jit_f: 1 → 3 executions per step, 200.0 us more."
    )
    assert changes(found)[0] == ("jit_f: 1 → 3 executions per step", "more_executions", 200, True)
    found = compared(core(*[600] * 6, executions=3), core(*[300] * 6))
    assert changes(found)[0] == ("jit_f: 3 → 1 executions per step", "fewer_executions", -200, True)


@pytest.mark.parametrize(("executions", "kind"), [(11, "slower"), (12, "more_executions")])
def test_more_executions_are_at_least_a_tenth_more(executions, kind):
    found = compared(core(*[300] * 6, op=10, executions=10), core(*[300] * 6, op=10, executions=executions))
    assert changes(found)[0][1] == kind


def test_a_recording_without_steps_is_compared_by_execution():
    # Two executions in 450 us, against one in each step of 200 us.
    run = core(300, 150, op=150, marked=False)
    found = compared(core(*[200] * 6), run)
    assert (found["compared"], sides(found, "recorded_steps")) == ("execution", {"base": 6, "run": None})
    assert found["headline"] == (
        "12.5% slower per execution of jit_f (200.0 to 225.0 us): jit_f: fusion.1 (mul) takes 50.00 us more."
    )
    assert found["length"]["run"] == 225 * US
    assert found["notes"] == ["The run has no steps: its whole recording is divided by its 2 executions of jit_f."]
    assert changes(found)[0] == ("jit_f: fusion.1 (mul)", "slower", 50, True)
    # Steps of two executions each.
    found = compared(core(*[400] * 6, executions=2), run)
    length = found["length"]
    assert (length["base"], length["run"], length["delta"]) == (200 * US, 225 * US, 25 * US)


def test_recordings_of_no_common_program_are_not_compared_by_execution():
    run = core(300, 150, op=150, marked=False).replace("program_id=u7", "program_id=u8")
    found = answer(COMPARE, run, base=[core(*[200] * 6)])
    assert verdict(found) == {"text": "The run has no steps, so step times cannot be compared.", "tone": "unknown"}


def saving(line, gap=100):
    """Steps of 200 us, after each of which a function of the program keeps the device idle."""
    frames = "".join(f'{200 + i * (200 + gap)}us +{gap}us "$train.py:{line} save"\n' for i in range(5))
    return core(*[200] * 6, op=200, gap=gap) + f'plane 2 "/host:CPU"\nline 1 main\n{frames}'


def test_time_between_steps_names_the_function_wherever_it_moved():
    found = compared(saving(7), saving(9, gap=300))
    assert found["headline"] == (
        "66.7% slower from step to step (300.0 to 500.0 us): time between steps rose by 200.0 us (train.py:9 save)."
    )
    assert changes(found) == [("Between steps: train.py:9 save", "slower", 200, True)]


def test_steps_guessed_from_host_code_are_no_match_for_marked_ones():
    def cpu(main, ops):
        programs = hlo.metadata_plane(jit_f=(7, hlo.relu_program()))
        return planes.profile(planes.host(main, planes.xla_on_cpu(ops, steps=6)), programs)

    # `make` repeats, and all work lies outside of it: six executions from 0.6 to 6 ms.
    run = cpu(planes.in_each_step("0 600 $train.py:3 make", 6), "600 400 fusion.1")
    found = compared(cpu(planes.marked(steps=6), "0 400 fusion.1"), run)
    assert found["compared"] == "execution"
    assert found["length"]["run"] == 900 * US
    assert changes(found)[0] == ("Waits for host code (Host compute): train.py:3 make", "slower", 500, True)
