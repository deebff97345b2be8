"""The step without some of what it does on typed-in profiles of TPUs, GPUs and CPUs, by literal times."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from builders.answers import run_of
from builders.planes import gpu, host, marked, tpu, xla_on_cpu

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES
from tpu_profile_plugin.analysis.budget.host_time import Levels
from tpu_profile_plugin.analysis.devices.model import Work
from tpu_profile_plugin.analysis.replay import edits, what_if
from tpu_profile_plugin.analysis.replay.edits import Edit, Rate, Sweep, _rate_of, both, kind_of_name
from tpu_profile_plugin.analysis.replay.equal_ranks import EqualRanks
from tpu_profile_plugin.analysis.replay.graph import Graph
from tpu_profile_plugin.analysis.replay.host_graph import MAIN, Why
from tpu_profile_plugin.errors import BadRequest, NoData, NotFound
from tpu_profile_plugin.run.figures.replay import run_replay

US = 10**6


def us(found) -> tuple[float, ...]:
    """The step before and after, and the interval."""
    return tuple(round(ps / US, 3) for ps in (found.step_ps, found.after_ps, found.low_ps, found.high_ps))


def limits(found) -> list[tuple[str, str, float]]:
    return [(one.what, one.name, round(one.time_ps / US, 3)) for one in found.limits]


# Two kernels a step, the first 10 us after its launch, the second queued behind it; the host waits until 2 us after it.
GPU = gpu("""
    20 30 k1 {correlation_id=1}
    50 30 k2 {correlation_id=2}
    120 30 k1 {correlation_id=3}
    150 30 k2 {correlation_id=4}
""") + "\n" + host("""
    0 100 train {_r=1, step_num=0}
    0 10 $train.py:3 prepare
    10 2 cudaLaunchKernel {correlation_id=1}
    12 1 $train.py:5 log
    14 2 cudaLaunchKernel {correlation_id=2}
    20 62 cudaStreamSynchronize
    82 18 $train.py:9 save
    100 100 train {_r=1, step_num=1}
    100 10 $train.py:3 prepare
    110 2 cudaLaunchKernel {correlation_id=3}
    112 1 $train.py:5 log
    114 2 cudaLaunchKernel {correlation_id=4}
    120 62 cudaStreamSynchronize
    182 18 $train.py:9 save
