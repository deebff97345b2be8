"""Work beside computation on the same processor: other threads' Python, compilation and input pipelines."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from builders.profiles.planted import cpu, evidence, finding, reason, tf_loop

from tpu_profile_plugin.analysis.findings.rules.host import busy_thread

MS = 10**9

MAIN, OPS = "0 995 $train.py:5 step\n0 10 PjitFunction(f)", "10 900 dot.1"


def beside(*lines, pools=("tf_XLAEigen/1",), main=MAIN, ops=OPS):
    """Four steps of 1 ms, each with 900 us of computation; `lines`: BEGIN LENGTH NAME in us of one other thread."""
    text = [cpu(main, ops, steps=4)]
    for number, pool in enumerate(pools, 20):
        text.append(f"line {number} {pool}\n0us +1us pool")
    text.append("line 40 feeder")
    text += [f'{begin}us +{length}us "{name}"' for begin, length, name in lines]
    return "\n".join(text)


def preparing(waits=0):
    """A thread that prepares frames, and waits for so many us of each ms."""
    lines = [(0, 4000, "$feeder.py:7 run")]
    for at in range(0, 4000, 1000):
        lines += [(at, 1000 - waits, "$feeder.py:20 resize"), (at + 1000 - waits, waits, "$threading.py:355 wait")]
    return [line for line in lines if line[1]]


def test_a_thread_that_prepares_without_end():
    found = finding("busy_thread", beside(*preparing()))
    assert found["title"] == (
        "Another thread runs Python all the time and takes up to 50.0% of the step from computation: "
        "feeder.py:20 resize"
    )
    assert found["saving_ps_per_step"] == 499_500_000
    assert evidence(found) == {
        "Half of the time meanwhile, of the step": pytest.approx(50.0, abs=0.01),
        "Half of the time meanwhile per step": 0.499,
        "Function on the other thread": "feeder.py:20 resize",
        "Without waiting, of the steps": 100.0,
    }
    assert found["advice"].startswith("Let the thread wait for what it needs")


@pytest.mark.parametrize(
    "call",
    [
        "<built-in method select of module>",
        "<built-in method poll of select.epoll object>",
        "$selectors.py:451 select",
        "<built-in method recv of _socket.socket object>",
        "<built-in method acquire of _thread.lock object>",
        "<built-in function read>",
        "$subprocess.py:1200 wait",
    ],
)
def test_a_thread_that_waits_for_others_takes_nothing(call):
    assert finding("busy_thread", beside((0, 4000, "$server.py:7 serve"), (0, 4000, call))) is None


def test_a_thread_that_polls():
    """It waits in all of its calls, but for a moment each."""
    calls = [(at, 100, "$time sleep") for at in range(0, 4000, 100)]
    found = finding("busy_thread", beside((0, 4000, "$feeder.py:7 run"), *calls))
    assert found["title"].endswith("feeder.py:7 run, 10 calls per ms")
    seldom = [(at, 500, "$time sleep") for at in range(0, 4000, 500)]
    assert finding("busy_thread", beside((0, 4000, "$feeder.py:7 run"), *seldom)) is None


def test_a_thread_that_calls_all_at_once_does_not_poll():
    """As often as one that does, but in three tenths of each step."""
    calls = [(1000 * step + at, 10, "$queue.py:9 put") for step in range(4) for at in range(0, 300, 30)]
    assert finding("busy_thread", beside((0, 4000, "$client.py:7 run"), (0, 4000, "$time sleep"), *calls)) is None


@pytest.mark.parametrize(("waits", "fires"), [(290, True), (310, False)])
def test_a_thread_that_waits_for_room_works_for_what_is_used(waits, fires):
    assert (finding("busy_thread", beside(*preparing(waits))) is not None) == fires


@pytest.mark.parametrize(
    ("pools", "fires"), [((), True), (("tf_XLAEigen/1",), True), (("tf_XLAEigen/1", "tf_XLAEigen/2"), False)]
)
def test_more_than_one_processor_has_room_for_another_thread(pools, fires):
    assert (finding("busy_thread", beside(*preparing(), pools=pools)) is not None) == fires


def test_without_functions_nothing_is_known():
    text = beside(*preparing(), main="0 10 PjitFunction(f)").replace("$", "")
    assert "Python functions were not recorded" in reason("busy_thread", text)


@pytest.mark.parametrize(
    ("pools", "share"), [(("tf_XLAEigen/1",), "40.0%"), (("tf_XLAEigen/1",) * 2, "10.0%"), ((), "10.0%")]
)
def test_compilation_beside_computation_on_one_processor_costs_half_of_it(pools, share):
    """The first 100 us of 700 are idle; of the other 600, half are lost."""
    main = "0 995 $train.py:5 step\n0 700 backend_compile_and_load\n705 10 PjitFunction(f)"
    found = finding("recompilation", beside(pools=pools, main=main, ops="100 890 dot.1"))
    assert found["title"].startswith(f"Compilation takes {share} of the step")


@pytest.mark.parametrize(("threads", "share"), [(1, "32.5%"), (2, "10.0%")])
def test_pipelines_beside_computation_on_one_processor_cost_half_of_it(threads, share):
    """Each step waits 100 us, and the pipeline's pool works 450 us while it computes: 400 on an op, 20 on what is not
    recorded, 10 on what is no op and 20 more.
    """
    root = 'Iterator::Root {id=1, name=&"root"}'
    stage = 'Iterator::Root::ParallelMapV2 {id=2, parent_id=1, name=&"map:2", parallelism=1, autotune="true"}'
    main = f"0 100 IteratorGetNextOp::DoCompute\n0 100 {root}\n0 100 {stage}"
    text = [tf_loop(main, "100 890 dense/MatMul:MatMul")]
    for number in range(threads):
        text.append(f"line {30 + number} tf_data_private_threadpool/{number}")
        text += [f"{1000 * step + 200}us +400us decode/DecodePng:DecodePng" for step in range(4) if not number]
        text += [f"{1000 * step + 620}us +10us ExecutorDoneCallback" for step in range(4) if not number]
        text += ["0us +1us x"] * bool(number)
    found = finding("input_bound", "\n".join(text))
    start = "Input takes" if threads == 1 else "Devices wait"
    assert found["title"].startswith(f"{start} {share} of the step")


@pytest.mark.parametrize(("us", "fires"), [(400, True), (300, False)])
def test_a_pipeline_without_a_known_fault_from_a_fifth_of_the_step_on(us, fires):
    """Each step waits 1 us for a buffer; the pool takes half of the time that it works."""
    root = 'Iterator::Root {id=1, name=&"root"}'
    stage = 'Iterator::Root::Prefetch {id=2, parent_id=1, name=&"prefetch:2"}'
    text = tf_loop(f"0 1 IteratorGetNextOp::DoCompute\n0 1 {root}\n0 1 {stage}", "1 990 dense/MatMul:MatMul")
    pool = "\n".join(f"{1000 * step + 200}us +{us}us decode/DecodePng:DecodePng" for step in range(4))
    text = f"{text}\nline 30 tf_data_private_threadpool/0\n{pool}"
    found = finding("input_bound", text)
    assert (found is not None) == fires
    if fires:
        assert found["title"].startswith("Input takes 21.1% of the step")
    else:
        assert "prepared on the same processors" in reason("input_bound", text)


# The rule on typed-in threads: ten steps of 1 ms, from 20 ms on, 10 ms apart.


def taken(monkeypatch, working, threads, *, steps=10, cpus=True, plane="", traced=True, locked=False):
    """What other threads take; `working`: us without waiting per thread; `threads`: which polls, in each step."""
    begin = (20 + 10 * np.arange(steps)) * MS
    calls = np.where(np.array(threads) >= 0, 6 + np.arange(len(threads)), 500)
    others = SimpleNamespace(
        busiest=lambda begin, end, per_ms: (np.array(threads), calls),
        working_ps=lambda begin, end: np.array(working, np.int64) * MS // 1000,
        function=lambda which, begin, end: f"$serve.py:{which} f{begin // MS}_{end // MS}",
    )
    told = {"calls_of": SimpleNamespace(main=SimpleNamespace(traced=traced)), "other_threads": others}
    for name, answer in told.items():
        monkeypatch.setattr(busy_thread, name, lambda host, answer=answer: answer)
    monkeypatch.setattr(busy_thread.python_lock, "gather", lambda host: object() if locked else None)
    asked = []
    host = SimpleNamespace(
        name="h0", marks=(begin, begin + MS), on_cpus=cpus, plane=plane,
        beside=lambda times, unknown: asked.append((times[0].tolist(), unknown)) or np.array([3, 4]),
    )  # fmt: skip
    return busy_thread.gather(host), asked


SILENT = [-1] * 10


@pytest.mark.parametrize(
    ("working", "threads", "what"),
    [
        ([100, 7000], SILENT, "serve.py:1 f20_111"),  # 70% of the ten ms
        ([100, 6999], SILENT, None),
        ([], SILENT, None),
        # 6, 7, ... 12 calls in seven of the steps, most of which one thread makes
        ([100, 200, 300], [2, 1, 2, 0, 2, 0, 2, -1, -1, -1], "serve.py:2 f20_111, 6 calls per ms"),
        ([100, 200, 300], [0, 1, 0, 0, 2, 0, 2, -1, -1, -1], "serve.py:0 f20_111, 6 calls per ms"),
        ([100, 200, 300], [2, 1, 2, 0, 2, 0, -1, -1, -1, -1], None),
        ([100, 7000, 300], [2, 1, 2, 0, 2, 0, 2, -1, -1, -1], "serve.py:1 f20_111"),
    ],
)
def test_a_thread_that_is_busy_in_most_of_the_steps(monkeypatch, working, threads, what):
    loss, asked = taken(monkeypatch, working, threads)
    assert (loss and loss.what) == what
    if what:
        assert loss.ps == 7
        which = int(what[9])
        assert [one.value for one in loss.evidence] == [what.partition(",")[0], working[which] / 100]
        assert loss.evidence[0].query["window"] == f"0,{202 * MS}"
        assert asked == [([(20 + 10 * step) * MS for step in range(10)], True)]


@pytest.mark.parametrize(
    "given",
    [{"cpus": False}, {"plane": None}, {"traced": False}, {"locked": True}, {"steps": 0}],
)
def test_where_no_thread_takes_anything(monkeypatch, given):
    assert taken(monkeypatch, [0, 9000], SILENT, **given) == (None, [])
