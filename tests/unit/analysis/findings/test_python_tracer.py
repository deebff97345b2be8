"""What recorded Python functions tell besides names: waits for Python's lock."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from builders.profiles.planted import cpu, evidence, finding, findings

from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, Stacks
from tpu_profile_plugin.analysis.findings.evidence.host.calls import tree_of
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.rules.host import python_lock

MS = 10**9


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


# Parts of the rule, on typed-in calls; times are in ms.


def pauses(calls, parents, spans, steps=((0,), (1000,))):
    """Pauses as (begin, end, event before, usual length); spans of calls as (begin, end, number of the call)."""
    begin, end, node = (np.array(column) for column in zip(*spans, strict=True))
    times = (np.round(one * MS).astype(np.int64) for one in (begin, end))
    count = len(calls)
    stacks = Stacks(
        *times, node, np.array(parents), np.arange(count), calls, np.zeros(count, np.bool_), np.full(len(node), NOWHERE)
    )
    marks = tuple(np.array(one, np.int64) * MS for one in steps)
    (begin, end), event, usual = python_lock._pauses(tree_of(SimpleNamespace(names=calls), stacks), marks)
    rows = zip(begin / MS, end / MS, event, usual / MS, strict=True)
    return [(round(since, 3), round(until, 3), calls[row], round(ms, 3)) for since, until, row, ms in rows]


def lengths(found):
    return [round(end - begin, 3) for begin, end, *_ in found]


def in_turn(first, second, *, begin=3.0):
    """Spans of two calls in turn, from their lengths; the second call is none if that is -1."""
    spans, at = [], begin
    for one, other in zip(first[1], second[1], strict=True):
        spans.append((at, at + one, first[0]))
        spans += [(at + one, at + one + other, second[0])] if second[0] >= 0 else []
        at += one + other
    return spans


@pytest.mark.parametrize(
    ("ms", "found"),
    [
        ([1, 5, 1, 5, 1, 5, 1, 1], [5, 5, 5]),  # five times longer than usual
        ([1, 4.999, 1, 4.999, 1, 4.999, 1, 1], []),
        ([0.9, 4.5, 0.9, 4.5, 0.9, 4.5, 0.9, 0.9], [4.5, 4.5, 4.5]),
        ([0.8, 4.499, 0.8, 4.499, 0.8, 4.499, 0.8, 0.8], []),
        ([1, 5, 1, 5, 1, 1, 1, 1], []),  # two are too few
        ([1, 9, 9, 9, 1], [9, 9, 9]),  # five tell what is usual
        ([1, 9, 9, 9], []),
        ([1, 4.6, 1, 9, 1, 9, 1, 1], [9, 9]),  # others are long, too
    ],
)
@pytest.mark.parametrize("within", [True, False])
def test_pauses_after_a_call_that_ended(ms, found, within):
    """In the function that launches, or between two launches."""
    launches = [0.1] * len(ms)
    if within:
        calls, parents, spans = ("$train.py:5 fit", "PjitFunction(f)"), (NOWHERE, 0), in_turn((1, launches), (0, ms))
    else:
        calls, parents, spans = ("PjitFunction(f)",), (NOWHERE,), in_turn((0, launches), (-1, ms))
        spans.append((spans[-1][1] + ms[-1], spans[-1][1] + ms[-1] + 0.1, 0))
    told = pauses(calls, parents, spans)
    assert lengths(told) == found
    assert {(event, usual) for *_, event, usual in told} == ({("PjitFunction(f)", min(ms))} if found else set())
    if found == [5, 5, 5]:
        assert told[0][:2] == (4.2, 9.2)


@pytest.mark.parametrize(
    ("calls", "parents", "number"),
    [(("$data.py:3 load",), (NOWHERE,), 0), (("$train.py:5 fit", "$data.py:3 load"), (NOWHERE, 0), 1)],
)
def test_pauses_after_a_call_that_began(calls, parents, number):
    """The function is in pauses of 1 and 5 ms at its begin; the 6 ms after its end are as usual."""
    spans = in_turn((number, [1, 5, 1, 5, 1, 5, 1, 1]), (number - 1, [6] * 8))
    assert pauses(calls, parents, spans) == [
        (10, 15, "$data.py:3 load", 1),
        (28, 33, "$data.py:3 load", 1),
        (46, 51, "$data.py:3 load", 1),
    ]


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("$data.py:3 load", True),
        ("PjitFunction(f)", True),
        ("$numpy dot", False),  # may work without the lock
        ("$queue.py:154 get", False),
        ("$npyio.py:546 save", False),
        ("backend_compile_and_load", False),
    ],
)
def test_calls_that_wait_for_something_else_are_no_pauses(call, found):
    spans = in_turn((0, [1, 5, 1, 5, 1, 5, 1, 1]), (-1, [0.1] * 8))
    assert lengths(pauses((call,), (NOWHERE,), spans)) == ([5, 5, 5] if found else [])


def test_pauses_begin_within_the_steps_or_between_them():
    """From 8, 14, 20, ... on; the steps are from 14 to 19 and from 30 to 38."""
    spans = in_turn((0, [1, 5, 1, 5, 1, 5, 1, 5, 1, 5, 1, 5]), (-1, [0] * 12), begin=7)
    apart = [(begin, end - 0.1, 0) for begin, end, _ in spans]
    found = pauses(("$data.py:3 load",), (NOWHERE,), apart, ((14, 30), (19, 38)))
    assert [round(begin) for begin, *_ in found] == [14, 20, 26, 32]


def lost(monkeypatch, ms, busy, *, share=0.05, traced=True, plane="", steps=()):
    """What a host loses in pauses of so many ms, 100 ms apart; `busy`: during which another thread runs Python."""
    begin = (20 + 100 * np.arange(len(ms))) * MS
    end = begin + np.array(ms, np.int64) * MS
    thread = np.where(busy, 1, -1)
    threads = SimpleNamespace(
        busiest=lambda begin, end, per_ms: (thread, np.where(busy, 30 * (end - begin) // MS, 5)),
        function=lambda thread, begin, end: f"$serve.py:{thread} f{begin // MS}",
    )
    told = {
        "lost_to": Lost(0.0, share, ()), "other_threads": threads,
        "calls_of": SimpleNamespace(main=SimpleNamespace(traced=traced, names=("$train.py:9 log",))),
        "_pauses": ((begin, end), np.zeros(len(ms), np.int64), np.full(len(ms), MS // 2)),
    }  # fmt: skip
    for name, answer in told.items():
        monkeypatch.setattr(python_lock, name, lambda *_, answer=answer: answer)
    chosen = []
    host = SimpleNamespace(
        name="h0", plane=plane, shown=SimpleNamespace(steps=steps), time=None, marks=None, devices=(0, 1), derived={},
        by_part=lambda spans: chosen.append(spans) or np.array([7]),
    )  # fmt: skip
    return python_lock.gather(host), chosen


@pytest.mark.parametrize(
    ("busy", "given", "found"),
    [
        ([True] * 3, {}, True),
        ([True] * 2, {}, False),
        ([True] * 3 + [False], {}, True),
        ([True] * 2 + [False], {}, False),
        ([True] * 7 + [False] * 3, {}, True),  # 70%
        ([True] * 6 + [False] * 4, {}, False),
        ([True] * 3, {"share": 0.0499}, False),
        ([True] * 3, {"traced": False}, False),
        ([True] * 3, {"plane": None}, False),
        ([True] * 3, {"steps": None}, False),
    ],
)
def test_pauses_that_are_a_loss(monkeypatch, busy, given, found):
    assert (lost(monkeypatch, [6] * len(busy), np.array(busy), **given)[0] is not None) == found


def test_what_is_told_of_the_longest_pause(monkeypatch):
    loss, ((first, second),) = lost(monkeypatch, [5, 9, 20, 6, 8], np.array([True, True, False, True, True]))
    assert [one.tolist() for one in first] == [[20 * MS, 120 * MS, 320 * MS, 420 * MS],
                                               [25 * MS, 129 * MS, 326 * MS, 428 * MS]]  # fmt: skip
    assert second == first
    assert loss.what == "serve.py:1 f120"
    assert {one.label: one.value for one in loss.evidence} == {
        "Longest pause": 9.0,
        "Usual pause after the same event": 0.5,
        "This event": "train.py:9 log",
        "Pauses": 4,
        "Function on the other thread": "serve.py:1 f120",
        "Its calls of functions per ms": 30,
    }