""")  # fmt: skip


@pytest.mark.parametrize(
    ("change", "after"),
    [
        # k2 begins 10 us after its launch at 14, and ends at 54: 56 us and the function `save`.
        ({"without": "k1"}, 74),
        ({"scale": {"k1": 0.5}}, 85),
        ({"without": "k2"}, 70),
        # Launched at 10 and 14, nothing runs from 24 on.
        ({"without": ["k1", "k2"]}, 44),
        ({"scale": {"k1": 2}}, 130),
        ({"without": "train.py:9 save"}, 82),
        ({"without": "train.py:9"}, 82),
        ({"without": "save"}, 82),
        ({"without": "save", "scale": {"k1": 0.5}}, 67),
        # Behind the first kernel, so that nothing waits for it.
        ({"without": "log"}, 100),
        # The call is gone, and what it launches.
        ({"without": "cudaLaunchKernel"}, 100 - 82 + 16),
        # The host goes on; the next kernels begin as soon as the queue is free: at 80, to end at 140.
        ({"without": "cudaStreamSynchronize"}, 70),
        # Of the host 20 us stay before the call, and 18 behind it.
        ({"without": ["cudaStreamSynchronize", "k1", "k2"]}, 38),
    ],
)
def test_a_gpu(change, after: float) -> None:
    found = run_of(GPU).what_if(**change)
    assert us(found) == (100, after, after, after)
    assert found.confidence == "high"
    assert found.reasons == ()
    assert found.drift_ps == 0
    assert found.saving_ps == found.step_ps - found.after_ps == pytest.approx((100 - after) * US)


def test_what_limits_the_step_then() -> None:
    found = run_of(GPU).what_if("k1")
    assert limits(found) == [
        ("op", "k2", 30),
        ("host code", "train.py:9 save", 18),
        ("launch", "", 10),
        ("host code", "train.py:3 prepare", 10),
        ("host code", "", 3),
        ("wait", "", 2),
        ("host code", "train.py:5 log", 1),
    ]
    assert sum(one.time_ps for one in found.limits) == found.after_ps
    assert sorted(limits(run_of(GPU).what_if())[:2]) == [("op", "k1", 30), ("op", "k2", 30)]
    assert limits(run_of(GPU).what_if(["k1", "k2", "save"]))[:2] == [
        ("launch", "", 10),
        ("host code", "train.py:3 prepare", 10),
    ]


def test_functions_that_are_shorter_limit_the_step_less() -> None:
    found = limits(run_of(GPU).what_if(scale={"save": 0.5, "prepare": 2}))
    named = [(name, time) for what, name, time in found if what == "host code" and name]
    assert named == [("train.py:3 prepare", 20), ("train.py:9 save", 9)]


@pytest.mark.parametrize(
    ("user", "most", "expected"),
    [
        # Half of what ends until 10 is gone; f takes 20 ps, g 10 and h, elsewhere, none.
        ([True, False, False], 30.0, [("x.py:1 f", 15)]),
        ([True, False, False], 6.0, [("x.py:1 f", 6)]),
        ([False, False, False], 30.0, [("x.py:1 f", 15), ("g", 10)]),
        ([False, False, False], 5.0, [("x.py:1 f", 3), ("g", 2)]),
        ([False, False, True], 30.0, []),
    ],
)
def test_host_code_by_name_is_at_most_what_is_left(user: list[bool], most: float, expected) -> None:
    level = (np.array([0, 30, 70]), np.array([20, 40, 90]), np.array([0, 1, 2]))
    thread = SimpleNamespace(
        levels=Levels(*((column,) for column in level)), names=["$x.py:1 f", "g", "h"], user=np.array(user)
    )
    gone, found = Rate(np.array([0, 10]), np.array([0.5, 0.0])), []
    times = np.array([0, 25]), np.array([20, 40])
    added = what_if._add_code(thread, gone, times, most, lambda what, name, ps: found.append((what, name, ps)))
    assert found == [("host code", name, pytest.approx(ps)) for name, ps in expected]
    assert added == pytest.approx(sum(ps for _, ps in expected))


def test_a_launch_may_be_the_first_dependency_of_all() -> None:
    # The first kernel begins 10 us after its launch, and ends before anything else does.
    kernels = gpu("10 40 k1 {correlation_id=1}\n50 150 k2 {correlation_id=2}")
    calls = host("""
        0 200 train {_r=1, step_num=0}
        0 60 cudaLaunchKernel {correlation_id=1}
        62 2 cudaLaunchKernel {correlation_id=2}
        102 98 cudaStreamSynchronize
    """)  # fmt: skip
    assert limits(run_of(f"{kernels}\n{calls}").what_if()) == [("op", "k2", 150), ("op", "k1", 40), ("launch", "", 10)]


def core(number: int, first: int) -> str:
    """A TensorCore: a program in each step of 100 us, whose all-reduce ends at 80 on all cores."""
    starts = (10, 110, 210)
    ops = "".join(
        f"{s} {first} fusion.1\n{s + first} {70 - first} all-reduce.1\n{s + 70} 20 fusion.2\n" for s in starts
    )
    modules = "\n".join(f"{s} 80 jit_step(7) {{run_id={run}}}" for run, s in enumerate(starts, 1))
    steps = "\n".join(f"{100 * s} 100 {s} {{_ct=9, _c={s}}}" for s in range(3))
    return tpu(ops, core=number, steps=steps, modules=modules)


# The host waits until 2 us after the end of the programs, and launches the next ones 3 us later.
TPU = "\n".join((core(0, 20), core(1, 60), host("\n".join(
    f"{s} 5 TfrtTpuLoadedExecutable::Execute {{run_id={run}}}\n{s + 5} 92 $array.py:3 block_until_ready\n"
    f"{s + 97} 3 $train.py:5 log"
    for run, s in enumerate((5, 105, 205), 1)
))))  # fmt: skip


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ({"without": "fusion.2"}, 80),
        # Core 0 waits for core 1.
        ({"scale": {"fusion.1": 0.5}}, 70),
        ({"scale": {"fusion": 0.5}}, 60),
        ({"hide_collectives": True}, 90),
        # Nothing waits for core 1: 90 us a step, but the last one of core 0 is its own 50 us.
        ({"without": "all-reduce.1"}, 83.333),
        # 40 us of fusion.1 on both.
        ({"ranks_equal": True}, 80),
        ({"ranks_equal": True, "hide_collectives": True, "without": ("fusion.2",)}, 50),
        # The third step is the last: nothing follows its log.
        ({"without": "train.py:5 log"}, 98),
        ({"without": "jit_step"}, 10),
        ({"without": "jit_step(7)"}, 10),
        ({"input_free": True}, 100),
    ],
)
def test_tpu_cores(change, after: float) -> None:
    found = run_of(TPU).what_if(**change)
    assert us(found) == (100, after, after, after)
    assert found.confidence == "high"


# Two devices of XLA's CPU backend, which share cores, and a host that waits until 5 us after the first one.
CPU = host(
    """
    0 100 train {_r=1, step_num=0}
    5 5 PjitFunction(f)
    10 85 $array.py:3 block_until_ready
    100 100 train {_r=1, step_num=1}
    105 5 PjitFunction(f)
    110 85 $array.py:3 block_until_ready
    """,
    *(
        xla_on_cpu("\n".join(
            f"{s} 40 dot.1 {{run_id={run}}}\n{s + 40} {length} {last} {{run_id={run}}}"
            for run, s in ((1, 20), (2, 120))
        ), device=device)
        for device, last, length in ((0, "add.1", 30), (1, "mul.1", 20))
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ({"without": "dot"}, (60, 60, 60)),
        # Device 1 works until 80; if both share a core, the 20 us that both work become 10.
        ({"without": "add.1"}, (80, 75, 85)),
        ({"without": "mul.1"}, (95, 90, 100)),
        ({"without": ["dot", "add", "mul"]}, (30, 30, 30)),
        # Device 0 ends at 55. On one core its 20 us beside `mul.1`, which is gone, become 5, the last 10 us also 5.
        ({"scale": {"dot": 0.5, "add.1": 0.5, "mul.1": 0}}, (62.5, 60, 65)),
        ({"without": "PjitFunction(f)"}, (10, 10, 10)),
    ],
)
def test_devices_of_a_cpu_share_cores(change, after: tuple[float, ...]) -> None:
    assert us(run_of(CPU).what_if(**change)) == (100, *after)


# Device 0 reaches the all-reduce after 20 us, device 1 after 50; it takes 20 us from then on.
TALKING = host(
    marked("5 5 PjitFunction(f)\n10 85 $array.py:3 block_until_ready", steps=2, period=100),
    *(
        xla_on_cpu("\n".join(
            f"{s} {first} dot.1 {{run_id={run}}}\n{s + first} {70 - first} all-reduce.1 {{run_id={run}}}"
            for run, s in ((1, 20), (2, 120))
        ), device=device)
        for device, first in ((0, 20), (1, 50))
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "after"),
    [
        # If both share a core, of the 30 us that `dot.1` runs beside the all-reduce a quarter or a half is gained.
        ({"scale": {"all-reduce": 0.5}}, (86.25, 82.5, 90)),
        ({"without": "all-reduce.1"}, (72.5, 65, 80)),
        ({"hide_collectives": True}, (72.5, 65, 80)),
        ({"without": "dot"}, (50, 50, 50)),
        ({"ranks_equal": True}, (85, 85, 85)),
    ],
)
def test_collectives_of_a_cpu(change, after: tuple[float, ...]) -> None:
    assert us(run_of(TALKING).what_if(**change)) == (100, *after)


@pytest.mark.parametrize(
    ("profile", "factor", "after"),
    [
        # Host code, the delay of a launch, ops, the delay of a result, and host code again.
        (GPU, 0.5, 10 / 2 + 10 + 60 / 2 + 2 + 18 / 2),
        (GPU, 2.0, 10 * 2 + 10 + 60 * 2 + 2 + 18 * 2),
        (CPU, 0.5, 5 / 2 + 15 + 70 / 2 + 5 + 5 / 2),
        (CPU, 2.0, 5 * 2 + 15 + 70 * 2 + 5 + 5 * 2),
    ],
)
def test_equal_ranks_change_all_nodes(
    monkeypatch: pytest.MonkeyPatch, profile: str, factor: float, after: float
) -> None:
    def equal(graph: Graph) -> EqualRanks:
        runs = tuple(tuple(np.ones(len(one.spans)) for _, one in of_host.contents) for of_host in graph.hosts)
        return EqualRanks(np.full(len(graph), factor), runs)

    monkeypatch.setattr(edits, "equal_ranks", equal)
    assert us(run_of(profile).what_if(ranks_equal=True)) == (100, after, after, after)


@pytest.mark.parametrize(("ends", "after"), [(93, 60), (99, 100)])
def test_a_silent_main_thread_waits_if_it_goes_on_when_the_devices_are_done(ends: int, after: float) -> None:
    silent = host(
        marked(f"5 5 PjitFunction(f)\n{ends} 1 Next", steps=2, period=100),
        xla_on_cpu("\n".join(
            f"{s} 40 dot.1 {{run_id={run}}}\n{s + 40} 30 add.1 {{run_id={run}}}" for run, s in ((1, 20), (2, 120))
        )),
    )  # fmt: skip
    assert us(run_of(silent).what_if("dot"))[1] == after


# TensorFlow's ops run while the call of the host lasts, on any thread.
WITHIN = host(
    """
    0 100 train {_r=1, step_num=0}
    5us +90us FunctionRun
    10us +30us "ExecutorState::Process" {id=1}
    12us +20us "MatMul:MatMul"
    100 100 train {_r=1, step_num=1}
    105us +90us FunctionRun
    110us +30us "ExecutorState::Process" {id=1}
    112us +20us "MatMul:MatMul"
    """
)


def test_ops_within_calls_of_the_host() -> None:
    assert us(run_of(WITHIN).what_if("MatMul")) == (100, 80, 80, 80)
    assert us(run_of(WITHIN).what_if("FunctionRun")) == (100, 10, 10, 10)
    assert us(run_of(WITHIN).what_if(["MatMul", "ExecutorState::Process"])) == (100, 70, 70, 70)


def test_a_place_that_is_not_there_names_what_is_near() -> None:
    with pytest.raises(NotFound, match=r"Nothing in the recording is called 'k'\. Near: k1, k2") as error:
        run_of(GPU).what_if("k")
    assert error.value.details["choices"][:2] == ["k1", "k2"]
    with pytest.raises(NotFound, match=r"Near: .*save"):
        run_of(GPU).what_if("train.py:9 sav")


def test_factors_are_from_0_to_100() -> None:
    for factor in (-1, float("nan"), 101):
        with pytest.raises(BadRequest, match="must be between 0 and 100"):
            run_of(GPU).what_if(scale={"k1": factor})


def test_a_host_without_devices_cannot_tell() -> None:
    with pytest.raises(NoData, match="neither a TPU nor a GPU"):
        run_of(host("0 100 train {_r=1, step_num=0}\n0 50 $train.py:9 save")).what_if("save")


def test_delays_and_silent_host_code_count_against_confidence() -> None:
    silent = GPU.replace('82us +18us "$train.py:9 save"', '99us +1us "$train.py:9 save"')
    found = run_of(silent).what_if("k1")
    assert (found.after_ps / US, found.confidence) == (74, "medium")
    assert found.reasons == (
        "19% of the chain that determines the steps are delays and host code that no event explains.",
    )


def test_devices_alone_are_replayed_without_a_host() -> None:
    assert us(run_of(f"{core(0, 20)}\n{core(1, 60)}").what_if("fusion.2")) == (100, 80, 80, 80)


@pytest.mark.parametrize(("change", "after"), [({"without": "fusion.1"}, 40), ({"scale": {"fusion.1": 2}}, 160)])
def test_the_first_op_of_a_device_may_be_what_the_others_wait_for(change, after: float) -> None:
    def one(number: int, first: int) -> str:
        ops = f"10 {first} fusion.1\n{first + 10} {70 - first} all-reduce.1\n80 10 fusion.2"
        steps, modules = "0 100 0 {_ct=9, _c=0}", "10 80 jit_step(7) {run_id=1}"
        return tpu(ops, core=number, steps=steps, modules=modules)

    assert us(run_of(f"{one(0, 20)}\n{one(1, 60)}").what_if(**change))[:2] == (100, after)


@pytest.mark.parametrize(("more_ps", "after"), [(1, 82.5), (2, 75)])
def test_a_device_that_is_done_before_the_last_one_comes_does_not_wait_for_it(more_ps: int, after: float) -> None:
    """Core 1 comes at 60 us and counts as there 1 ps later; core 0 is done then, or later still."""
    steps, modules, end = "0 100 0 {_ct=9, _c=0}", "10 80 jit_step(7) {run_id=1}", 60 * US + more_ps
    first = f"10us +20us fusion.1\n30us +{end - 30 * US}ps all-reduce.1\n{end}ps +20us fusion.2"
    last = "10us +50us fusion.1\n60us +20us all-reduce.1\n80us +10us fusion.2"
    cores = (tpu(ops, core=number, steps=steps, modules=modules) for number, ops in enumerate((first, last)))
    # Core 1 saves 25 us of 50, core 0, if it does not wait, 10 us of 20.
    assert us(run_of("\n".join(cores)).what_if(scale={"fusion.1": 0.5}))[:2] == (100, after)


def parts(profile: str, edit: Edit) -> dict[str, float]:
    """The parts after an edit in us, which add up to the step."""
    found = run_replay(run_of(profile)).what_if(edit, parts=True)
    assert sum(found.parts_ps) == pytest.approx(found.after_ps)
    named = zip((*CATEGORIES, BETWEEN), found.parts_ps, strict=True)
    return {name: round(ps / US, 3) for name, ps in named if round(ps / US, 3)}


def test_without_a_change_the_parts_are_those_of_the_time_budget() -> None:
    for profile in (GPU, TPU, CPU, WITHIN):
        replay = run_replay(run_of(profile))
        found = replay.what_if(Edit(), parts=True)
        budget = replay.graph.budget
        assert list(found.parts_ps) == pytest.approx([*budget.parts_ps, budget.between_step_ps])


def test_what_an_op_leaves() -> None:
    before = parts(GPU, Edit())
    after = parts(GPU, Edit((("k1", 0.0),)))
    # k2 ends 26 us earlier, not 30: the device waits 4 us more for what the host does before it launches k2.
    assert before == {"compute": 60, "idle_host": 14, "idle_transfer": 7, "idle_launch": 5, "idle_other": 14}
    assert after == {**before, "compute": 30, "idle_host": 18}


def test_what_the_path_has_more_of_is_what_devices_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []

    def after(_graph, _kept, _found, waits) -> np.ndarray:
        found.append({kind: ps / US for kind, ps in waits.items()})
        return np.zeros(1)

    monkeypatch.setattr(what_if, "parts_after", after)
    for edit in (Edit((("k1", 0.0),)), Edit(), Edit((("save", 0.0),))):
        run_replay(run_of(GPU)).what_if(edit, parts=True)
    # Of two steps; where nothing grows, all that it has.
    assert found == [
        {"host code": 8},
        {"host code": 56, "launch": 20, "wait": 4},
        {"host code": 20, "launch": 20, "wait": 4},
    ]


def test_an_interval_of_a_tenth_of_the_step_is_narrow() -> None:
    found = [run_of(CPU).what_if(change) for change in ("add.1", "dot")]
    assert [(one.high_ps - one.low_ps) / one.step_ps for one in found] == [0.1, 0]
    assert found[0].reasons == found[1].reasons
    assert [one.median_ps / US for one in found] == [100, 100]
    assert [one.after_median_ps / US for one in found] == [80, 60]


def test_what_a_function_leaves() -> None:
    # One half of its 18 us is known as host code: no other event covers the rest of that gap.
    after = parts(GPU, Edit((("train.py:9 save", 0.0),)))
    assert after == {"compute": 60, "idle_host": 5, "idle_transfer": 7, "idle_launch": 5, "idle_other": 5}


def test_a_step_that_ends_earlier_has_less_of_its_waits() -> None:
    # Of 100 us 60 are compute and 2 within the call; the step takes 70: 10 of the other 38 us of waits stay.
    after = parts(GPU, Edit((("cudaStreamSynchronize", 0.0),)))
    stays = {"idle_host": 14, "idle_transfer": 5, "idle_launch": 5, "idle_other": 14}
    assert after == {"compute": 60, **{name: round(ps * 10 / 38, 3) for name, ps in stays.items()}}


def test_waits_for_late_devices_shrink_as_these_become_faster() -> None:
    # Core 0 reaches the collective after 20 us and waits 40 us for core 1; on average over both cores 20 us.
    assert parts(TPU, Edit())["idle_peer"] == 20
    assert parts(TPU, Edit((("fusion.1", 0.5),)))["idle_peer"] == 10
    assert "idle_peer" not in parts(TPU, Edit(ranks_equal=True))


def test_hidden_collectives_leave_the_waits_for_late_devices() -> None:
    before, after = parts(TPU, Edit()), parts(TPU, Edit(hide_collectives=True))
    assert (before["exposed_communication"], after.get("exposed_communication", 0)) == (10, 0)
    assert after["idle_peer"] == before["idle_peer"] == 20


def test_ops_that_share_cores_are_the_mean_of_both_ends() -> None:
    # The step is 60 us either way: of 70 us and 60 us of ops 30 and 20 remain.
    assert parts(CPU, Edit((("dot", 0.0),)))["compute"] == 25


def polling(waits: str, signals: str) -> str:
    """Steps of 100 us that ask another thread for a batch, sleep for 60 us, and take it from a queue."""
    main = "\n".join(
        f"{s} 100 train {{_r=1, step_num={s // 100}}}\n{s} 2 {signals}\n{s + 2} 58 <built-in function sleep>\n"
        f"{s + 60} 2 $queue.py:154 get\n{s + 63} 1 cudaLaunchKernel {{correlation_id={s + 1}}}\n"
        f"{s + 64} 26 cudaStreamSynchronize\n{s + 90} 10 $train.py:9 log"
        for s in (0, 100, 200)
    )
    loader = "\n".join(
        f"{max(s - 77, 0)} {3 if not s else 80} {waits}\n{s + 3} 17 $train.py:20 load\n{s + 20} 2 $queue.py:122 put"
        for s in (0, 100, 200)
    )
    kernels = "\n".join(f"{s + 68} 20 k {{correlation_id={s + 1}}}" for s in (0, 100, 200))
    return gpu(kernels) + "\n" + host(main) + "\n" + host_line(loader)


def host_line(events: str) -> str:
    """Another thread of the host's plane."""
    lines = [line for line in host(events).splitlines() if "us +" in line]
    return "\n".join(["line 2 loader", *lines])


