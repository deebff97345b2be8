"""Waiting for input: the threshold, what is waited for, and when nothing can be said."""

from __future__ import annotations

import pytest
from builders.profiles.planted import cpu, evidence, finding, reason, tf_loop, tpu


def waiting(us):
    return tf_loop(f"0 {us} IteratorGetNextOp::DoCompute", f"{us} {1000 - us} dense/MatMul:MatMul")


def test_names_what_the_host_waits_for_and_links_to_the_pages():
    found = finding("input_bound", waiting(300))
    assert found["title"] == "Devices wait 30.0% of the step for input, most of it in IteratorGetNext"
    assert (found["saving_ps_per_step"], found["confidence"]) == (300 * 10**6, "high")
    assert evidence(found) == {
        "Time lost to input, of the step": 30.0,
        "Time lost to input per step": 0.3,
        "Waits in": "IteratorGetNext",
        "Time in this event per step": 0.3,
        "Length of the step that waits longest": 1.0,
    }
    assert "time_budget" in {one["tool"] for one in found["evidence"]}
    where = {"host": "h0", "window": "0,2000000000", "find": "IteratorGetNext"}
    assert {one["label"]: one["query"] for one in found["evidence"] if one["tool"] == "trace_viewer@"} == {
        "Waits in": where,
        "Length of the step that waits longest": where,
    }
    assert "tf.data.AUTOTUNE" in found["advice"]


def test_a_loader_gives_way_to_the_function_that_makes_the_batch():
    main = "0 300 IteratorGetNextOp::DoCompute\n1 298 $train.py:14 collate"
    found = finding("input_bound", tf_loop(main, "300 700 dense/MatMul:MatMul"))
    assert found["title"] == "Devices wait 30.0% of the step for input, most of it in train.py:14 collate"


@pytest.mark.parametrize(("us", "fires"), [(60, False), (199, False), (200, True)])
def test_from_a_fifth_of_the_step_on_where_it_shares_processors(us, fires):
    found = finding("input_bound", waiting(us))
    assert (found is not None) == fires
    assert found["confidence"] == "high" if found else "on the same processors" in reason("input_bound", waiting(us))


def test_without_an_event_of_input_nothing_is_said_about_it():
    profile = tf_loop("0 300 $train.py:3 load", "300 700 dense/MatMul:MatMul")
    assert "No input events" in reason("input_bound", profile)


def test_a_tensor_core_waits_in_infeed():
    text = tpu("0 10 main", "0 250 infeed.1\n250 749 fusion.1")
    found = finding(
        "input_bound",
        text.replace(
            '"infeed.1" {program_id=u7, symbol_id=u1, hlo_category="loop fusion"}',
            '"infeed.1" {program_id=u7, symbol_id=u1, hlo_category="infeed"}',
        ),
    )
    assert "most of it in infeed.1" in found["title"]
    assert evidence(found)["Time in this event per step"] == 0.25


def test_enqueuing_and_preparing_are_told_apart_where_infeeds_are_enqueued():
    text = tpu("0 10 enqueue:InfeedEnqueueTuple\n20 60 Iterator::Map", "0 250 infeed.1\n250 749 fusion.1")
    found = finding(
        "input_bound", text.replace('symbol_id=u1, hlo_category="loop fusion"', 'symbol_id=u1, hlo_category="infeed"')
    )
    shown = evidence(found)
    # Of 1000 us between two enqueues, 10 are enqueuing; so are 10 us of each of the 4 steps.
    assert shown["Enqueuing on the host, all steps"] == 0.04
    assert shown["Reading and preprocessing on the host, all steps"] == pytest.approx(0.04 * 99, abs=0.01)
    assert shown["Input op with most self time on the host"] == "Iterator::Map"


SENT = "400 20 PjitFunction(f)\n402 5 DevicePut"
"""What the main thread got goes to the device as an argument of the next program."""


def test_a_queue_that_is_empty_is_input():
    found = finding("input_bound", cpu(f"0 400 $queue.py:154 get\n{SENT}", "420 570 dot.1"))
    assert "queue.py:154 get" in found["title"]
    # The wait and the copy.
    assert found["saving_ps_per_step"] == 405 * 10**6


def test_a_thread_that_prefetches_is_not_what_the_step_waits_in():
    """It fetches all the time; the main thread waits for 400 us of 1000."""
    main = f"0 400 $queue.py:154 get\n{SENT}"
    found = finding("input_bound", cpu(main, "420 570 dot.1", other="0 990 $loader.py:7 __next__"))
    assert "queue.py:154 get" in found["title"]
    assert evidence(found)["Time in this event per step"] == pytest.approx(0.4)


