"""Findings about the recording: steps that are not marked, that are only dispatch, and parts that are missing."""

from __future__ import annotations

import pytest
from builders.profiles.planted import cpu, evidence, finding, findings, reason

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