@pytest.mark.parametrize(
    ("waits", "signals"),
    [
        ("$threading.py:440 acquire", "$threading.py:487 release"),
        ("$threading.py:288 wait", "$threading.py:399 set"),
    ],
)
def test_a_thread_that_waits_for_a_signal_goes_on_with_it(waits: str, signals: str) -> None:
    # Without the sleep the batch is taken when it is there, 22 us after the begin of the step instead of 62.
    assert us(run_of(polling(waits, signals)).what_if("<built-in function sleep>"))[:2] == (100, 60)


def test_a_call_without_a_signal_takes_its_time() -> None:
    # The loader goes on at the recorded pace: 40 us are gained once, in three steps.
    found = run_of(polling("$train.py:18 idle", "$train.py:2 ask")).what_if("<built-in function sleep>")
    assert us(found)[:2] == (100, 86.667)


def test_a_kind_is_no_mere_number() -> None:
    names = ("fusion.12.3", "Sequential_0/Linear_0/aten::mm", "Torch-Compiled Region: 0/0", "void f<a/b>(int)")
    assert [kind_of_name(name) for name in names] == [
        "fusion",
        "aten::mm",
        "Torch-Compiled Region: 0/0",
        "void f<a/b>(int)",
    ]


def room(calls: str) -> str:
    """A TensorCore that runs a program of 100 us after the other, launched two ahead; no call waits for results."""
    starts = range(10, 610, 100)
    ops = "\n".join(f"{s} 100 fusion.1" for s in starts)
    modules = "\n".join(f"{s} 100 jit_step(7) {{run_id={run}}}" for run, s in enumerate(starts, 1))
    steps = "\n".join(f"{s} 100 {run} {{_ct=9, _c={run}}}" for run, s in enumerate(starts, 1))
    return "\n".join((tpu(ops, steps=steps, modules=modules), host(calls)))


