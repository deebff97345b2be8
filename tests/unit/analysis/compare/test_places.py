"""Contributions place by place: functions of the host, kinds of ops that devices wait in, and late devices."""

from __future__ import annotations

import pytest
from builders.answers import answer, rows

from tpu_profile_plugin.tools import registry

COMPARE = registry.find("compare")
US = 10**6
STEPS = 5


def core(*ops, number=0, step=100, meta=()):
    """A TensorCore with steps of `step` us; `ops` are (begin and length in us, category, instruction) of each."""
    lines = [f'plane {number + 1} "/device:TPU:{number}" {{device_type_string="TPU v4"}}', "line 1 Steps"]
    lines += [f"{step * i}us +{step}us {i} {{_ct=9, _c={i}}}" for i in range(STEPS)]
    lines.append('line 2 "XLA Ops"')
    for i in range(STEPS):
        lines += [f"{step * i + begin}us +{length}us {name}" for begin, length, _, name in ops]
    names = dict.fromkeys((category, name) for _, _, category, name in ops)
    for symbol, (category, name) in enumerate(names, 1):
        lines.append(f'metadata {name} {{program_id=u7, symbol_id=u{symbol}, hlo_category="{category}"}}')
    return "\n".join([*lines, *meta]) + "\n"


def host(*events, step=100):
    """The main thread: events of (begin and length in us, name) in each step."""
    lines = ['plane 9 "/host:CPU"', "line 1 main", f"0us +{STEPS * step}us train"]
    for i in range(STEPS):
        lines += [f'{step * i + begin}us +{length}us "{name}"' for begin, length, name in events]
    return "\n".join(lines) + "\n"


def compared(base, run):
    found = answer(COMPARE, run, base=[base])
    delta = sum(delta for (delta,) in rows(found["contributions"], "delta_ps_per_step"))
    assert delta == found["length"]["delta"]
    return found


def changes(found):
    listed = rows(found["contributions"], "what", "kind", "delta_ps_per_step", "percent", "line")
    return [(what, kind, delta / US, percent, line) for what, kind, delta, percent, line in listed if delta]


WORK = (0, 40, "loop fusion", "fusion.1")


def fed(load, log, line, *, step):
    """The device works for 40 us, then waits for two functions."""
    events = (40, load, f"$data.py:{line} load"), (40 + load, log, f"$train.py:{line + 1} log")
    return core(WORK, step=step) + host(*events, step=step)


def test_waiting_for_host_code_is_told_by_function_wherever_it_moved():
    found = compared(fed(20, 40, 3, step=100), fed(100, 20, 30, step=160))
    assert changes(found) == [
        (
            "Waits for host code (Host compute): data.py:30 load",
            "slower",
            80,
            pytest.approx(400 / 3),
            "data.py:30 load",
        ),
        (
            "Waits for host code (Host compute): train.py:31 log",
            "faster",
            -20,
            pytest.approx(-100 / 3),
            "train.py:31 log",
        ),
    ]
    assert found["headline"].endswith(
        "60.0% slower (100.0 to 160.0 us): waiting for host code rose by 60.00 us (data.py:30 load)."
    )
    assert rows(found["contributions"], "event", "base_event")[0] == ["$data.py:30 load", "$data.py:3 load"]


def test_each_place_varies_by_itself():
    found = compared(fed(20, 40, 3, step=100), fed(100, 20, 30, step=160))
    assert rows(found["contributions"], "low_ps", "high_ps", "certain")[:2] == [
        [80 * US, 80 * US, True],
        [-20 * US, -20 * US, True],
    ]


def test_recordings_with_and_without_functions_are_compared_part_by_part():
    bare = core(WORK) + host((40, 60, "Sleep"))
    found = compared(bare, fed(100, 20, 3, step=160))
    assert changes(found)[0][:3] == ("Waits for host code (Host compute)", "slower", 60)
    assert len(changes(found)) == 1


def test_waits_are_charged_to_the_device_that_is_late():
    def two(*work):
        cores = []
        for number, us in enumerate(work):
            ops = (0, us, "loop fusion", "fusion.1"), (us, 90 - us, "all-reduce", "all-reduce.2")
            cores.append(core(*ops, number=number, step=90))
        return "".join(cores)

    found = compared(two(40, 40, 40, 40), two(40, 40, 80, 40))
    assert changes(found) == [
        ("Exposed collectives (Collective communication): all-reduce", "faster", -40, None, None),
        ("Waits for late devices (Collective communication): TPU 2", "slower", 30, None, None),
        ("fusion.1", "slower", 10, None, None),
    ]


def test_collectives_are_told_by_kind():
    base = core(WORK, (40, 30, "all-reduce", "all-reduce.2"), (70, 30, "all-gather", "all-gather.3"))
    run = core(WORK, (40, 30, "all-reduce", "all-reduce.5"), (70, 60, "all-gather", "all-gather.9"), step=130)
    (change,) = changes(compared(base, run))
    assert change[:3] == ("Exposed collectives (Collective communication): all-gather", "slower", 30)


def test_a_function_of_several_hosts_is_one_place():
    def hosts(*waits):
        """Steps of 100 us on each host, which devices wait in for `load`."""
        return [
            core(WORK, (40 + us, 60 - us, "loop fusion", "fusion.2")) + host((40, us, "$data.py:3 load"))
            for us in waits
        ]

    found = answer(COMPARE, *hosts(50, 40), base=hosts(20, 10))
    load = "Waits for host code (Host compute): data.py:3 load"
    assert changes(found) == [
        ("fusion.1, fusion.2", "faster", -30, None, None),
        (load, "slower", 30, None, "data.py:3 load"),
    ]
    assert rows(found["contributions"], "base_ps_per_step", "run_ps_per_step")[1] == [15 * US, 45 * US]


def test_time_between_steps_is_told_by_function():
    def spaced(gap, *events):
        """Steps of 40 us, after each of which the host runs functions."""
        text = core(WORK, step=40 + gap)
        return text.replace(f"us +{40 + gap}us", "us +40us") + host(*events, step=40 + gap)

    base = spaced(60, (40, 20, "$train.py:3 save"), (60, 40, "$train.py:9 evaluate"))
    run = spaced(160, (40, 120, "$train.py:3 save"), (160, 40, "$train.py:9 evaluate"))
    found = compared(base, run)
    assert found["compared"] == "time from step to step"
    assert changes(found) == [("Between steps: train.py:3 save", "slower", 100, 100, "train.py:3 save")]
    assert found["headline"].endswith("time between steps rose by 100.0 us (train.py:3 save).")


def test_small_differences_stay_with_their_part():
    def noisy(us):
        return core(WORK, step=1040) + host(
            (40, us, "$data.py:3 load"), (40 + us, 1000 - us, "$train.py:9 log"), step=1040
        )

    assert changes(compared(noisy(500), noisy(501))) == []
    (longer, shorter) = changes(compared(noisy(500), noisy(502)))
    assert (longer[0], longer[2], shorter[2]) == ("Waits for host code (Host compute): data.py:3 load", 2, -2)
