"""Steps far above the median because of work that only they do."""

from __future__ import annotations

import pytest
from builders import planes
from builders.profiles.planted import evidence, finding, findings, reason

SAVE = "0 $L $train.py:40 save\n10 $M $_pickle dump"


def loop(
    extra: dict[int, tuple[int, str]], *, steps: int = 20, ops: dict[int, str] | None = None, each: str = "", other=""
) -> str:
    """Steps of 1000 us on a device of XLA's CPU backend, which computes 900 us of each.

    `extra`: microseconds that a step takes longer, and what the main thread does then, `$L` for their number and `$M`
    for 20 less; `ops`: what the device does then; `each`: what the main thread does in every step.
    """
    main, runs, at = [], [], 0
    for step in range(steps):
        longer, text = extra.get(step, (0, ""))
        text = text.replace("$L", str(longer)).replace("$M", str(longer - 20))
        main += planes.events(f"0 1000 train {{_r=1, step_num={step}}}\n0 10 PjitFunction(f)\n{each}", at)
        main += planes.events(text, at + 1000)
        runs += planes.events("5 900 dot.1", at) + planes.events((ops or {}).get(step, ""), at + 1000)
        at += 1000 + longer
    return planes.host("\n".join(main), planes.xla_on_cpu("\n".join(runs)), *([other] if other else []))


def every(period: int, longer: int, text: str = SAVE) -> dict[int, tuple[int, str]]:
    return dict.fromkeys(range(period - 1, 20, period), (longer, text))


def test_checkpoints_in_every_fifth_step():
    found = finding("periodic_work", loop(every(5, 9000)))
    assert found["title"] == (
        "61.3% of the time from step to step goes to checkpoints in every 5th step: train.py:40 save"
    )
    assert found["confidence"] == "high"
    # Three of the 18 steps without the first and the last, 9 ms each: 282 us in steps, the rest in the 17 gaps.
    assert found["saving_ps_per_step"] == 1_587_313_650
    assert [one["id"] for one in found["segments"]] == ["between_steps"]
    assert evidence(found) == {
        "Work of the slow steps, of the time from step to step": 61.328,
        "Work of the slow steps per step": 1.587,
        "Longest of these steps: 4": 10.0,
        "Median step": 1.0,
        "Steps with this work, of 18": 3,
        "Their numbers": "4, 9, 14",
        "Steps from one to the next": 5,
        "Function": "train.py:40 save",
        "Call": "pickle.dump",
    }
    assert found["advice"].startswith("Save less often, or asynchronously")
    window = next(one["query"]["window"] for one in found["evidence"] if one["label"].startswith("Longest"))
    assert window == "0,24000000000"


def test_the_same_time_is_no_finding_of_another_rule():
    ids = [one["id"] for one in findings(loop(every(5, 9000)))["findings"]]
    assert ids == ["periodic_work"]


@pytest.mark.parametrize(("longer", "fires"), [(947, False), (948, True)])
def test_the_least_share_is_five_percent(longer, fires):
    """One step of 18 with a checkpoint: 948 of 18,948 us are 5.003%."""
    assert (finding("periodic_work", loop({9: (longer, SAVE)})) is not None) == fires


def test_work_that_costs_too_little_stays_code_on_the_host():
    """Two slow steps of 18 take 7.7%, the checkpoint in one of them 3.2%: 600 of the 2040 us that the host costs."""
    text = loop({9: (600, SAVE), 14: (900, "")}, each="910 80 $train.py:42 load_batch")
    assert reason("periodic_work", text).endswith("that is 3.2% of the time from step to step.")
    assert finding("slow_host_code", text)["saving_ps_per_step"] == 95_310_458


@pytest.mark.parametrize(("longer", "fires"), [(500, False), (501, True)])
def test_a_slow_step_takes_more_than_half_again_the_median(longer, fires):
    assert (finding("periodic_work", loop(every(5, longer))) is not None) == fires


@pytest.mark.parametrize(
    ("text", "work", "place", "advice"),
    [
        ("0 $L $train.py:9 evaluate", "evaluation", "train.py:9 evaluate", "Evaluation is work"),
        ("0 $L $a.py:9 report\n10 $M $__init__.py:1477 info", "logging", "a.py:9 report", "Log every N-th"),
        ("0 $L $a.py:9 tidy\n10 $M $gc collect", "Python's garbage collection", "a.py:9 tidy", "The program calls gc"),
        ("0 $L $a.py:9 pause\n10 $M $time sleep", "sleeping", "a.py:9 pause", "The program sleeps"),
        (
            "0 $L $a.py:9 hand_over\n10 $M $threading.py:3 join",
            "waits for another thread",
            "a.py:9 hand_over",
            "The st",
        ),
        ("0 $L $a.py:9 sort_all", "work", "a.py:9 sort_all", "Run this work less often"),
        ("0 $L $a.py:9 f\n10 $M $async_checkpointer.py:3 wait_until_finished", "checkpoints", "a.py:9 f", "The checkp"),
    ],
)
def test_what_the_host_does_decides_the_advice(text, work, place, advice):
    found = finding("periodic_work", loop(every(5, 9000, text)))
    assert found["title"] == f"61.3% of the time from step to step goes to {work} in every 5th step: {place}"
    assert found["advice"].startswith(advice)