def test_launches_that_wait_for_room_in_the_queue_are_no_work_of_the_host() -> None:
    def blocked(length: int) -> str:
        calls = [(0, 2, 1), (2, 2, 2), *((100 * (run - 3) + 12, length, run) for run in range(3, 7))]
        return room("\n".join(f"{s} {us} TfrtTpuLoadedExecutable::Execute {{run_id={run}}}" for s, us, run in calls))

    # They end 1 us after the program two before.
    assert us(run_of(blocked(99)).what_if(scale={"fusion": 0.5}))[:2] == (100, 50)
    # Those that end 8 us before it do something else: the last program begins 10 us after 312 and ends at 372.
    assert us(run_of(blocked(90)).what_if(scale={"fusion": 0.5}))[:2] == (100, 60.333)


def test_of_many_shares_of_runs_at_once_the_largest_stays_to_a_percent() -> None:
    begin = 10 * np.arange(70)
    kept = np.linspace(0.1, 0.79, 70)
    found = Sweep.of(begin, begin + 15).rate(kept)
    assert found.points[:6].tolist() == [0, 10, 15, 20, 25, 30]
    assert found.rate[:6].tolist() == pytest.approx([0.9, 0.89, 0.89, 0.88, 0.88, 0.87])


def test_what_is_taken_from_runs_that_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    table = [  # begins, ends, what each keeps, how many shares are told apart; points and rates, alone and on one core
        ([18, 18, 20, 23], [23, 19, 26, 29], [0.123, 2.0, 1.0, 0.0], 1,
         [18, 18, 19, 20, 23, 23, 26, 29], [0.88, -1, 0.88, 0, 0, 0, 1, 0],
         [18, 18, 19, 20, 23, 23, 26, 29], [0.877, -0.0615, 0.877, 0.4385, 0.625666667, 0.5, 1, 0]),
        ([14, 18, 26, 28], [15, 19, 28, 31], [0.0, 1.0, 1.0, 0.25], 1,
         [14, 15, 28, 28, 31], [1, 0, 0.75, 0.75, 0],
         [14, 15, 18, 19, 26, 28, 28, 31], [1, 0, 0, 0, 0, 0.375, 0.75, 0]),
        ([12, 28, 28], [19, 31, 35], [0.25, 1.0, 0.123], 2,
         [12, 19, 28, 31, 35], [0.75, 0, 0, 0.877, 0], [12, 19, 28, 28, 31, 35], [0.75, 0, 0, 0.4385, 0.877, 0]),
    ]  # fmt: skip
    for begin, end, kept, most, points, rates, shared_points, shared in table:
        monkeypatch.setattr(edits, "_MOST_SHARES", most)
        sweep = Sweep.of(np.array(begin), np.array(end))
        alone, together = sweep.rate(np.array(kept)), sweep.shared(np.array(kept))
        assert (alone.points.tolist(), together.points.tolist()) == (points, shared_points)
        assert alone.rate == pytest.approx(np.array(rates, float))
        assert together.rate == pytest.approx(np.array(shared, float))


