"""The average step of a run from the typed-in work of its hosts, and its parts by place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders.answers import run_of

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN
from tpu_profile_plugin.analysis.blame.places import HostPlaces, Place
from tpu_profile_plugin.analysis.budget.categories import COMPUTE, IDLE_HOST, IDLE_OTHER, IDLE_PEER, PARTS
from tpu_profile_plugin.analysis.compare.host_work import CONTAINERS, DescribedWork, Fingerprint, HostWork
from tpu_profile_plugin.analysis.compare.places import PlacePair, place_pairs, place_text, with_places
from tpu_profile_plugin.analysis.compare.run_work import PlacedTime, Sample, run_work
from tpu_profile_plugin.run.figures.budget import run_decomposition

US = 10**6


def host(begins, *, length=60, work=40):
    """A host with one TensorCore, which works at the begin of each step; in us."""
    lines = ['plane 0 "/device:TPU:0" {device_type_string="TPU v4"}', "line 1 Steps"]
    lines += [f"{begin}us +{length}us {i} {{_ct=9, _c={i}}}" for i, begin in enumerate(begins)]
    lines += ['line 2 "XLA Ops"', *(f"{begin}us +{work}us fusion.1" for begin in begins)]
    lines.append('metadata fusion.1 {program_id=u7, symbol_id=u1, hlo_category="loop fusion"}')
    return "\n".join(lines) + "\n"


def budget_of(*hosts):
    return run_decomposition(run_of(*hosts))


FUSION, DOT, LOOPS = (
    Fingerprint("fusion", (), "", source, name) for source, name in (("m.py:3", "mul"), ("", "dot"), ("", ""))
)


def described(by_step, runs, prints, *, steps=None, executions=None, name="a.1"):
    """The work of one host: ops of program 7, `jit_f`, the last of which is that of its loops."""
    times = np.array(by_step, np.float64)
    names = [*(f"{name}{i}" for i in range(len(runs) - 1)), ""]
    work = HostWork(
        tuple((7, one) for one in names),
        times.sum(axis=1).astype(np.int64),
        times,
        np.array(runs),
        steps=times.shape[1] if steps is None else steps,
        devices=1,
        executions=executions or {},
    )
    count = len(runs)
    return DescribedWork(work, ("jit_f(7)",) * count, tuple(prints), (frozenset(),) * count)


def test_the_work_of_several_hosts_is_averaged_over_steps_and_devices():
    budget = budget_of(*[host((0, 100, 200))] * 2)
    first = described([[10, 20, 30], [1, 2, 3]], (3, 0), (FUSION, LOOPS), executions={7: 4, 9: 50})
    second = described([[30, 30, 30], [5, 5, 8]], (6, 0), (FUSION, LOOPS), executions={7: 2})
    found = run_work([first, second], budget)
    op, loops = found.ops
    assert (op.program, op.module, op.name, op.source) == ("jit_f", "jit_f(7)", "a.10", "m.py:3")
    assert (op.ps, op.by_step.tolist(), op.runs) == (25, [20, 25, 30], 1.5)
    assert (loops.name, loops.ps, loops.by_step.tolist(), loops.runs) == (CONTAINERS, 4, [3, 3.5, 5.5], 0)
    assert (found.steps, found.executions) == (3, {"jit_f": 1})
    # Another host that has more steps than the run, of which two are known step by step.
    more = replace(budget, rows=(np.arange(3), np.arange(1, 4)))
    longer = described([[9, 30, 60], [0, 0, 0]], (8, 0), (DOT, LOOPS), steps=4, executions={7: 8})
    found = run_work([first, longer], more)
    other = next(one for one in found.ops if one.print is DOT)
    assert (other.ps, other.by_step.tolist(), other.runs) == (135 / 6, [15, 30], 1)
    assert found.executions == {"jit_f": pytest.approx((4 + 6) / 6)}


def test_time_between_steps_and_single_long_ones():
    budget = budget_of(host((0, 100, 200, 500, 600, 700)))
    found = run_work([described([[40] * 6, [0] * 6], (6, 0), (FUSION, LOOPS))], budget)
    assert found.single.tolist() == [False, False, True, False, False, False]
    assert (found.step.mean, found.step.count, found.step.excess) == (60 * US, 5, 0)
    # Pauses of 40 us and of 240 us.
    assert found.gap == Sample(80 * US, 0.0, 4, 40 * US, 1)
    assert found.period == found.length == Sample(140 * US, 0.0, 4, 40 * US, 1)
    assert found.between == found.gap
    assert [found.parts[i].mean / US for i in (COMPUTE, IDLE_OTHER)] == [40, 20]
    assert found.total([]) == Sample(0.0, 0.0, 5)
    assert found.total(found.ops[:1]) == Sample(40, 0.0, 5, 0.0, 1)


def test_too_little_time_between_steps_is_not_compared():
    found = run_work(
        [described([[60] * 3, [0] * 3], (3, 0), (FUSION, LOOPS))], budget_of(host((0, 100, 200), length=100))
    )
    assert (found.between.mean, found.gap.mean, found.length) == (0, 0, found.step)
    found = run_work(
        [described([[60] * 3, [0] * 3], (3, 0), (FUSION, LOOPS))], budget_of(host((0, 100001, 200003), length=100000))
    )
    assert (found.between.mean, found.gap.mean / US, found.length) == (0, 1.5, found.step)
    whole = found.from_step_to_step()
    assert (whole.between, whole.length) == (found.gap, found.period)
    assert whole.length.mean / US == 100001.5


def test_parts_of_a_step():
    found = run_work(
        [described([[40] * 3, [0] * 3], (6, 0), (FUSION, LOOPS), executions={7: 6})], budget_of(host((0, 100, 200)))
    ).divided(2)
    op = found.ops[0]
    assert (op.ps, op.by_step.tolist(), op.runs) == (20, [20] * 3, 1)
    assert found.executions == {"jit_f": 1}
    assert (found.step.mean, found.gap.mean, found.period.mean) == (30 * US, 20 * US, 50 * US)
    assert found.parts[COMPUTE].mean == 20 * US
    none = found.without_steps()
    assert (none.steps, none.length.mean, {one.mean for one in none.parts}) == (0, 0, {0})


def placed(places, late=None):
    """The places of a run whose steps are idle for 20, 20 and 40 us, and which pauses for 40 and 60 us."""
    text = host((0, 100, 200)).replace("200us +60us", "200us +80us")
    budget = budget_of(text)
    work = run_work([described([[40] * 3, [0] * 3], (6, 0), (FUSION, LOOPS))], budget)
    return with_places(work, [places], budget, late or {})


def host_places(*of):
    """Places with the time of each step in us; in all `ps` if that is given."""
    places, by_step = zip(*of, strict=True)
    times = np.array(by_step, np.float64) * US
    return HostPlaces(tuple(places), times.sum(axis=1).astype(np.int64), times, ("",) * len(of))


def means(work):
    return {(one.place.part, one.place.name): one.time.mean / US for one in work.places if one.time.mean}


def test_a_part_is_shared_out_among_its_places():
    load, log = Place(IDLE_OTHER, "load"), Place(IDLE_OTHER, "log")
    save, wait = Place(BETWEEN + IDLE_OTHER, "save"), Place(BETWEEN + IDLE_OTHER, "wait")
    found = placed(host_places((load, (1, 0, 3)), (log, (1, 0, 1)), (save, (3, 0, 0)), (wait, (1, 0, 0))))
    # Of 80 us in three steps, two thirds; where nothing is known of a step as on average.
    times = {one.place.name: one.time for one in found.places}
    assert times["load"].mean == pytest.approx(160 / 9 * US)
    shares = np.array([20 * 1 / 2, 20 * 2 / 3, 40 * 3 / 4]) * US
    assert (times["load"].variance, times["load"].count) == (pytest.approx(shares.var(ddof=1)), 3)
    assert times["log"].mean == pytest.approx(80 / 9 * US)
    # Between steps three quarters of 40 us.
    assert (times["save"].mean, times["wait"].mean) == (30 * US, 10 * US)
    assert times["save"].count == 2
    assert found.in_functions.mean == 0


def test_places_without_time_and_waits_for_devices_are_no_places_of_a_host():
    load, never = Place(IDLE_OTHER, "load"), Place(BETWEEN + IDLE_OTHER, "never")
    peer, save = Place(IDLE_PEER, "peer"), Place(BETWEEN + IDLE_OTHER, "save")
    found = placed(host_places((load, (1, 1, 1)), (peer, (1, 1, 1)), (save, (1, 1, 1)), (never, (0, 0, 0))))
    assert {one.place.name for one in found.places} == {"load", "save", ""}


def test_places_of_the_steps_that_a_run_has():
    """Of a host with four steps, of which the run has the last three."""
    load, log = Place(IDLE_OTHER, "load"), Place(IDLE_OTHER, "log")
    budget = replace(budget_of(host((0, 100, 200))), rows=(np.arange(1, 4),))
    work = run_work([described([[40] * 4, [0] * 4], (8, 0), (FUSION, LOOPS))], budget)
    found = means(with_places(work, [host_places((load, (9, 1, 0, 3)), (log, (0, 1, 0, 1)))], budget, {}))
    assert found == {(IDLE_OTHER, "load"): pytest.approx(20 * 2 / 3), (IDLE_OTHER, "log"): pytest.approx(20 / 3)}
    # Three of the four are known step by step: the shares are those of all.
    known = replace(host_places((load, (9, 1, 0)), (log, (0, 1, 4))), ps=np.array([30, 10]) * US)
    found = means(with_places(work, [known], budget, {}))
    assert found == {(IDLE_OTHER, "load"): pytest.approx(15), (IDLE_OTHER, "log"): pytest.approx(5)}


def test_places_of_several_hosts_are_averaged_over_their_devices():
    load, log = Place(IDLE_OTHER, "load"), Place(IDLE_OTHER, "log")
    budget = budget_of(host((0, 100, 200)), host((0, 100, 200), work=20))
    work = run_work([described([[40] * 3, [0] * 3], (3, 0), (FUSION, LOOPS))] * 2, budget)
    places = host_places((load, (3, 1, 1)), (log, (1, 1, 3))), host_places((log, (1, 1, 1)))
    times = {one.place.name: one.time for one in with_places(work, places, budget, {}).places if one.time.mean}
    # 60 us of the first host and 120 us of the other, over six steps.
    assert (times["load"].mean, times["log"].mean) == (pytest.approx(5 * US), pytest.approx(25 * US))
    shares = np.array([0.75, 0.5, 0.25]) * 20 / 2 * US
    assert times["load"].variance == pytest.approx(shares.var(ddof=1))


def test_work_between_steps_has_places_as_well():
    text = host((0, 100, 200)).replace("metadata", "70us +10us fusion.1\nmetadata")
    budget = budget_of(text)
    work = run_work([described([[40] * 3, [0] * 3], (6, 0), (FUSION, LOOPS))], budget)
    places = host_places((Place(BETWEEN + COMPUTE, "mul"), (1, 1, 1)), (Place(BETWEEN + IDLE_OTHER, "save"), (1, 1, 1)))
    found = means(with_places(work, [places], budget, {}))
    assert found == {(BETWEEN + COMPUTE, "mul"): 5, (BETWEEN + IDLE_OTHER, "save"): 35}


def test_idle_time_in_functions_is_that_of_host_code():
    load, log = Place(IDLE_OTHER, "$m.py:3 load", function=True), Place(IDLE_OTHER, "log")
    found = placed(host_places((load, (3, 3, 3)), (log, (1, 1, 1))))
    assert means(found) == {(IDLE_HOST, "$m.py:3 load"): pytest.approx(20), (IDLE_OTHER, "log"): pytest.approx(20 / 3)}
    assert found.in_functions.mean == pytest.approx(20 * US)
    assert [found.parts[i].mean for i in (IDLE_HOST, IDLE_OTHER)] == [0, pytest.approx(80 / 3 * US)]


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (Place(IDLE_HOST, "$m.py:3 load"), "m.py:3 load"),
        (Place(COMPUTE, "mul", line="m.py:3", module="jit_f"), "mul in jit_f (m.py:3)"),
        (Place(BETWEEN + COMPUTE, "mul"), "ops, mul"),
        (Place(BETWEEN + IDLE_OTHER, "wait"), "wait"),
        (Place(BETWEEN + IDLE_HOST, "$m.py:3 load", function=True), "m.py:3 load"),
        (Place(BETWEEN), "ops"),
        (Place(IDLE_HOST), ""),
    ],
)
def test_places_in_words(part, text):
    assert place_text(part) == text


def work_at(*of):
    """Work with times at places: (part, name, is it a function, time)."""
    none = Sample(0.0, 0.0, 3)
    base = run_work([described([[40] * 3, [0] * 3], (6, 0), (FUSION, LOOPS))], budget_of(host((0, 100, 200))))
    places = tuple(
        PlacedTime(Place(part, name, function), replace(none, mean=float(time))) for part, name, function, time in of
    )
    return replace(base, places=places)


@pytest.mark.parametrize(
    ("base", "run", "comparable"),
    [
        # Half of the time is known, and less.
        ([("a", False, 50), ("", False, 50)], [("a", False, 90)], True),
        ([("a", False, 49), ("", False, 51)], [("a", False, 90)], False),
        ([("$m.py:3 f", True, 25), ("a", False, 25), ("", False, 50)], [("$m.py:3 f", True, 90)], True),
        ([("$m.py:3 f", True, 49), ("", False, 51)], [("$m.py:3 f", True, 90)], False),
        # Functions of the program in both, in one alone, and as many of both.
        ([("$m.py:3 f", True, 60), ("a", False, 40)], [("$m.py:3 f", True, 90), ("a", False, 10)], True),
        ([("$m.py:3 f", True, 60), ("a", False, 40)], [("$m.py:3 f", True, 10), ("a", False, 90)], False),
        ([("$m.py:3 f", True, 50), ("a", False, 50)], [("$m.py:3 f", True, 10), ("a", False, 90)], True),
        ([("$m.py:3 f", True, 50), ("a", False, 50)], [("$m.py:3 f", True, 90), ("a", False, 10)], True),
        # A tenth of the other's time may be anything.
        ([("", False, 10)], [("a", False, 100)], True),
        ([("", False, 11)], [("a", False, 100)], False),
        ([], [("a", False, 100)], True),
    ],
)
def test_parts_are_compared_by_place_where_both_recordings_know_them(base, run, comparable):
    sides = (work_at(*((IDLE_HOST, *one) for one in side)) for side in (base, run))
    assert (IDLE_HOST in place_pairs(*sides, {})) == comparable


def test_waits_for_devices_are_theirs():
    nothing = Place(IDLE_OTHER, "log")
    text = host((0, 100, 200))
    budget = budget_of(text)
    work = run_work([described([[40] * 3, [0] * 3], (6, 0), (FUSION, LOOPS))], budget)
    waits = Sample(40.0, 16.0, 3)
    work = replace(work, parts=tuple(waits if i == IDLE_PEER else work.parts[i] for i in PARTS))
    found = with_places(work, [host_places((nothing, (1, 1, 1)))], budget, {"TPU 1": 0.25, "TPU 2": 0.5, "TPU 3": 0.0})
    times = {one.place.name: one.time for one in found.places if one.place.part == IDLE_PEER}
    assert times == {"TPU 1": Sample(10, 1, 3), "TPU 2": Sample(20, 4, 3), "": Sample(10, 1, 3)}
    found = with_places(work, [host_places((nothing, (1, 1, 1)))], budget, {"TPU 1": 1.0})
    assert [one.time.mean for one in found.places if one.place.part == IDLE_PEER] == [40]


def test_places_of_one_name_correspond_whatever_their_lines():
    def side(*lines, module="jit_f"):
        works = work_at(*((COMPUTE, "mul", False, 9) for _ in lines))
        places = zip(works.places, lines, strict=True)
        return replace(works, places=tuple(
            replace(one, place=replace(one.place, line=line, module=module)) for one, line in places
        ))  # fmt: skip

    def pairs(base, run):
        found = place_pairs(base, run, {"jit_g": "jit_f"})[COMPUTE]
        return [tuple(one and one.place.line for one in (pair.base, pair.run)) for pair in found]

    assert pairs(side("m.py:3", "m.py:20"), side("m.py:20", "m.py:5")) == [("m.py:20", "m.py:20"), ("m.py:3", "m.py:5")]
    assert pairs(side("m.py:9", "m.py:10"), side("m.py:21", "m.py:8", "n.py:1")) == [
        *(("m.py:9", "m.py:8"), ("m.py:10", "m.py:21"), (None, "n.py:1"))
    ]
    assert pairs(side("m.py:3"), side("m.py:5", module="jit_g")) == [("m.py:3", "m.py:5")]
    assert pairs(side("m.py:3"), side("m.py:3", module="jit_h")) == [("m.py:3", None), (None, "m.py:3")]


def test_lines_and_events_of_a_pair():
    function, op = Place(IDLE_HOST, "$m.py:3 load", function=True), Place(COMPUTE, "mul", line="m.py:7")
    one, other = PlacedTime(function, Sample(1.0, 0.0, 3)), PlacedTime(op, Sample(1.0, 0.0, 3), "mul.1")
    assert (PlacePair(one, None).line, PlacePair(one, None).events) == ("m.py:3 load", ("$m.py:3 load", ""))
    assert (PlacePair(None, other).line, PlacePair(None, other).events) == ("m.py:7", ("", "mul.1"))
