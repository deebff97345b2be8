"""Verdicts on collectives of typed-in runs: links between hosts, uneven work, late devices and barriers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, IDLE_HOST, IDLE_INPUT, IDLE_PEER
from tpu_profile_plugin.analysis.communication.barriers import BarrierTime
from tpu_profile_plugin.analysis.communication.run_collectives import Before, Straggler
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Finding, Silence
from tpu_profile_plugin.analysis.findings.rules.communication import (
    barrier,
    exposed_communication,
    resharding,
    slow_links,
    straggler,
    uneven_work,
)

US, MS = 10**6, 10**9
STEP = 1000 * US


def run_of(communication=None, *, lost=0, parts=None, hosts=("a", "b"), devices=2, **more):
    """A run of steps of 1000 us; `lost`: us in a part of the time budget, whichever is asked for."""

    def lost_in(*segments, ps=None):
        ps = lost * US if ps is None else ps
        return Lost(ps, ps / STEP, segments, True)

    return SimpleNamespace(
        communication=communication, hosts=hosts, base="step", per="step", cells=2, on_cpus=False,
        budget=SimpleNamespace(devices=tuple(range(devices)), step_ps=STEP), lost_in=lost_in, lost_to=lost_in,
        part_ps=lambda name: lost * US, share=lambda ps: ps / STEP,
        present=lambda given: [(one, host) for one, host in zip(given, hosts, strict=False) if one is not None],
        devices_of=lambda host: {"a": [0, 1], "b": [2, 3]}[host], **more,
    )  # fmt: skip


# Links between hosts.


@pytest.mark.parametrize(
    ("groups", "hosts"),
    [
        (None, 0),
        ((), 2),  # of all devices
        (((0, 1), (2, 3)), 1),
        (((0, 2), (1, 3)), 2),
        (((0, 1),), 0),  # two devices are in no group
        (((0, 1), (2, 4)), 0),  # there is no device 4
    ],
)
def test_how_many_hosts_take_part_in_a_collective(groups, hosts):
    devices = [SimpleNamespace(host=one) for one in (0, 0, 1, 1)]
    run = run_of(SimpleNamespace(devices=devices, hosts=(0, 1)))
    assert slow_links._hosts(run, SimpleNamespace(transfer=SimpleNamespace(groups=groups))) == hosts


def links(monkeypatch, *collectives, lost=200, hosts=(0, 1), given=("a", "b")):
    """The verdict on collectives: hosts of each, MiB, GB/s and exposed us."""
    sums = [SimpleNamespace(number=i, own_exposed_ps=us * US, key=f"c{i}") for i, (*_, us) in enumerate(collectives)]
    monkeypatch.setattr(slow_links, "_hosts", lambda run, one: collectives[one.number][0])
    monkeypatch.setattr(
        slow_links, "bandwidth", lambda one: (collectives[one.number][1] * 2**20, collectives[one.number][2])
    )
    monkeypatch.setattr(slow_links, "most_of_it", lambda run, all_, origins, more: (f" in {all_[0].key}", tuple(more)))
    monkeypatch.setattr(slow_links, "of_collective", lambda key, *of: (key, *of))
    return slow_links.judge(run_of(SimpleNamespace(hosts=hosts, sums=sums), lost=lost, hosts=given), [])


def test_links_between_hosts_cost_what_they_take_longer(monkeypatch):
    """Of 200 us of exposed communication three quarters are of the slow collective, at a fifth of the usual rate."""
    found = links(monkeypatch, (1, 8, 40.0, 50), (1, 8, 60.0, 0), (2, 8, 10.0, 150), (2, 8, 45.0, 0))
    assert isinstance(found, Finding)
    assert found.title == "Slow links between hosts cost 12.0% of the step in c2: 10.0 GB/s, inside a host 50.0"
    assert found.saving_ps == 120 * US
    assert (found.evidence[0].value, found.evidence[1], found.evidence[2].value) == (
        15.0, ("c2", "Its bus bandwidth", 10.0, "GB/s"), 50.0,
    )  # fmt: skip


@pytest.mark.parametrize(("exposed", "finds"), [(100, True), (99, False)])
def test_slow_links_from_a_tenth_of_the_step(monkeypatch, exposed, finds):
    found = links(monkeypatch, (1, 8, 50.0, 0), (2, 8, 10.0, 100), lost=exposed)
    assert isinstance(found, Finding) == finds
    if not finds:
        assert found.reason == (
            "Collectives between hosts reach 10.0 GB/s, inside a host 50.0; slow ones take 9.9% of the step exposed."
        )


@pytest.mark.parametrize(
    ("collectives", "reason"),
    [
        ([(2, 8, 10.0, 100)], "inside a host"),
        ([(1, 8, 10.0, 100)], "between hosts"),
        ([(1, 8, 10.0, 100), (2, 8, None, 100)], "between hosts"),
        ([(0, 8, 10.0, 100), (2, 8, 10.0, 100)], "inside a host"),
    ],
)
def test_links_without_others_to_compare_with(monkeypatch, collectives, reason):
    assert f"No collectives {reason} of" in links(monkeypatch, *collectives).reason


@pytest.mark.parametrize(("given", "looked"), [(("a", "b"), True), (("a",), False)])
def test_collectives_of_one_host(monkeypatch, given, looked):
    found = links(monkeypatch, hosts=(0,), given=given)
    assert (found.reason, found.looked) == ("No collectives of several hosts recorded.", looked)


# Work divided unevenly.


def balance(unevenly=0.3, in_turns=0.0, work=(5, 9), devices=(0, 1)):
    return SimpleNamespace(devices=devices, unevenly=unevenly, in_turns=in_turns, work_ps=np.array(work))


def cause(*parts, lost=400, waited=40, worked=60, late=(), devices=4, sums=(1,)):
    names = [SimpleNamespace(name=f"TPU {i}") for i in range(4)]
    communication = SimpleNamespace(
        sums=sums, wait_ps=np.array([waited, 0]), work_ps=np.array([worked, 0]), devices=names,
        stragglers=tuple(SimpleNamespace(index=one) for one in late),
    )  # fmt: skip
    return uneven_work._cause(run_of(communication, lost=lost, devices=devices), parts)


@pytest.mark.parametrize(
    ("explained", "share"),
    [
        (0.19, None),  # less than half of the waits, 40% of the time between collectives
        (0.2, 0.2),
        (0.3, 0.3),
        (0.5, 0.4),  # at most what is waited
    ],
)
def test_waits_count_as_far_as_the_work_explains_them(explained, share):
    found = cause(balance(explained))
    if share is None:
        assert found.reason == "Devices wait 40.0% of the step for others; their ops explain waits of 19.0% of it."
    else:
        _, host, lost = found
        assert (host, lost.whole) == ("a", share == 0.4)
        assert (lost.ps, lost.share) == (pytest.approx(share * STEP), pytest.approx(share))


def test_the_host_whose_work_explains_most():
    first, second = balance(0.1, 0.3), balance(0.35, 0.0)
    assert cause(first, second)[1] == "a"
    assert cause(balance(0.3, 0.0), first)[1] == "b"
    assert cause(balance(0.9, devices=(0,)), second)[1] == "b"  # one device is compared with nothing


@pytest.mark.parametrize(
    ("late", "unevenly", "in_turns", "silent"),
    [
        ((1,), 0.3, 0.0, False),  # the device with most work is late
        ((0,), 0.3, 0.0, True),
        ((0, 1), 0.3, 0.0, False),
        ((), 0.3, 0.0, False),
        ((0,), 0.15, 0.15, True),
        ((0,), 0.1, 0.2, False),  # in turns each is late
    ],
)
def test_others_wait_for_the_device_with_most_work(late, unevenly, in_turns, silent):
    found = cause(balance(unevenly, in_turns), late=late)
    assert isinstance(found, Silence) == silent
    if silent:
        assert found.reason == "Devices wait 40.0% of the step for TPU 0, which has not most work."


@pytest.mark.parametrize(
    ("more", "looked"),
    [({"devices": 1}, False), ({"devices": 2, "sums": ()}, True), ({"devices": 1, "sums": ()}, False)],
)
def test_devices_without_collectives_are_not_compared(more, looked):
    found = cause(balance(), **more)
    assert (found.reason, found.looked) == ("No collectives of several devices recorded.", looked)
    assert cause(balance(devices=(0,))).reason == "Devices wait 40.0% of the step for others."
    assert cause(balance(), lost=99).reason == "Devices wait 9.9% of the step for others."
    assert not isinstance(cause(balance(), lost=100), Silence)


def test_work_that_is_as_uneven_as_in_turns_is_uneven(monkeypatch):
    monkeypatch.setattr(uneven_work, "_cause", lambda run, parts: (balance(0.2, 0.2), "a", Lost(1.0, 0.4, ())))
    found = uneven_work.judge(run_of(), [], turns=True)
    assert found.reason == "Devices wait 40.0% of the step for others, which have more work."


# Late devices.


@pytest.mark.parametrize(
    ("before", "delayed"),
    [
        (None, False),
        (Before(3, 60, 10, 20, 5), True),  # 40 more work, 5 more idle time
        (Before(3, 40, 30, 20, 10), False),  # as much of both
        (Before(3, 41, 30, 20, 10), True),
        (Before(3, 20, 10, 20, 30), True),
        (Before(3, None, 10, 20, 5), False),
        (Before(3, 60, 10, 20, None), False),
    ],
)
def test_ops_of_a_cpu_that_take_it_longer(before, delayed):
    assert straggler._delayed(before) == delayed


@pytest.mark.parametrize(
    ("kind", "work", "late", "more"),
    [
        ("cpu", ([50, 100], [20, 150]), 1, True),  # twice the median of the others
        ("cpu", ([50, 99], [20, 150]), 1, False),
        ("cpu", ([50, 400], [50, 100]), 3, True),
        ("cpu", ([50, 140], [150, 150]), 3, False),
        ("tpu", ([50, 10], [20, 150]), 1, True),  # its runs are as long as their work
        ("cpu", (None, [20, 150]), 1, True),  # unknown
    ],
)
def test_more_work_of_a_cpu_is_that_of_its_usual_ops(monkeypatch, kind, work, late, more):
    monkeypatch.setattr(straggler, "LEAST_RATIO", 2)
    run = run_of(SimpleNamespace(devices=[SimpleNamespace(kind=kind)] * 4))
    parts = [None if ps is None else SimpleNamespace(work_ps=ps) for ps in work]
    assert straggler._runs_more(run, parts, late) == more


@pytest.mark.parametrize(
    ("hosts", "late_host", "device", "told"),
    [
        ((0,), None, 1, ("TPU 1", ("a",))),
        ((0,), 0, 1, ("TPU 1", ("a",))),  # the only host
        ((0, 1), None, 2, ("b: TPU 0", ("b",))),
        ((0, 1), 1, 2, ("Host b", ("b",))),
        ((0, 1), 0, 0, ("Host a", ("a",))),
    ],
)
def test_the_name_of_what_is_late(monkeypatch, hosts, late_host, device, told):
    def names(devices, hosts, *, several):
        return [f"{hosts[one.host]}: {one.name}" if several else one.name for one in devices]

    monkeypatch.setattr(straggler, "device_names", names)
    devices = [SimpleNamespace(host=i // 2, name=f"TPU {i % 2}") for i in range(4)]
    run = run_of(SimpleNamespace(devices=devices, hosts=hosts, late_host=late_host))
    assert straggler._name(run, device) == told


@pytest.mark.parametrize(
    ("work", "late", "told"),
    [
        ([[60, 10, 20], [60, 20, 30]], [0], "it has 3.0 times the work of the others"),
        ([[60, 0, 0], [60, 0, 0]], [0], "it has all the work"),
        ([[60, 50], [60, 50]], [0, 1], "it has all the work"),
    ],
)
def test_how_much_more_work_a_late_device_has(work, late, told):
    communication = SimpleNamespace(work_ps=np.array(work) * MS, number=np.zeros(len(work)))
    how, which, shown = straggler._more_work(run_of(communication), 0, late)
    assert (how, which, shown[0].value) == ("is late", f"; {told}", 60.0)
    assert shown[1].value == (20.0 if len(work[0]) == 3 and work[0][1] else 0.0)


def late_device(
    monkeypatch, *, lost=200, late=(1,), work=True, more=True, delayed=False, on_cpus=False, explained=False,
    devices=4, sums=(1,), of_budget=4, work_ps=((1, 2, 9, 4), (3, 2, 9, 0)), caused=(70, 10, 10, 10),
):  # fmt: skip
    """The verdict on late devices, whose numbers are positions."""
    for name, value in {
        "_lost": Lost(lost * US, lost * US / STEP, ("idle_peer",)), "_runs_more": more, "_delayed": delayed,
        "explains": explained, "most_waited_in": (),
    }.items():  # fmt: skip
        monkeypatch.setattr(straggler, name, lambda *given, value=value: value)
    monkeypatch.setattr(straggler, "_name", lambda run, device: (f"device {device}", ("a",)))
    monkeypatch.setattr(straggler, "_more_work", lambda run, first, indices: ("works", f"; {indices}", []))
    monkeypatch.setattr(straggler, "_arrives_late", lambda run, late: ("is late", "", []))
    stragglers = tuple(SimpleNamespace(index=one, work=9 if work else None, before=None) for one in late)
    communication = SimpleNamespace(
        devices=range(devices), sums=sums, stragglers=stragglers, work_ps=np.array(work_ps) * US,
        caused_ps=np.array(caused) * US,
    )  # fmt: skip
    run = run_of(communication, devices=of_budget)
    run.on_cpus = on_cpus
    return straggler.judge(run, [])


@pytest.mark.parametrize(
    ("given", "title", "confidence"),
    [
        # From a twentieth on of one with more work, of several that with most;
        ({"lost": 50}, "device 1 works: the others wait 5.0% of the step; [1]", "high"),
        ({"lost": 49}, None, None),
        ({"late": (1, 2, 3)}, "device 2 works: the others wait 20.0% of the step; [1, 2, 3]", "high"),
        ({"late": (1, 0)}, "device 1 works: the others wait 20.0% of the step; [1, 0]", "high"),
        ({"more": False}, None, None),
        ({"explained": True, "delayed": True, "on_cpus": True},
         "device 1 works: the others wait 20.0% of the step; [1]", "high"),
        # from a tenth on of one without, the first of several.
        ({"work": False, "lost": 100}, "device 1 is late: the others wait 10.0% of the step", "medium"),
        ({"work": False, "lost": 99}, None, None),
        ({"work": False, "late": (1, 2)}, "device 1 is late: the others wait 20.0% of the step", "medium"),
        ({"work": False, "more": False}, "device 1 is late: the others wait 20.0% of the step", "medium"),
        ({"work": False, "explained": True}, None, None),
        ({"work": False, "delayed": True}, "device 1 is late: the others wait 20.0% of the step", "medium"),
        ({"work": False, "on_cpus": True}, "device 1 is late: the others wait 20.0% of the step", "low"),
        ({"work": False, "on_cpus": True, "delayed": True}, None, None),
        ({"late": ()}, None, None),
    ],
)  # fmt: skip
def test_from_which_share_of_the_step_others_wait_for_a_late_device(monkeypatch, given, title, confidence):
    found = late_device(monkeypatch, **given)
    if title is None:
        assert isinstance(found, Silence)
        assert found.looked
    else:
        assert (found.title, found.confidence, found.hosts) == (title, confidence, ("a",))
        assert found.advice is (straggler.LATE if given.get("work") is False else straggler.ADVICE)


@pytest.mark.parametrize(
    ("work", "caused", "told"),
    [
        # None has caused four fifths of the waits.
        ([[2, 4, 4, 4], [2, 4, 4, 14]], (11, 79, 10, 0), ", for different ones in turn; the busiest has 2.25"),
        ([[2, 4, 4, 4], [2, 4, 4, 14]], (10, 80, 10, 0), "; the busiest has 2.25"),
        ([[0, 0, 0, 9]], (90, 5, 5, 0), "; the busiest has 0.00"),
    ],
)
def test_waits_for_no_device_in_particular(monkeypatch, work, caused, told):
    found = late_device(monkeypatch, late=(), work_ps=work, caused=caused)
    assert found.reason == f"Devices wait 20.0% of the step for others{told} times the median work."


@pytest.mark.parametrize(
    ("given", "looked"),
    [
        ({"devices": 1}, True),
        ({"sums": ()}, True),
        ({"devices": 1, "of_budget": 1}, False),
        ({"sums": (), "of_budget": 2}, True),
        ({"sums": (), "of_budget": 0}, False),
    ],
)
def test_without_collectives_no_device_is_late(monkeypatch, given, looked):
    found = late_device(monkeypatch, **given)
    assert (found.reason, found.looked) == ("No collectives of several devices recorded.", looked)
    assert not isinstance(late_device(monkeypatch, devices=2), Silence)


def test_waits_for_the_start_happen_once():
    """Of 400 us per step and device, 100 us of two steps were waits for a device to start."""
    begin = np.array([[0, 0], [1000, 1000]]) * US
    first = [SimpleNamespace(device=0, begin_ps=5 * US, wait_ps=100 * US)]
    communication = SimpleNamespace(first_waits=first, devices=(0, 1))
    run = run_of(communication, lost=400)
    run.budget.begin_ps, run.budget.duration_ps = begin, np.full((2, 2), 1000 * US)
    assert straggler._lost(run).ps == 350 * US
    communication.devices = (0, 1, 2)
    assert straggler._lost(run).ps == 400 * US
    communication.devices, communication.first_waits = (0, 1), []
    assert straggler._lost(run).ps == 400 * US


def test_the_idle_time_of_a_device_that_comes_late():
    """Waits for others are no reason."""
    idle = np.zeros((2, len(CATEGORIES)))
    idle[1, [IDLE_HOST, IDLE_INPUT, IDLE_PEER, 0]] = np.array([30, 20, 50, 90]) * MS
    run = run_of(SimpleNamespace(devices=("x", "y")), devices=2)
    run.budget.devices, run.budget.of_devices_ps = ("x", "y"), (np.zeros((2, len(CATEGORIES))), idle)
    late = (Straggler(1, 0, 0.4, 1.5, None), Straggler(0, 0, 0.35, None, None))
    how, which, shown = straggler._arrives_late(run, late)
    assert (how, which) == ("arrives late at collectives", "")
    assert [(one.value, one.unit) for one in shown] == [(75.0, "%"), (30.0, "ms"), (1.5, "")]
    assert shown[1].query == {"part": "idle_host"}
    assert straggler._arrives_late(run, late[::-1])[2][-1].value == 0.0


# Barriers.


@pytest.mark.parametrize(("percent", "finds"), [(10.0, True), (9.99, False)])
def test_barriers_from_a_tenth_of_the_step(percent, finds):
    first, second = (
        BarrierTime(name, (percent / 100,), (percent / 100,), times)
        for name, times in (("a", (5 * MS, 7 * MS)), ("b", (1 * MS, 4 * MS)))
    )
    found = barrier.judge(run_of(), [first, second])
    assert isinstance(found, Finding) == finds
    if finds:
        longest = found.evidence[1]
        assert (longest.value, longest.query["host"], longest.query["window"]) == (
            3.0,
            "b",
            f"0,{7 * MS}",
        )  # with as much around it
        assert found.saving_ps == pytest.approx(100 * US)


# Exposed communication.


def exposed(monkeypatch, *, lost=200, shared=(0, 0), instances=(2, 1), steps=1, on_cpus=False, devices=True):
    """The verdict on collectives with so many runs; `shared`: us of each host in which others use the same cores."""
    monkeypatch.setattr(exposed_communication, "most_of_it", lambda run, sums, origins, more: (" m", ()))
    monkeypatch.setattr(exposed_communication, "_numbers", lambda one: [])
    monkeypatch.setattr(exposed_communication, "origins_of", lambda parts: {})
    sums = [SimpleNamespace(instances=one) for one in instances]
    run = run_of(SimpleNamespace(sums=sums, number=range(steps)), lost=lost)
    run.on_cpus, run.has_devices = on_cpus, devices
    return exposed_communication.judge(run, [SimpleNamespace(shared_ps=us * US) for us in shared])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"lost": 100}, ("high", 100)),
        ({"lost": 99}, "takes 9.9% of the step."),
        # What CPUs do while others use their cores does not count: of two cells.
        ({"lost": 200, "shared": (150, 50)}, ("high", 200)),
        ({"lost": 200, "shared": (150, 52)}, "9.9% while no other"),
        # CPUs that exchange at most three times per step.
        ({"on_cpus": True, "lost": 450}, ("high", 450)),
        ({"on_cpus": True, "lost": 449}, ("low", 0)),
        ({"on_cpus": True, "lost": 250}, ("low", 0)),
        ({"on_cpus": True, "lost": 249}, "in 3.0 collectives per step of CPUs"),
        ({"on_cpus": True, "lost": 249, "instances": (3, 4), "steps": 2}, ("high", 249)),
        ({"on_cpus": True, "lost": 249, "instances": (3, 3), "steps": 2}, "in 3.0 collectives"),
        ({"on_cpus": True, "lost": 249, "instances": (3,), "steps": 0}, "in 3.0 collectives"),
        ({"lost": 249}, ("high", 249)),
        ({"instances": ()}, True),
        ({"instances": (), "devices": False}, False),
    ],
)
def test_communication_that_no_computation_hides(monkeypatch, given, expected):
    found = exposed(monkeypatch, **given)
    if isinstance(expected, tuple):
        assert (found.confidence, found.saving_ps) == (expected[0], expected[1] * US)
    elif isinstance(expected, bool):
        assert found.looked is expected
    else:
        assert expected in found.reason


@pytest.mark.parametrize(
    ("total", "exposed_", "numbers"),
    [
        (80, 20, {"Time of this collective hidden by computation": 75.0, "Bytes per device and run": 64}),
        (0, 0, {"Bytes per device and run": 64}),
    ],
)
def test_numbers_of_a_collective(monkeypatch, total, exposed_, numbers):
    monkeypatch.setattr(exposed_communication, "bandwidth", lambda sums: (64, None))
    monkeypatch.setattr(exposed_communication, "of_collective", lambda key, label, value, unit: (label, value))
    sums = SimpleNamespace(exposed_ps=exposed_, total_ps=total, key="k")
    assert dict(exposed_communication._numbers(sums)) == numbers


# Collectives that change shardings.


def changed(monkeypatch, *collectives, lost=400, shared=(0,), known=True):
    """The verdict on collectives of (us exposed, whether the compiler inserted it)."""
    keys = [SimpleNamespace(name=f"c{i}", program=5, kind=f"kind {i}") for i in range(len(collectives))]
    sums = [SimpleNamespace(key=key, own_exposed_ps=us * US) for key, (us, _) in zip(keys, collectives, strict=True)]
    origins = {
        (key.name, 5): SimpleNamespace(inserted=inserted, evidence=(), change=key.name)
        for key, (_, inserted) in zip(keys, collectives, strict=True)
    }
    monkeypatch.setattr(resharding, "origins_of", lambda parts: origins if known else {})
    monkeypatch.setattr(resharding, "most_of_it", lambda run, ours, origins, more: (f" in {len(ours)}", ()))
    run = run_of(SimpleNamespace(sums=sums), lost=lost)
    run.has_devices = False
    return resharding.judge(run, [SimpleNamespace(shared_ps=us * US) for us in shared])


@pytest.mark.parametrize(
    ("collectives", "more", "expected"),
    [
        # Three quarters of 400 us of exposed communication.
        ([(100, False), (200, True), (100, True)], {}, ("30.0% of the step in 2: c1", 30.0)),
        ([(100, True), (200, True), (100, False)], {}, ("30.0% of the step in 2: c1", 30.0)),
        ([(100, True), (100, False)], {}, ("20.0% of the step in 1: c0", 20.0)),
        ([(99, True), (100, False)], {}, "take 19.9% of the step, 50% of"),
        ([(10, True)], {"lost": 100}, ("10.0% of the step in 1: c0", 10.0)),
        ([(10, True)], {"lost": 99}, "take 9.9% of the step, 100% of"),
        # Half of it in time in which others use the same cores, of two cells.
        ([(10, True)], {"lost": 200, "shared": (150, 50)}, ("20.0% of the step in 1: c0", 20.0)),
        ([(10, True)], {"lost": 200, "shared": (150, 52)}, "take 20.0% of the step, 100% of"),
        ([(30, True), (10, False)], {"lost": 200, "shared": (100,)}, ("15.0% of the step in 1: c0", 15.0)),
        ([(0, True)], {}, "take 0.0% of the step, 0% of"),
        ([], {}, False),
        ([(10, True)], {"known": False}, False),
    ],
)
def test_collectives_that_change_shardings(monkeypatch, collectives, more, expected):
    found = changed(monkeypatch, *collectives, **more)
    if isinstance(expected, tuple):
        title, value = expected
        assert (found.title, found.evidence[0].value) == (f"Changing shardings takes {title}", pytest.approx(value))
    elif expected is False:
        assert not found.looked
    else:
        assert expected in found.reason