def test_what_two_edits_leave() -> None:
    first = Rate(np.array([10, 12, 21]), np.array([0.5, 0.0, 0.0]))
    second = Rate(np.array([15, 22, 23]), np.array([1.0, 0.25, 0.0]))
    left = both(first, second)
    assert (left.points.tolist(), left.rate.tolist()) == ([10, 12, 15, 21, 22, 23], [0.5, 0, 1, 1, 0.25, 0])
    begin, end = np.array([19, 11, 20]), np.array([21, 18, 25])
    assert left.within(begin, end).tolist() == [2, 3.5, 2.25]
    assert left.kept(begin, end).tolist() == pytest.approx([0, 0.5, 0.55])
    assert left.at(np.array([19, 11, 9, 23])).tolist() == [1, 0.5, 0, 0]
    nothing = edits.NOTHING
    assert (both(first, nothing).points.tolist(), both(nothing, second).points.tolist()) == ([10, 12, 21], [15, 22, 23])
    assert nothing.kept(begin, end).tolist() == [1, 1, 1]
    quarter = _rate_of((np.array([10, 20]), np.array([15, 22])), 0.25)
    assert (quarter.points.tolist(), quarter.rate.tolist()) == ([10, 15, 20, 22], [0.75, 0, 0.75, 0])


