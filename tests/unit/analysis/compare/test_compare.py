"""Two typed-in runs of a TensorCore compared: which change is named, and that contributions add up."""

from __future__ import annotations

import random

import pytest
from builders.answers import answer, rows
from builders.fuzzing.random_devices import random_profile, text_of
from builders.profiles.compared import sides, verdict
from builders.rings import many
from builders.xspace_text import build

from tpu_profile_plugin.tools import registry

COMPARE = registry.find("compare")
US = 10**6
STEPS, PERIOD = 4, 1000
DOT = "%dot.1 = {t}[8,128] dot({t}[8,64] %p, {t}[64,128] %q)"


def core(*ops, steps=STEPS, period=PERIOD, step=900):
    """A TensorCore; `ops` are (length in us, category, HLO text, framework op, line, runs per step) of every step."""
    lines = ['plane 1 "/device:TPU:0" {device_type_string="TPU v4"}', "line 1 Steps"]
    lines += [f"{period * i}us +{step}us {i} {{_ct=9, _c={i}}}" for i in range(steps)]
    lines.append('line 2 "XLA Ops"')
    for i in range(steps):
        at = period * i
        for length, _, text, _, _, runs in ops:
            for _ in range(runs):
                lines.append(f'{at}us +{length}us "{text}"')
                at += length
    for number, (_, category, text, framework, line, _) in enumerate(ops, 1):
        lines.append(
            f'metadata "{text}" {{program_id=u7, symbol_id=u{number}, hlo_category="{category}", '
            f'tf_op="{framework}", source="model.py:{line}"}}'
        )
    return "\n".join(lines) + "\n"


def op(length, name="fusion.1", category="loop fusion", framework="jit(f)/mul", line=3, runs=1, shape="f32[8,128]"):
    text = f"%{name} = {shape} fusion({shape} %p), kind=kLoop"
    return length, category, text, framework, line, runs


def compared(base, run):
    found = answer(COMPARE, run, base=[base])
    difference = found["length"]["delta"]
    listed = rows(found["contributions"], "kind", "delta_ps_per_step")
    assert sum(delta for _, delta in listed) == (difference or 0)
    assert all(abs(delta) <= len(listed) for kind, delta in listed if kind == "rest"), "ops are all of their parts"
    return found


def changes(found):
    """What changed, without the rest and without what fills up the step."""
    listed = rows(found["contributions"], "what", "kind", "delta_ps_per_step", "where", "part")
    return [(what, kind, delta / US) for what, kind, delta, *where in listed if where == ["Device compute", None]]


def test_nothing_changed():
    found = compared(core(op(100)), core(op(100)))
    assert rows(found["contributions"]) == [["Rest", "rest", 0, None, 0, 0, *[None] * 5, False, None, None, None]]
    assert verdict(found) == {
        "text": "No difference beyond noise from step to step (1.000 to 1.000 ms).",
        "tone": "same",
    }
    assert rows(found["ops"], "name", "kind", "delta_ps_per_step") == [["fusion.1", "same", 0]]
    assert rows(found["programs"], "kind", "ops", "matched") == [["same", 1, 1]]


def test_an_op_that_takes_longer_under_another_number():
    found = compared(core(op(100)), core(op(150, name="fusion.77")))
    assert changes(found) == [("fusion.77 (mul)", "slower", 50)]
    assert rows(found["contributions"], "ops")[0] == ["fusion.77"]
    assert rows(found["ops"], "name", "base_name", "kind") == [["fusion.77", "fusion.1", "same"]]
    assert rows(found["ops"], "module", "base_module") == [["(7)", "(7)"]]


def test_an_op_that_runs_more_often():
    assert changes(compared(core(op(100)), core(op(100, runs=3)))) == [("fusion.1 (mul)", "more_often", 200)]


def test_other_element_types():
    base, run = core(op(100, shape="bf16[8,128]")), core(op(180))
    assert changes(compared(base, run)) == [("fusion.1 (mul) (bf16 → f32)", "dtype_changed", 80)]


