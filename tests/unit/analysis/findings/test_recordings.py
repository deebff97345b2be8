"""Findings about the recording: steps that are not marked, that are only dispatch, and parts that are missing."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from builders.profiles.planted import cpu, evidence, finding, findings, reason
from builders.xspace_text import build

from tpu_profile_plugin.analysis.findings.model import Finding
from tpu_profile_plugin.analysis.findings.rules.recording import (
    dispatch_only_steps,
    steps_not_marked,
    truncated_trace,
)
from tpu_profile_plugin.columns import load, load_lazily

RULES = ("steps_not_marked", "dispatch_only_steps", "truncated_trace")


def quiet(profile, *speaking):
    """The findings about the recording are these, and none costs time."""
    found = [one for one in findings(profile)["findings"] if one["id"] in RULES]
    assert [one["id"] for one in found] == list(speaking)
    assert all(one["saving_ps_per_step"] == 0 for one in found)
    return found[0] if found else None


def unmarked(text):
    return "\n".join(line for line in text.splitlines() if " train " not in line)


def test_marked_steps_are_complete():
    quiet(cpu("0 9 PjitFunction(f)", "9 990 dot.1"))
    assert reason("steps_not_marked", cpu("0 9 PjitFunction(f)", "9 990 dot.1")) == "4 steps are marked."


def test_steps_that_are_inferred():
    found = quiet(unmarked(cpu("0 9 PjitFunction(f)", "9 900 dot.1", steps=8)), "steps_not_marked")
    event = evidence(found)["Event that steps are inferred from"]
    assert found["title"] == f"Steps are not marked; they are inferred from {event}"
    assert evidence(found)["Occurrences of this event"] == 8
    assert "jax.profiler.StepTraceAnnotation" in found["advice"]


def test_keras_marks_batches_without_step_numbers():
    text = cpu("0 9 PjitFunction(f)", "9 900 dot.1", steps=8).replace(
        " train {_r=1, step_num=", ' "Profiled batch" {n='
    )
    quiet(text)


def test_events_with_step_numbers_are_marks_whatever_their_name():
    text = cpu("0 9 PjitFunction(f)", "9 900 dot.1", steps=8)
    quiet(text.replace(" train {_r=1, step_num=", " simulate {step_num="))
    unnumbered = text.replace(" train {_r=1, step_num=", " simulate {n=")
    assert "inferred from simulate" in quiet(unnumbered, "steps_not_marked")["title"]


def test_no_steps_at_all():
    found = quiet(unmarked(cpu("0 9 PjitFunction(f)", "9 900 dot.1", steps=1)), "steps_not_marked")
    assert found["title"] == "Steps are not marked; the whole recording counts as one step"
    assert evidence(found) == {"Length of the recording": 0.9}
    empty = 'plane 1 "/host:CPU"\nline 1 main\n0us +5us work'
    assert finding("steps_not_marked", empty)["title"] == "The profile has no steps"


def dispatched(*, marked=True):
    """4 steps of 1 ms are marked for 0.1 ms, of a GPU without links to its launches; it goes on for 4 ms."""
    main = "\n".join(f"{1000 * i}us +100us train {{_r=1, step_num={i}}}" for i in range(4) if marked)
    kernels = "\n".join(f"{1000 * i + 50}us +900us dot" for i in range(4))
    gpu = f'plane 2 "/device:GPU:0"\nline 1 "Stream #1"\n{kernels}\n3960us +4000us dot'
    return f'plane 1 "/host:CPU"\nline 1 python\n{main}\n{gpu}'


def test_steps_that_are_only_dispatch():
    found = quiet(dispatched(), "dispatch_only_steps")
    assert evidence(found) == {
        "Average step, from the devices' work": 1.99,
        "From the first marker to the end of the last": 3.1,
        "From the first marker to the end of the work": 7.96,
    }
    assert "wait for the result of a step before its marker ends" in found["advice"]


def test_steps_are_only_dispatch_where_they_are_marked_on_a_device():
    quiet(dispatched(marked=False), "steps_not_marked")
    text = cpu("0 50 PjitFunction(f)", "50 900 dot.1", lasting=100)
    text += '\n3960us +4000us dot.1 {hlo_op="dot.1", device_ordinal=0, program_id=7, run_id=99}'
    quiet(text)


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        ("Dropped 120 events because a buffer was full", True),
        ("GPU activity buffer limit exceeded", True),
        ("Trace was truncated", True),
        ("No TensorCore device trace was collected", False),
        ("Buffer donation is not implemented", False),
    ],
)
def test_what_the_profiler_reports(text, speaks):
    found = quiet(f'{cpu("0 9 PjitFunction(f)", "9 990 dot.1")}\nwarning "{text}"', *["truncated_trace"] * speaks)
    if speaks:
        assert evidence(found) == {"The profiler reports": text}


def test_impossible_times():
    text = cpu("0 9 PjitFunction(f)", "9 990 dot.1") + "\n4000us +-5us broken"
    found = quiet(text, "truncated_trace")
    assert found["title"] == "Parts of the recording are missing: 1 event has impossible times"


@pytest.mark.parametrize(("last", "missing"), [(10, 0), (9, 0), (8, 0), (7, 2), (5, 4)])
def test_a_device_that_stops_while_steps_go_on(last, missing):
    """Markers of 10 steps, of which the first and the last do not count, ops in the first `last`."""
    text = cpu("0 9 PjitFunction(f)", "9 990 dot.1", steps=10)
    kept = [line for line in text.splitlines() if "hlo_op" not in line or int(line.split("us")[0]) < 1000 * last]
    found = quiet("\n".join(kept), *["truncated_trace"] * bool(missing))
    if found:
        assert found["title"].endswith(f"CPU device 0 has no events in the last {missing} of 8 steps")


def test_a_device_that_follows_late_has_not_stopped():
    text = cpu("0 9 PjitFunction(f)", "50 20 dot.1\n200 600 dot.2", steps=20, lasting=100)
    within = [line for line in text.splitlines() if "dot.1" not in line or int(line.split("us")[0]) < 10_000]
    quiet("\n".join(within))
    stopped = [line for line in within if "dot.2" not in line or int(line.split("us")[0]) < 10_000]
    quiet("\n".join(stopped), "truncated_trace")


# Verdicts on typed-in runs.

MS = 10**9


def verdict(rule, run, gathered=()):
    """The title of what a rule finds, its evidence and what it is silent about."""
    found = rule.judge(SimpleNamespace(**run), gathered)
    if isinstance(found, Finding):
        return found.title, [one.value for one in found.evidence]
    return found.reason, found.looked


FIRED = SimpleNamespace(event="f", occurrences=9)
FROM_EVENT = "Steps are not marked; they are inferred from f"


@pytest.mark.parametrize(
    ("gathered", "more", "expected"),
    [
        ([None, None], {"has_devices": False}, ("Nothing but allocations was recorded.", True)),
        ([None, False], {"has_devices": False}, ("The profile has no steps", [])),
        ([], {"has_devices": False}, ("The profile has no steps", [])),
        ([False], {"has_devices": False, "merged": 2}, ("Steps are marked.", True)),
        ([False], {"has_devices": False, "recordings": (None, 1)}, ("Steps are marked.", True)),
        ([False], {"has_devices": False, "recordings": (None,)}, ("The profile has no steps", [])),
        ([False], {"has_devices": False, "evidence": FIRED, "merged": 2}, (FROM_EVENT, ["f", 9])),
        ([None], {}, ("8 steps are marked.", True)),
        ([False], {"evidence": FIRED}, (FROM_EVENT, ["f", 9])),
        ([False, True], {"evidence": FIRED}, ("f marks 8 steps.", True)),
        ([False], {"evidence": FIRED, "inferred": False}, ("f marks 8 steps.", True)),
        ([False], {"sources": {"recording"}},
         ("Steps are not marked; the whole recording counts as one step", [7.0])),
        ([False], {"sources": {"host"}}, ("8 steps are marked.", True)),
    ],
)  # fmt: skip
def test_where_steps_come_from(gathered, more, expected):
    given = {"has_devices": True, "evidence": None, "inferred": True, "sources": {"host"}, "merged": 0, **more}
    budget = SimpleNamespace(sources=given["sources"], evidence=given["evidence"], left_out=3, step_ps=7 * MS)
    summary = SimpleNamespace(merged_steps=[0] * given["merged"], recordings=given.get("recordings", ()))
    run = {"budget": budget, "summary": summary, "steps": 5}
    run |= {name: given[name] for name in ("has_devices", "inferred")}
    assert verdict(steps_not_marked, run, gathered) == expected


@pytest.mark.parametrize("read", [load, load_lazily])
@pytest.mark.parametrize(
    ("events", "evidence", "numbered"),
    [
        ("1us +1us f {step_num=0}\n3us +1us g", "f", True),
        ("1us +1us g {step_num=0}\n3us +1us f", "f", False),
        ("1us +1us f {step_num=0}\n3us +1us g", "g", False),
        ("1us +1us f", "f", False),
        ("1us +1us f {step_num=0}", None, False),
        ("1us +1us MemoryAllocation {bytes_allocated=1}", "f", None),
    ],
)
def test_whether_the_event_of_the_steps_has_numbers(read, events, evidence, numbered):
    space = read(build(f'plane 1 "/host:CPU"\nline 1 main\n{events}'))
    proof = evidence and SimpleNamespace(event=evidence)
    host = SimpleNamespace(steps=SimpleNamespace(evidence=proof), plane=space.planes[0], space=space)
    assert steps_not_marked.gather(host) is numbered


def test_without_a_host_or_steps_no_event_has_numbers():
    space = load(build('plane 1 "/host:CPU"\nline 1 main\n1us +1us f {step_num=0}'))
    steps = SimpleNamespace(evidence=SimpleNamespace(event="f"))
    assert steps_not_marked.gather(SimpleNamespace(steps=steps, plane=None, space=space)) is False
    assert steps_not_marked.gather(SimpleNamespace(steps=None, plane=space.planes[0], space=space)) is False


@pytest.mark.parametrize(
    ("sources", "steps", "dispatches", "expected"),
    [
        ({"host"}, 1, (), ("Work ends with the markers of the steps.", True)),
        ({"host"}, 0, ((3, 9),), ("Work ends with the markers of the steps.", False)),
        ({"dispatch"}, 4, (None, ()), [5.0]),
        ({"dispatch"}, 4, ((3, 8), None, (2, 9), ()), [5.0, 2.0, 9.0]),
        ({"dispatch"}, 4, ((3, 9), (2, 8)), [5.0, 3.0, 9.0]),
    ],
)
def test_markers_during_which_work_is_only_dispatched(sources, steps, dispatches, expected):
    """Per host how long the markers and the work last; None without a recording, () without such markers."""
    recordings = [
        one and SimpleNamespace(dispatch=SimpleNamespace(steps_ps=one[0] * MS, work_ps=one[1] * MS))
        if one != () else SimpleNamespace(dispatch=None)
        for one in dispatches
    ]  # fmt: skip
    hosts = tuple("abcd"[: len(dispatches)])
    run = {"summary": SimpleNamespace(recordings=recordings), "hosts": hosts, "steps": steps}
    found = verdict(dispatch_only_steps, {**run, "budget": SimpleNamespace(sources=sources, step_ps=5 * MS)})
    assert (found if isinstance(expected, tuple) else found[1]) == expected


def lost(*lines, left_out=0, shortened=0, steps=20, warnings=()):
    """The verdict on hosts of (device, its silent steps, lost launches, launches)."""
    impossible = [SimpleNamespace(left_out=left_out, shortened=shortened), SimpleNamespace(left_out=0, shortened=0)]
    summary = SimpleNamespace(errors=(), warnings=warnings, impossible=impossible)
    gathered = [((device, silent), (some, all_)) for device, silent, some, all_ in lines or [("", 0, 0, 0)]]
    return verdict(truncated_trace, {"summary": summary, "budget": range(steps)}, gathered)


def test_what_is_missing_is_in_the_title():
    start = "Parts of the recording are missing: "
    assert lost() == (
        "The profiler reports no lost events, and all devices are recorded to the end.", True
    )  # fmt: skip
    # Lost launches from a fiftieth of all hosts' on,
    assert lost(("", 0, 1, 30), ("", 0, 1, 70))[1] is True
    assert lost(("", 0, 1, 30), ("", 0, 1, 69)) == (f"{start}2 of 99 launches have no event of the device", [2])
    # also of a device that is silent at the end; of several the one with most steps.
    silent = ("TPU 0", 3, 0, 0), ("TPU 1", 4, 0, 0), ("TPU 2", 2, 0, 0)
    assert lost(*silent) == (f"{start}TPU 1 has no events in the last 4 of 20 steps", [4])
    assert lost(*silent, ("", 0, 9, 10)) == (f"{start}9 of 10 launches have no event of the device", [9, 4])
    # Messages come before times.
    assert lost(left_out=1) == (f"{start}1 event has impossible times", [1])
    assert lost(left_out=3, shortened=2) == (f"{start}5 events have impossible times", [5])
    told = "Dropped 120 events"
    assert lost(shortened=2, warnings=(told,)) == (f"{start}the profiler reports lost events", [told, 2])


def test_launches_without_an_event_of_all_devices(monkeypatch):
    class Unrecorded(list):
        recorded = 0

    one, other = Unrecorded([5, 7]), Unrecorded()
    one.recorded, other.recorded = 10, 4
    monkeypatch.setattr(truncated_trace, "_silent", lambda host: ("x", 2))
    host = SimpleNamespace(budget=SimpleNamespace(unrecorded=[one, other]))
    assert truncated_trace.gather(host) == (("x", 2), (2, 16))


@pytest.mark.parametrize(
    ("busy", "end", "expected"),
    [
        # A fifth of the steps, at least two,
        ([8, 10], 0, ("d0", 2)),
        ([9, 10], 0, ("", 0)),
        ([10, 8], 0, ("d1", 2)),
        ([10, 7, 6], 0, ("d2", 4)),
        ([3, 4], 0, ("d0", 2)),
        ([4, 5], 0, ("", 0)),
        ([16, 20], 0, ("d0", 4)),
        ([17, 20], 0, ("", 0)),
        # of a device that worked before, and not after the first of them began.
        ([0, 10], 0, ("", 0)),
        ([0, 0], 0, ("", 0)),
        ([8, 10], 800, ("d0", 2)),
        ([8, 10], 801, ("", 0)),
        ([8, 10], None, ("", 0)),
    ],
)
def test_devices_that_are_silent_at_the_end(busy, end, expected):
    """Steps of 100 ps from 0 on; how many of the first ones each device works in, and when its last event ends."""
    steps = max(max(busy), 10 if max(busy) > 5 else 5)
    works = np.arange(steps)[:, None] < np.array(busy)
    begin = np.repeat(np.arange(steps)[:, None] * 100, len(busy), axis=1)
    devices = [SimpleNamespace(name=f"d{i}", span=lambda: None if end is None else (0, end)) for i in range(len(busy))]
    host = SimpleNamespace(
        steps=SimpleNamespace(source="host", begin_ps=begin), budget=SimpleNamespace(busy=works), devices=devices
    )
    assert truncated_trace._silent(host) == expected
    host.steps.source = "device"
    assert truncated_trace._silent(host) == ("", 0)
    host.steps = None
    assert truncated_trace._silent(host) == ("", 0)