def test_kinds_of_names_with_brackets_keep_their_path() -> None:
    table = [("jit(f)/add.12", "jit(f)/add"), ("a/b/mul.3", "mul"), ("void f<int>(a/b)", "void f<int>(a/b)"),
             ("f<x/y", "f<x/y")]  # fmt: skip
    assert [kind_of_name(name) for name, _ in table] == [kind for _, kind in table]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (Edit(), [1, 1, 1, 1, 1]),
        (Edit((("a", 0.5), ("b", 0.5), ("a", 0.25))), [0.125, 1, 0.5, 1, 1]),
        (Edit(hide_collectives=True), [1, 1, 1, 1, 0]),
        (Edit(input_free=True), [1, 1, 0, 0, 1]),
        (Edit((("b", 3.0), ("c", 0.0)), hide_collectives=True, input_free=True), [1, 0, 0, 0, 0]),
    ],
)
def test_what_ops_of_a_device_keep(edit: Edit, expected: list[float]) -> None:
    works = (Work.COMPUTE, Work.DOWNLOAD, Work.INPUT, Work.UPLOAD, Work.COMMUNICATION)
    devices = [SimpleNamespace(ops=[]), SimpleNamespace(ops=[SimpleNamespace(work=work) for work in works])]
    ops = {"a": [(1, 0)], "b": [(0, 1), (1, 2)], "c": [(1, 1)]}
    places = SimpleNamespace(graph=SimpleNamespace(devices=devices), ops=ops)
    assert edits._shares(places, 1, edit).tolist() == expected