def test_an_op_of_other_types_is_no_new_one_beside_one_that_is_gone():
    # Two products of one line, of which one has other types and another number.
    def products(first, second):
        wide = op(100, name=f"dot.{first}", framework="jit(f)/dot", shape="f32[8,128]")
        other = op(60, name=f"dot.{second}", framework="jit(f)/dot", shape="f32[64,64]")
        return wide, other

    base = core(*products(1, 2))
    narrow = op(30, name="dot.9", framework="jit(f)/dot", shape="bf16[64,64]")
    found = compared(base, core(products(4, 5)[0], narrow))
    assert changes(found) == [("dot.9 (dot) (f32 → bf16)", "dtype_changed", -30)]
    assert rows(found["ops"], "name", "base_name", "kind") == [
        ["dot.9", "dot.2", "dtype_changed"],
        ["dot.4", "dot.1", "same"],
    ]


def test_an_op_that_is_gone_has_no_types():
    # The program keeps no other op in 16 bits.
    gone = op(40, name="fusion.2", framework="jit(f)/cast", line=9, shape="bf16[8,128]")
    assert changes(compared(core(op(100), gone), core(op(100)))) == [("fusion.2 (cast)", "removed", -40)]
    assert changes(compared(core(op(100)), core(op(100), gone))) == [("fusion.2 (cast)", "added", 40)]


def test_integers_in_place_of_floats_are_named():
    base, run = core(op(100)), core(op(60, shape="s8[8,128]"))
    assert changes(compared(base, run)) == [("fusion.1 (mul) (f32 → s8)", "dtype_changed", -40)]


