"""Lost time and the parts of a typed-in time budget that it lies in; how evidence names where it shows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES, PARTS
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common.reasons import ONE_DEVICE
from tpu_profile_plugin.analysis.common.spans import PartTimes
from tpu_profile_plugin.analysis.devices.model import RunDevice
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.lost import Lost, located, lost_to, share_within, within
from tpu_profile_plugin.analysis.findings.model import Advice, Finding, OpOf
from tpu_profile_plugin.analysis.findings.places import cell, in_timeline, most_in, most_label, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView

MS = 10**9


def by_part(between=0, **ps):
    """A time by part, the last between steps."""
    return np.array([*(ps.get(name, 0) for name in CATEGORIES), between], np.int64)


def budget(between=0, **ps):
    """Three steps of one device that are spent alike, and what the times between them are spent on."""
    inside = {name: us for name, us in ps.items() if not name.startswith("between_")}
    outside = {name.removeprefix("between_"): us for name, us in ps.items() if name.startswith("between_")}
    time = np.repeat(by_part(**inside)[:-1, None, None], 3, axis=1)
    length = time.sum(axis=0)
    gap = between or sum(outside.values())
    return RunBudget(
        (0,), (RunDevice("TPU 0", 0, "tpu"),), np.arange(3), ("", "", ""),
        np.arange(3)[:, None] * (length + gap), length, PartTimes.of(PARTS, time),
        np.ones((3, 1), np.bool_), np.array([2 * gap]), 2 * by_part(**outside)[None, :-1],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        # A twentieth of it between steps is told with it.
        (10, Lost(200.0, 200 / 1110, ("idle_host", BETWEEN))),
        (9, Lost(190.0, 190 / 1110, ("idle_host",), whole=True)),
    ],
)
def test_time_between_steps_counts_if_much_of_the_time_is_there(between, expected):
    run = budget(compute=810, idle_host=190, between_idle_host=between, between_idle_other=110 - between)
    assert lost_to(run, "idle_host") == expected


def test_a_twentieth_is_of_all_of_the_time():
    """1 of 20.5 is less than a twentieth, though more than that of what is in steps."""
    run = budget(compute=80_500, idle_host=19_500, between_idle_host=1_000, between_idle_other=9_000)
    assert lost_to(run, "idle_host").segments == ("idle_host",)


def test_parts_without_time_are_not_named():
    run = budget(compute=700, idle_host=100, idle_input=200)
    assert lost_to(run, "idle_input", "idle_compile", "idle_host") == Lost(300.0, 0.3, ("idle_input", "idle_host"))
    assert lost_to(run, "idle_compile", "input_copy") == Lost(0.0, 0.0, ("idle_compile",), whole=True)
    assert lost_to(run, "host_compute") == Lost(100.0, 0.1, ("host_compute",), whole=True)


@pytest.mark.parametrize(
    ("ps", "segments", "expected"),
    [
        (100.0, ("idle_host",), Lost(100.0, 0.1, ("idle_host",), whole=True)),
        (99.9, ("idle_host",), Lost(99.9, 0.0999, ("idle_host",))),
        # At most what the parts have, and all of it but for rounding is all.
        (100.1, ("idle_host",), Lost(100.0, 0.1, ("idle_host",), whole=True)),
        (99.99995, ("idle_host",), Lost(99.99995, 0.09999995, ("idle_host",), whole=True)),
        (-5.0, ("idle_host",), Lost(0.0, 0.0, ("idle_host",))),
        (300.0, ("idle_host", "idle_input"), Lost(300.0, 0.3, ("idle_host", "idle_input"))),
        # A part within a group counts once.
        (900.0, ("input", "idle_input"), Lost(200.0, 0.2, ("input", "idle_input"))),
    ],
)
def test_time_within_parts(ps, segments, expected):
    found = within(budget(compute=700, idle_host=100, idle_input=200), ps, segments)
    assert (found.ps, found.segments, found.whole) == (expected.ps, expected.segments, expected.whole)
    assert found.share == pytest.approx(expected.share)


def test_a_time_is_located_in_the_parts_that_have_a_twentieth_of_it():
    """Sums over three steps, and over the two times between them."""
    run = budget(compute=700, idle_host=100, idle_input=200, between_idle_other=100)
    found = located(run, by_part(between=2 * 5, compute=3 * 90, idle_host=3 * 5))
    assert found == Lost(100.0, 100 / 1100, ("compute", "idle_host", BETWEEN))
    assert located(run, by_part(compute=3 * 96, idle_host=3 * 4)) == Lost(100.0, 100 / 1100, ("compute",))


def test_the_share_of_parts_that_a_time_takes():
    run = budget(compute=700, idle_host=100, idle_input=200, between_idle_other=100)
    time = by_part(between=20, idle_host=40, idle_input=30, compute=7).astype(np.float64)
    assert share_within(run, time, ("idle_host",)) == 0.4
    assert share_within(run, time, ("host_compute", "idle_input")) == pytest.approx(70 / 300)
    assert share_within(run, time, ("idle_host", BETWEEN)) == pytest.approx(60 / 200)
    assert share_within(run, 9 * time, ("idle_host",)) == 1.0


# Where something shows.


def test_the_longest_run_of_an_op_in_the_timeline():
    op = OpOf("dot.1", 7)
    (found,) = in_timeline("h0", op, (3 * MS, 5 * MS))
    assert (found.value, found.unit, found.op) == (2.0, "ms", op)
    assert found.query == {"host": "h0", "window": f"{MS},{7 * MS}", "find": "dot.1"}
    assert timeline("h0", MS, 5 * MS) == {"host": "h0", "window": f"0,{9 * MS}"}
    assert in_timeline("h0", op, None) == []


def test_separators_of_addresses_are_escaped_in_cells():
    assert cell("name", r"a,b;c~d\e f") == r"name~a\,b\;c\~d\\e f"


def test_most_of_it_is_more_than_half():
    half, more = most_label(0.5), most_label(0.51)
    assert ("most" in half.lower(), "most" in more.lower()) == (False, True)
    assert [most_in("dot.1", share).startswith(", most of it in dot.1") for share in (0.5, 0.51)] == [False, True]
    assert "50%" in most_in("dot.1", 0.5)


def verdict_of(*losses, least=0.05, group=""):
    """The verdict on hosts that lose so much of 1000 ms, with what makes it harmless and what the profile lacks."""
    given = [
        one and HostLoss(by_part(idle_host=one[0] * MS), "w", (), Advice(one[1]), harmless=one[1], lacking=one[2])
        for one in losses
    ]
    run = SimpleNamespace(
        base="step", per="step",
        present=lambda parts: [(one, host) for one, host in zip(parts, "abc", strict=False) if one is not None],
        located=lambda times: Lost(sum(map(np.sum, times)), float(sum(map(np.sum, times))) / MS / 1000, ("idle_host",)),
        lost_within=lambda name, times: Lost(7.0, 0.7, (name,)),
    )  # fmt: skip
    return verdict(
        run, given, title="{what} {share} of the {base}", label="l", formula="f", nothing="none of the {base}",
        little="{share}", least=least, group=group,
    )  # fmt: skip


def test_the_host_that_loses_most():
    found = verdict_of((20, "", None), None, (30, "", None))
    assert isinstance(found, Finding)
    assert (found.title, found.hosts, found.saving_ps) == ("w 5.0% of the step", ("c",), 50 * MS)
    assert verdict_of((49, "", None)).reason == "4.9%"
    assert verdict_of((100, "", None), least=0.1).title == "w 10.0% of the step"
    assert verdict_of((1, "", None), group="idle").title == "w 70.0% of the step"
    assert verdict_of(None).reason == verdict_of().reason == "none of the step"
    fine = verdict_of((300, "{share} is fine", None), (299, "", None))
    assert (fine.reason, fine.looked, fine.missing) == ("59.9% is fine", True, None)
    unknown = verdict_of((300, "{share} may be fine", ONE_DEVICE))
    assert (unknown.reason, unknown.looked, unknown.missing) == ("30.0% may be fine", False, ONE_DEVICE)


def test_parts_of_the_step_and_the_time_between_steps_largest_first():
    view = RunView(("h",), None, budget(compute=600, idle_host=100, idle_input=200, between_idle_host=300), None)
    shares = [(name, round(1200 * share)) for name, share in view.parts() if share]
    assert shares == [("compute", 600), (BETWEEN, 300), ("idle_input", 200), ("idle_host", 100)]
    groups = {name: round(1200 * share) for name, share in view.group_shares().items() if share}
    assert (groups[BETWEEN], sum(groups.values())) == (300, 1200)


@pytest.mark.parametrize(
    ("kinds", "devices", "cpus"),
    [
        (("cpu",), True, True),
        (("cpu", "host"), True, True),
        (("cpu", "tpu"), True, False),
        (("gpu",), True, False),
        (("host",), False, False),
        ((), False, False),
    ],
)
def test_runs_whose_devices_are_cpus(kinds, devices, cpus):
    given = SimpleNamespace(devices=[SimpleNamespace(kind=kind) for kind in kinds])
    view = RunView(("h",), None, given, None)
    assert (view.has_devices, view.on_cpus, view.waiting) == (
        devices, cpus, "Devices wait" if devices else "The host waits",
    )  # fmt: skip


def test_time_of_parts_of_the_step():
    view = RunView(("h", "g"), None, budget(compute=600, idle_host=100, idle_input=300), None)
    assert view.lost_in("idle_host", "output_copy", "idle_input") == Lost(400.0, 0.4, ("idle_host", "idle_input"))
    assert view.lost_in("output_copy", "input_copy") == Lost(0.0, 0.0, ("output_copy",), whole=True)
    assert view.lost_in("idle_host", ps=50.0) == Lost(50.0, 0.05, ("idle_host",))
    assert view.lost_in("idle_input") == Lost(300.0, 0.3, ("idle_input",), whole=True)
    assert (view.share(250), view.cells) == (0.25, 3)
    empty = RunView(("h",), None, SimpleNamespace(base_ps=0, cells=0), None)
    assert (empty.share(250), empty.cells) == (0.0, 1)
    assert view.present([None, 4]) == [(4, "g")]
    of_hosts = RunView(
        ("h", "g", "i"), None, None, SimpleNamespace(devices=[SimpleNamespace(host=i) for i in (0, 1, 0)])
    )
    assert [of_hosts.devices_of(name) for name in ("h", "g", "i")] == [[0, 2], [1], []]


def test_times_of_hosts_that_lie_in_a_group():
    """Of three steps."""
    view = RunView(("h",), None, budget(compute=600, idle_host=100, idle_input=300), None)
    assert view.lost_within("idle_host", [by_part(idle_host=30), by_part(idle_host=60)]).ps == 30.0
    assert view.lost_within("idle_host", []).ps == 0.0
    assert view.located([by_part(idle_host=30), by_part(idle_input=60)]) == Lost(
        30.0, 0.03, ("idle_input", "idle_host")
    )  # fmt: skip
    assert view.located([]).ps == 0.0


@pytest.mark.parametrize(
    ("labels", "event", "functions", "keras"),
    [
        (("Profiled batch 3", "x"), None, (), True),
        (("x", "Profiled batch 3"), None, (), False),
        ((), "Profiled batch", (), True),
        ((), "train", (), False),
        (("x",), None, ("g", "one_step_on_data_12"), True),
        (("x",), None, ("train_function",), True),
        (("x",), None, ("train_function_2",), False),
        (("Profiled batch 3",), "train", ("g",), True),
        ((), None, (), False),
    ],
)
def test_runs_of_keras(labels, event, functions, keras):
    given = SimpleNamespace(labels=labels, evidence=event and SimpleNamespace(event=event))
    summary = SimpleNamespace(functions=[SimpleNamespace(name=name) for name in functions])
    assert RunView(("h",), summary, given, None).keras is keras


@pytest.mark.parametrize(
    ("sources", "whole", "per"), [({"recording"}, True, "recording"), ({"host", "recording"}, True, "recording"),
    ({"host"}, False, "step"), (set(), False, "step")],
)  # fmt: skip
def test_runs_whose_whole_recording_counts_as_a_step(sources, whole, per):
    view = RunView(("h",), None, SimpleNamespace(sources=sources), None)
    assert (view.whole_recording, view.per) == (whole, per)