def test_a_collection_of_garbage_is_what_lies_between_two_callbacks():
    callback = "$__init__.py:132 _xla_gc_callback"
    extra = dict.fromkeys((4, 7, 14), (3000, f"100 5 {callback}\n2900 5 {callback}"))
    found = finding("periodic_work", loop(extra, each="0 999 $train.py:7 step"))
    assert "goes to Python's garbage collection in 3 of 18 steps" in found["title"]
    assert found["advice"].startswith("Call gc.freeze()")
    # A function that begins between two callbacks is not run by a collection.
    extra = dict.fromkeys((4, 7, 14), (3000, f"100 5 {callback}\n500 9 $a.py:1 f\n2900 5 {callback}"))
    assert finding("periodic_work", loop(extra)) is None


@pytest.mark.parametrize(("count", "fires"), [(1, False), (2, True)])
def test_work_without_a_known_purpose_has_to_recur(count, fires):
    extra = dict.fromkeys((4, 11)[:count], (9000, "0 $L $a.py:9 sort_all"))
    found = finding("periodic_work", loop(extra))
    assert (found is not None) == fires
    if not fires:
        assert reason("periodic_work", loop(extra)) == (
            "1 of 18 steps is far longer than the median, 33.3% of the time; the work that runs only there does not "
            "recur."
        )


@pytest.mark.parametrize(("usual", "fires"), [(300, True), (301, False)])
def test_or_takes_five_times_as_long_as_in_other_steps(usual, fires):
    """1500 us in three steps, 300 us in the others, within code that says nothing."""
    extra = dict.fromkeys((4, 9, 14), (1500 - usual, "0 $L $a.py:9 shuffle"))
    found = finding("periodic_work", loop(extra, each=f"{1000 - usual} {usual} $a.py:9 shuffle"))
    assert (found is not None) == fires
    if fires:
        assert found["confidence"] == "medium"


def test_a_slow_step_without_work_of_its_own_is_an_accident():
    main = loop(dict.fromkeys((4, 9, 14), (9000, "")), each="5 990 $train.py:7 step")
    assert finding("periodic_work", main) is None
    assert reason("periodic_work", main) == (
        "3 of 18 steps are far longer than the median, 60.0% of the time, but nothing runs in them that does not run "
        "in others."
    )


def test_without_python_functions_the_cause_is_unknown():
    assert reason("periodic_work", loop(dict.fromkeys((4, 9, 14), (9000, "")))) == (
        "3 of 18 steps are far longer than the median, 60.0% of the time; Python functions were not recorded, so the "
        "cause is unknown."
    )


def test_results_that_are_read_in_every_fifth_step_cost_nothing():
    """The host runs ahead, and the device computes all the time: long steps end work that others launched."""
    extra = dict.fromkeys((4, 9, 14), (4000, "0 $L $train.py:50 log\n10 $M $array.py:298 __float__"))
    ops = dict.fromkeys((4, 9, 14), "0 3995 dot.1")
    assert finding("periodic_work", loop(extra, ops=ops)) is None


def test_results_that_are_read_in_every_fifth_step_are_the_business_of_another_rule():
    text = loop(dict.fromkeys((4, 9, 14), (9000, "0 $L $train.py:50 log\n10 $M $array.py:298 __float__")))
    assert reason("periodic_work", text).endswith("of the time, because of waits for results.")


def test_a_program_of_its_own_is_named_and_counts_as_a_whole():
    extra = dict.fromkeys((4, 9, 14), (4000, "0 10 PjitFunction(eval_step)"))
    ops = dict.fromkeys((4, 9, 14), "5 3990 dot.9 {program_id=8}")
    found = finding("periodic_work", loop(extra, ops=ops))
    assert found["saving_ps_per_step"] == 705_882_353  # 12 ms, in 17 gaps
    assert found["title"] == ("41.4% of the time from step to step goes to evaluation in every 5th step: eval_step")
    assert [one["id"] for one in found["segments"]] == ["between_steps"]


def test_compilation_is_the_business_of_another_rule():
    text = loop(dict.fromkeys((4, 9, 14), (9000, "0 $L $train.py:9 f\n10 $M backend_compile_and_load")))
    assert reason("periodic_work", text).endswith("of the time, because of compilation.")


def test_waits_for_input_are_the_business_of_another_rule():
    text = loop(dict.fromkeys((4, 9, 14), (9000, "0 $L $train.py:9 load\n10 $M IteratorGetNext")))
    assert reason("periodic_work", text).endswith("of the time, because of waits for input.")


def test_two_kinds_of_work():
    extra = every(10, 9000) | dict.fromkeys((4, 12), (6000, "0 $L $train.py:9 evaluate"))
    found = finding("periodic_work", loop(extra))
    assert found["title"] == (
        "55.2% of the time from step to step goes to evaluation in 2 of 18 steps: train.py:9 evaluate, and to "
        "checkpoints in other steps"
    )
    assert evidence(found)["In other steps, of that time: checkpoints (train.py:40 save)"] == 42.857


@pytest.mark.parametrize(("slow", "fires"), [(6, True), (7, False)])
def test_exceptions_are_at_most_a_third_of_the_steps(slow, fires):
    extra = dict.fromkeys(range(1, 1 + slow), (9000, SAVE))
    assert (finding("periodic_work", loop(extra)) is not None) == fires


def test_few_steps_have_no_typical_one():
    text = loop({2: (9000, SAVE)}, steps=4)
    assert reason("periodic_work", text) == "4 steps recorded: too few to tell a typical one."


def test_equal_steps():
    assert reason("periodic_work", loop({})) == "No step of 18 is far longer than the median (1 ms)."