SHIFT, SINCE = 1000, 5000
"""Of the second host's times; where the steps begin."""


def _host(**facts) -> SimpleNamespace:
    none = SimpleNamespace(begin_ps=[], end_ps=[], name=[])
    thread = SimpleNamespace(levels=none, user=np.zeros(0, np.bool_), names=[])
    made = {"linked": 1.0, "impossible": 0, "contents": (), "lines": {}, "chains": {}, "devices": [], "thread": thread}
    return SimpleNamespace(**{**made, **facts})


class _Facts(SimpleNamespace):
    def __len__(self) -> int:
        return len(self.end_ps)


def _graph(nodes, hosts=None):
    """Nodes (gap, time, why, host, chain) one after the other; one that has no why is bound to nothing."""
    gap, time, why, host_of, chain = zip(*nodes, strict=True)
    end = SINCE + np.cumsum(np.add(gap, time))
    begin = end - time
    binding = np.array([-1 if one is None else i for i, one in enumerate(why)])
    recorded = SimpleNamespace(end=end, duration=np.array(time), begins=np.array([[SINCE]]), binding=binding)
    return _Facts(
        path=lambda found: np.arange(len(nodes)), recorded=recorded, hosts=hosts or (_host(), _host()),
        why=np.array([Why.ORDER if one is None else one for one in why], np.uint8), shift_ps=(0, SHIFT),
        host=np.array(host_of), chain=np.array(chain), begin_ps=begin, end_ps=end.copy(), budget=[0, 0],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "facts", "width", "edit", "expected"),
    # 100 ps of a queue (chain 1) with what else there is, and how many reasons it is.
    [
        ([(50, 10, Why.LAUNCH), (0, 40, Why.ORDER)], {}, 0.0, Edit(), ("high", 0)),
        ([(10, 90, Why.ORDER)], {}, 0.0, Edit(), ("high", 0)),
        ([(11, 89, Why.ORDER)], {}, 0.0, Edit(), ("medium", 1)),
        ([(0, 20, Why.ORDER), (30, 50, Why.RESULT)], {}, 0.0, Edit(), ("medium", 1)),
        ([(0, 20, Why.ORDER), (31, 49, Why.RESULT)], {}, 0.0, Edit(), ("low", 1)),
        ([(0, 20, Why.ORDER), (31, 49, None)], {}, 0.0, Edit(), ("low", 1)),
        ([(20, 20, Why.MEETING), (20, 40, Why.HANDOFF)], {}, 0.0, Edit(), ("high", 0)),
        ([(0, 90, Why.ORDER), (5, 5, Why.NEAR)], {}, 0.0, Edit(), ("high", 0)),
        ([(0, 89, Why.ORDER), (5, 6, Why.NEAR)], {}, 0.0, Edit(), ("medium", 1)),
        ([(0, 100, Why.ORDER)], {"linked": 0.5}, 0.0, Edit(scale=(("a", 0.5),)), ("high", 0)),
        ([(0, 100, Why.ORDER)], {"linked": 0.49}, 0.0, Edit(), ("medium", 1)),
        ([(0, 100, Why.ORDER)], {"linked": 0.49}, 0.0, Edit(scale=(("a", 0.5),)), ("low", 1)),
        ([(0, 100, Why.ORDER)], {"linked": 0.49}, 0.0, Edit(input_free=True), ("low", 1)),
        ([(0, 100, Why.ORDER)], {"linked": 0.0}, 0.0, Edit(input_free=True), ("medium", 1)),
        ([(0, 100, Why.ORDER)], {"impossible": 1}, 0.0, Edit(), ("medium", 1)),
        ([(0, 100, Why.ORDER)], {}, 0.1, Edit(), ("high", 0)),
        ([(0, 100, Why.ORDER)], {}, 0.11, Edit(), ("medium", 1)),
        ([(0, 30, Why.ORDER, MAIN), (0, 70, Why.ORDER)], {}, 0.0, Edit(), ("medium", 1)),
        ([(0, 31, Why.ORDER, MAIN), (0, 69, Why.ORDER)], {}, 0.0, Edit(), ("low", 1)),
        ([(12, 77, Why.ORDER), (5, 6, Why.NEAR)], {"linked": 0.4, "impossible": 2}, 0.2, Edit(), ("medium", 5)),
    ],
)
def test_confidence_at_its_limits(nodes, facts, width: float, edit: Edit, expected: tuple[str, int]) -> None:
    graph = _graph([(*node[:3], 0, *(node[3:] or (1,))) for node in nodes], (_host(), _host(**facts)))
    found, reasons = what_if._confidence(graph, width, edit)
    assert (found, len(reasons)) == expected