def test_steps_that_are_short_against_the_time_between_them_are_not_bound_by_input():
    text = cpu("0 40 $queue.py:154 get\n40 2 PjitFunction(f)\n40 1 DevicePut", "42 58 dot.1", length=2000, lasting=100)
    assert reason("input_bound", text) == "Devices wait 2.1% of the time from step to step for input."


def test_steps_without_devices_are_read_from_their_events():
    lines = ['plane 1 "/host:CPU"', "line 1 main"]
    for at in (0, 1000, 2000, 3000):
        lines += [f"{at}us +1000us train {{_r=1, step_num={at}}}", f"{at}us +250us IteratorGetNext"]
        lines.append(f"{at + 300}us +600us dense:MatMul")
    text = "\n".join(lines)
    found = finding("input_bound", text)
    assert evidence(found)["Time lost to input, of the step"] == 25.0
    assert found["title"].startswith("The host waits 25.0% of the step for input")
    assert found["saving_ps_per_step"] == 250 * 10**6


def test_a_loop_that_waits_for_input_between_its_steps():
    """`for batch in loader:` with the marker inside: the step is 100 us, the next batch takes 800."""
    text = cpu("0 20 PjitFunction(f)\n100 800 $loader.py:7 __next__", "20 70 dot.1", length=1000, lasting=100)
    found = finding("input_bound", text)
    assert "of the time from step to step for input, most of it in loader.py:7 __next__" in found["title"]
    assert found["saving_ps_per_step"] == 800 * 10**6
    shown = evidence(found)
    assert shown["Time lost to input, of the time from step to step"] == pytest.approx(100 * found["share"], abs=0.01)
    assert shown["Longest time from step to step"] == 1.0


@pytest.mark.parametrize(
    "frame", ["$_base.py:428 result", "$pool.py:873 next", "$connection.py:246 recv", "$queues.py:98 get"]
)
def test_waiting_for_another_thread_or_process_is_input(frame):
    found = finding("input_bound", cpu(f"0 400 {frame}\n{SENT}", "420 570 dot.1"))
    assert frame.removeprefix("$") in found["title"]


@pytest.mark.parametrize(("us", "fires"), [(49, False), (51, True), (99, True)])
def test_uploads_too_short_for_a_finding_of_their_own_have_their_advice(us, fires):
    text = cpu(f"0 {us} DevicePut\n{us} 5 PjitFunction(f)", f"{us + 5} {990 - us} dot.1")
    found = finding("input_bound", text)
    assert (found is not None) == fires
    if fires:
        assert "most of it in DevicePut" in found["title"]
        assert "jax.device_put on arrays that do not change once" in found["advice"]


@pytest.mark.parametrize("sent", [True, False])
def test_what_another_thread_hands_over_is_input_only_if_it_is_sent_to_a_device(sent):
    main = "0 999 $train.py:10 main\n0 400 $_base.py:428 result\n" + (SENT if sent else "400 20 PjitFunction(f)")
    text = cpu(main, "420 570 dot.1")
    assert (finding("input_bound", text) is not None) == sent
    assert (finding("slow_host_code", text) is None) == sent


def test_another_thread_may_send_it():
    """The loader puts the next batch on the device while the step runs."""
    main = "0 400 $queue.py:154 get\n400 20 PjitFunction(f)"
    found = finding("input_bound", cpu(main, "420 570 dot.1", other="350 40 DevicePut"))
    assert "queue.py:154 get" in found["title"]


GETS = "0 300 $queue.py:154 get\n310 280 $queue.py:154 get\n600 20 PjitFunction(f)\n602 5 DevicePut"


def test_a_server_that_collects_requests_waits_for_no_input():
    """Two requests per batch; the second wait has a time limit, so that it reads the clock."""
    found = finding("slow_host_code", cpu(f"{GETS}\n312 1 $time monotonic", "620 370 dot.1"))
    assert found["title"] == "Devices wait 58.1% of the step for requests of a batch: queue.py:154 get"
    assert found["advice"].startswith("The server waits until its batch is full")
    assert finding("input_bound", cpu(f"{GETS}\n312 1 $time monotonic", "620 370 dot.1")) is None


@pytest.mark.parametrize(
    "main",
    [
        # Two elements are collected without a time limit, or one with a limit.
        GETS,
        "0 580 $queue.py:154 get\n2 1 $time monotonic\n600 20 PjitFunction(f)\n602 5 DevicePut",
    ],
)
def test_a_loader_is_no_server(main):
    assert finding("input_bound", cpu(main, "620 370 dot.1")) is not None