def layers(*names, longer=0):
    """Layers of 100, 50, ... us that are made on one line of a library."""
    return core(*(
        op(100 // (i + 1) + longer * (i == len(names) - 1), name=f"dot.{i + 1}", framework=f"jit(f)/{name}/dot", line=7)
        for i, name in enumerate(names)
    ))  # fmt: skip


@pytest.mark.parametrize(
    "renamed",
    [
        ("sequential_1_1/dense_2", "sequential_1_1/dense_3"),
        ("sequential_2/dense_3", "sequential_2/dense_4"),
        ("sequential/dense_9", "sequential/dense_10"),
    ],
)
def test_layers_that_are_numbered_anew_are_the_same(renamed):
    found = compared(layers("sequential_1/dense", "sequential_1/dense_1"), layers(*renamed, longer=30))
    assert changes(found) == [(f"dot.2 ({renamed[1]}/dot)", "slower", 30)]
    assert rows(found["ops"], "name", "base_name", "kind") == [["dot.2", "dot.2", "same"], ["dot.1", "dot.1", "same"]]


def test_one_more_layer_is_new_whatever_the_numbers():
    base = layers("model_1/dense_1", "model_1/dense_2")
    found = compared(base, layers("model/dense", "model/dense_1", "model/dense_2"))
    assert changes(found) == [("dot.3 (model/dense_2/dot)", "added", 33)]


def test_ops_of_one_kind_at_one_line_are_one_change():
    def stack(*lengths):
        return core(*(
            op(us, name=f"fusion.{i + 1}", framework=f"jit(f)/layer{'abc'[i]}/mul", line=5)
            for i, us in enumerate(lengths)
        ))  # fmt: skip

    found = compared(stack(100, 50, 20), stack(130, 60, 15))
    assert changes(found) == [("3 ops such as fusion.1 (layera/mul)", "slower", 35)]
    assert rows(found["contributions"], "line", "percent", "event", "base_event")[0] == [
        *("model.py:5", None, "fusion.1", "fusion.1")
    ]


def test_other_shapes():
    base, run = core(op(100)), core(op(200, shape="f32[16,128]"))
    assert changes(compared(base, run)) == [("fusion.1 (mul) (f32[8,128] → f32[16,128])", "shape_changed", 100)]


def test_an_op_is_new_and_one_is_gone():
    base = core(op(100), op(40, name="fusion.2", framework="jit(f)/add", line=9))
    run = core(op(100), op(60, name="fusion.5", framework="jit(f)/exp", line=12))
    assert changes(compared(base, run)) == [("fusion.5 (exp)", "added", 60), ("fusion.2 (add)", "removed", -40)]


def test_ops_of_one_place_that_become_one():
    base = core(op(50, name="fusion.1"), op(60, name="fusion.2", shape="f32[4,128]"))
    run = core(op(200, name="fusion.9", shape="f32[12,128]"))
    assert changes(compared(base, run)) == [("fusion.2, fusion.1 → fusion.9", "merged", 90)]


def test_the_step_is_compared_between_runs_of_different_length():
    found = compared(core(op(100), steps=6), core(op(100), steps=3))
    assert sides(found, "steps") == {"base": 6, "run": 3}
    assert sides(found, "recorded_steps") == {"base": 6, "run": 3}
    same = {"delta": 0, "low": 0, "high": 0}
    assert found["step"] == {"base": 900 * US, "run": 900 * US, **same}
    assert found["parts"]["between_steps"] == {"base": 100 * US, "run": 100 * US, **same}
    assert found["length"] == {"base": 1000 * US, "run": 1000 * US, **same}


def test_time_between_steps_is_a_part_of_its_own():
    found = compared(core(op(100)), core(op(100), period=1100))
    assert found["compared"] == "time from step to step"
    assert verdict(found) == {
        "text": "10.0% slower from step to step (1.000 to 1.100 ms): time between steps rose by 100.0 us.",
        "tone": "slower",
    }
    listed = rows(found["contributions"], "what", "where", "part", "delta_ps_per_step", "certain")
    assert listed[0] == ["Between steps", "Between steps", "between_steps", 100 * US, True]


def test_steps_without_a_gap_are_compared_as_steps():
    found = compared(core(op(100), period=900), core(op(150), period=900))
    assert (found["compared"], found["length"]["run"]) == ("step", 900 * US)
    assert found["headline"] == "No difference beyond noise (900.0 to 900.0 us)."


def test_moved_data_counts_once_as_its_op():
    def copy(length):
        return length, "copy", "%copy.1 = f32[8,128] copy(f32[8,128] %p)", "jit(f)/copy", 5, 1

    found = compared(core(op(100), copy(50)), core(op(100), copy(80)))
    assert found["parts"]["data_movement"]["delta"] == 30 * US
    assert changes(found) == [("copy.1 (copy)", "slower", 30)]
    parts = [part for (part,) in rows(found["contributions"], "part") if part]
    assert parts == ["idle_other"], "the step is as long, so the device is idle for less"


def test_a_device_that_takes_no_part_halves_nothing():
    idle = 'plane 2 "/device:TPU:1" {device_type_string="TPU v4"}\nline 1 Steps\n'
    idle += "".join(f"{PERIOD * i}us +900us {i} {{_ct=9, _c={i}}}\n" for i in range(STEPS))
    found = compared(core(op(100)) + idle + 'line 2 "XLA Ops"\n', core(op(150)))
    assert rows(found["ops"], "base_ps_per_step", "run_ps_per_step", "base_runs") == [[100 * US, 150 * US, 1]]


def busy(*ops):
    """A TensorCore whose steps are as long as their ops and follow each other."""
    length = sum(one[0] * one[-1] for one in ops)
    return core(*ops, period=length, step=length)


NEW = op(60, name="fusion.5", framework="jit(f)/exp", line=12)


@pytest.mark.parametrize(
    ("base", "run", "text"),
    [
        ([op(100)], [op(150)], "50.0% slower (100.0 to 150.0 us): fusion.1 (mul) takes 50.00 us more."),
        ([op(200)], [op(150)], "25.0% faster (200.0 to 150.0 us): fusion.1 (mul) takes 50.00 us less."),
        ([op(100)], [op(100, runs=3)],
         "3.0 times as long (100.0 to 300.0 us): fusion.1 (mul) runs more often and takes 200.0 us more."),
        ([op(100)], [op(100), NEW], "60.0% slower (100.0 to 160.0 us): fusion.5 (exp) is new and takes 60.00 us."),
        ([op(100), NEW], [op(100)], "37.5% faster (160.0 to 100.0 us): fusion.5 (exp), which took 60.00 us, is gone."),
        ([op(900)], [op(1200)], "33.3% slower (900.0 us to 1.200 ms): fusion.1 (mul) takes 300.0 us more."),
    ],
)  # fmt: skip
def test_the_headline_names_the_largest_change(base, run, text):
    assert compared(busy(*base), busy(*run))["headline"] == text


def test_runs_with_little_in_common_are_called_so():
    other = op(100, framework="jit(g)/exp", line=99)
    assert compared(core(op(100)), core(op(150)))["caution"] is None
    found = compared(core(op(100)), core(other))
    assert sides(found, "matched") == {"base": 0, "run": 0}
    assert found["caution"] == "No time is in programs that both runs have: the runs are hardly comparable."


def test_a_recording_without_steps_has_none_to_divide_by():
    whole = core(op(100)).replace("line 1 Steps", "line 1 Others")
    found = compared(core(op(100)), whole)
    assert sides(found, "recorded_steps") == {"base": 4, "run": None}
    assert verdict(found) == {"text": "The run has no steps, so step times cannot be compared.", "tone": "unknown"}
    assert found["step"] == {"base": 900 * US, "run": None, "delta": None, "low": None, "high": None}
    assert rows(found["contributions"]) == []
    found = compared(whole, core(op(150)).replace("line 1 Steps", "line 1 Others"))
    assert found["headline"].startswith(
        "1.6% longer recording (3.100 to 3.150 ms): fusion.1 (mul) takes 200.0 us more."
    )
    assert found["notes"] == [
        f"The {side} has no steps: its whole recording counts as one." for side in ("base", "run")
    ]


@pytest.mark.parametrize("block", range(5))
def test_contributions_of_random_pairs_add_up(block):
    count = many(8, 40)
    for seed in range(count * block, count * block + count):
        rng = random.Random(seed)
        base, run = (build(text_of(random_profile(rng.randrange(10**6)))) for _ in range(2))
        compared(base, run)


def test_runs_without_devices_are_not_compared():
    host = 'plane 1 "/host:CPU"\nline 1 main\n0us +5us train\n'
    found = answer(COMPARE, core(op(100)), base=[host])
    assert found["tone"] == "unknown"
    assert found["headline"] == "The base has no device with steps, so step times cannot be compared."
    assert found["notes"][0].startswith("The type of device differs")
    assert rows(found["contributions"]) == []
    assert sides(found, "recorded_steps") == {"base": None, "run": 4}
    assert found["step"] == {"base": None, "run": 900 * US, "delta": None, "low": None, "high": None}


def test_hosts_without_a_common_step():
    def steps(*of):
        begin = 'plane 1 "/device:TPU:0" {device_type_string="TPU v4"}\nline 1 Steps\n'
        return begin + "\n".join(of) + '\nline 2 "XLA Ops"\n5000us +1us "%a = f32[8] copy(%p)"'

    three = [
        steps("500us +4000us 7", "5000us +10us 3"),
        steps("0us +10us 0", "510us +4000us 9"),
        steps("5000us +300us 5", "10300us +10us 1"),
    ]
    found = answer(COMPARE, *three, base=[core(op(100))])
    assert (found["tone"], found["length"]["run"]) == ("unknown", None)
    assert rows(found["ops"], "name", "kind") == [["fusion.1", "removed"]]