def test_silent_times_of_main_threads() -> None:
    at = SINCE - SHIFT  # on the clock of the second host
    levels = SimpleNamespace(begin_ps=[np.array([at + 20])], end_ps=[np.array([at + 35])], name=[np.array([0])])
    spans = SimpleNamespace(begin_ps=np.array([at + 50]), end_ps=np.array([at + 53]))
    others = SimpleNamespace(begin_ps=np.array([at + 40]), end_ps=np.array([at + 80]))
    contents = ((1, SimpleNamespace(spans=others)), (MAIN, SimpleNamespace(spans=spans)))
    second = _host(thread=SimpleNamespace(levels=levels), contents=contents)
    nodes = [(0, 20, 0, 0, MAIN), (0, 10, 0, 1, MAIN), (0, 10, 0, 1, 1), (0, 60, 0, 1, MAIN)]
    graph = _graph(nodes, (_host(), second))
    path, time = np.arange(4), np.array([20, 10, 10, 60])
    # 20 to 30 is covered, of 40 to 100 only 50 to 53.
    assert [what_if._silent(graph, number, path, time) for number in (0, 1)] == [20, 57]
    time[3] = 0  # before the steps begin
    assert [what_if._silent(graph, number, path, time) for number in (0, 1)] == [20, 0]


def test_parts_of_the_path_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(what_if, "kind_of", lambda op: op.name)
    ops = [SimpleNamespace(name=name, work=work) for name, work in (("a", Work.COMMUNICATION), ("b", Work.COMPUTE))]
    at = SINCE - SHIFT
    begin, end = at + np.array([5, 25, 70, 35]), at + np.array([20, 30, 78, 38])
    spans = SimpleNamespace(op=np.array([0, 1, 1, 1]), begin_ps=begin, end_ps=end)
    inside = SimpleNamespace(op=np.array([1]), begin_ps=np.array([at + 82]), end_ps=np.array([at + 86]))
    levels = SimpleNamespace(
        begin_ps=[np.array([at + 86])], end_ps=[np.array([at + 89])], name=[np.array([0])],
        covering=lambda begin, end, chosen: np.where((begin >= at + 86) & (end <= at + 89), 0, -1),
    )  # fmt: skip
    thread = SimpleNamespace(levels=levels, user=np.array([True]), names=["$x.py:1 f"])
    second = _host(
        devices=[SimpleNamespace(ops=ops)], thread=thread,
        contents=((1, SimpleNamespace(spans=spans, device=0)), (MAIN, SimpleNamespace(spans=inside, device=0))),
        lines={3: None}, chains={3: SimpleNamespace(name="loader")},
    )  # fmt: skip
    nodes = [
        (1, 29, Why.LAUNCH, 1, 1), (1, 10, Why.LAUNCH, 1, 3), (2, 7, Why.RESULT, 0, MAIN), (4, 8, Why.MEETING, -1, -1),
        (0, 0, Why.ORDER, 1, 1), (3, 15, Why.ORDER, 1, 1), (0, 10, None, 1, MAIN),
    ]  # fmt: skip
    graph = _graph(nodes, (_host(), second))
    graph.meetings = SimpleNamespace(node=np.array([3]), name=np.array([1]), names=("other", "all-reduce"))
    graph.begin_ps[4], graph.end_ps[4] = SINCE + 35, SINCE + 38  # as recorded; replayed it takes no time
    gone = SimpleNamespace(within=lambda begin, end: 0 * begin, kept=lambda begin, end: np.full(len(begin), 0.5))
    change = SimpleNamespace(
        runs=[[], [np.array([1.0, 1.0, 0.5, 1.0]), np.array([0.5])]], threads=[{MAIN: gone}, {MAIN: gone}]
    )
    assert what_if._sums(graph, graph.recorded, change) == {
        ("launch", ""): 2, ("wait", ""): 2, ("collective", "all-reduce"): 8, ("collective", "a"): 15, ("op", "b"): 10,
        ("host code", ""): 7 + 6, ("host code", "x.py:1 f"): 3, ("host code", "thread loader"): 10,
        ("idle", ""): 7 + 20,
    }  # fmt: skip


def test_limits_are_a_thousandth_of_the_path_or_more() -> None:
    graph = _graph([(0, 1, None, 0, 1)])
    sums = {("op", "a"): 1996.5, ("op", "b"): 2.0, ("op", "c"): 1.5}
    assert [(one.name, one.time_ps) for one in what_if._limits(graph, sums)] == [("a", 998.25), ("b", 1.0)]
