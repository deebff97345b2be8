"""Idle time that the main thread's code causes, of typed-in calls and gaps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tpu_profile_plugin.analysis.blame.stacks import NOWHERE, stacks_of
from tpu_profile_plugin.analysis.budget import categories as part
from tpu_profile_plugin.analysis.budget.host_names import is_user_frame
from tpu_profile_plugin.analysis.budget.host_time import MainThread, levels
from tpu_profile_plugin.analysis.common.spans import Times
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH
from tpu_profile_plugin.analysis.findings.evidence.host import code
from tpu_profile_plugin.analysis.findings.evidence.host.calls import Calls, calls_of, tree_of
from tpu_profile_plugin.analysis.findings.evidence.host.code import (
    Fetches,
    Idle,
    _fetches,
    _Gaps,
    _Rest,
    _waits_for_all,
    code_of,
)
from tpu_profile_plugin.analysis.findings.evidence.host.periodic import periodic_work

US = 10**6


def spans(*pairs: tuple[int, int]) -> Times:
    """A set of time in us."""
    begin, end = zip(*pairs, strict=True) if pairs else ((), ())
    return np.array(begin, np.int64) * US, np.array(end, np.int64) * US


def told(times: Times) -> list[tuple[int, int]]:
    return [(begin // US, end // US) for begin, end in zip(times[0].tolist(), times[1].tolist(), strict=True)]


def calls_in(*events: tuple[int, int, str]) -> Calls:
    """The calls of a thread with these events: begin and end in us, name."""
    known = tuple(dict.fromkeys(name for *_, name in events))
    begin, end = spans(*((begin, end) for begin, end, _ in events))
    user = np.array([is_user_frame(name) for name in known], np.bool_)
    which = np.array([known.index(name) for *_, name in events], np.int64)
    main = MainThread(levels(begin, end, which), known, user, traced=True)
    return tree_of(main, stacks_of(main))


def idle(*rows: tuple[int, int, int]) -> Idle:
    """Spans: begin and end in ps, device."""
    return Idle(*np.array(rows, np.int64).reshape(-1, 3).T)


def test_idle_spans_of_devices():
    found = idle((100, 111, 0), (50, 60, 2), (300, 301, 0))
    assert (found.ps.tolist(), found.middle.tolist(), found.total()) == ([11, 10, 1], [105, 55, 300], 22)
    assert [[side.tolist() for side in found.of_device(number)] for number in range(3)] == [
        *([[100, 300], [111, 301]], [[], []], [[50], [60]]),
    ]
    assert found.where(found.device == 2).begin_ps.tolist() == [50]
    assert len(found) == 3


def test_idle_spans_of_a_step_of_cpus_count_as_twice_the_usual():
    """The third step, with 80 of 40, 20, 80, 30, 40: half of the median's double is left of each of its spans."""
    host: Any = SimpleNamespace(on_cpus=True, windows=(np.array([100, 200, 300, 400, 500]), None))
    found = idle((90, 100, 0), (110, 140, 0), (210, 230, 0), (300, 360, 1), (370, 390, 0), (400, 410, 0), (500, 510, 1))
    kept = found.usual(host)
    assert kept.begin_ps.tolist() == found.begin_ps.tolist()
    # Steps have 40, 20, 80, 10 and 10: twice the median of 20 is 40, half of 80.
    assert kept.ps.tolist() == [10, 30, 20, 30, 10, 10, 10]
    assert found.usual(SimpleNamespace(on_cpus=True, windows=(np.zeros(0, np.int64), None))) is found
    nothing = idle()
    assert nothing.usual(host) is nothing


FETCH, SLEEP, PRINT, PUT, LAUNCH = (
    "$array.py:298 __float__",
    "$time sleep",
    "$builtins print",
    "DevicePut",
    "PjitFunction(f)",
)
ARRAY, READY = "$numpy asarray", "$array.py:9 block_until_ready"


def test_the_outermost_calls_that_wait_for_results():
    """Those of the same begin and end, those within others, and conversions in which a device stops."""
    calls = calls_in(
        (10, 30, READY), (10, 20, FETCH), (30, 40, FETCH), (50, 60, ARRAY), (70, 80, ARRAY), (90, 100, ARRAY),
        (110, 120, "$numpy asarray_chkfinite"), (130, 190, PRINT), (140, 150, FETCH), (152, 158, FETCH),
    )  # fmt: skip
    found = _fetches(calls, np.array([50, 80, 101, 115]) * US)
    named = [calls.main.names[name] for name in found.name]
    assert list(zip(told((found.begin_ps, found.end_ps)), named, strict=True)) == [
        ((10, 30), READY), ((30, 40), FETCH), ((50, 60), ARRAY), ((70, 80), ARRAY), ((140, 150), FETCH),
        ((152, 158), FETCH),
    ]  # fmt: skip
    assert told(_waits_for_all(found, calls)) == [(10, 30)]
    assert told(_waits_for_all(Fetches(), calls)) == []
    empty = tree_of(MainThread(), stacks_of(MainThread()))
    assert len(_fetches(empty, np.zeros(0, np.int64))) == 0
    assert len(_fetches(calls_in((0, 9, PRINT)), np.array([5]) * US)) == 0


STEP, LOAD, LOG, STOP, EVALUATE = "$t.py:1 step", "$t.py:2 load", "$t.py:3 log", "$t.py:4 stop", "$t.py:5 evaluate"


def rest_of(*, ops_in_calls: bool, works: tuple[tuple[int, int], ...] = ()) -> dict[str, list[tuple[int, int]]]:
    calls = calls_in(
        (0, 1000, STEP), (700, 790, "lib"), (900, 910, LAUNCH),
        (1000, 2000, LOAD),
        (2000, 3000, LOG), (2000, 2900, PRINT), (2905, 2940, "other lib"), (2950, 2960, PUT),
        (3000, 4000, STOP), (3000, 3900, "$profiler.py:271 stop_trace"),
        (4000, 5000, PUT), (4100, 4900, "inner"),
        (7000, 8000, SLEEP), (8000, 9000, EVALUATE),
    )  # fmt: skip
    code = spans(
        (100, 299), (300, 500), (710, 720), (905, 908), (1100, 1150), (1950, 2100), (2910, 2920), (3800, 3890),
        (4200, 4250), (6000, 6050), (7100, 7150),
    )  # fmt: skip
    other = spans((4500, 5100), (5200, 5399), (5400, 5600))
    launch = spans((920, 980), (2500, 2800))
    fetches = spans((1120, 1130), (5500, 5510))
    time: Any = SimpleNamespace(
        spent=((part.IDLE_OTHER, other), (part.IDLE_HOST, code), (part.IDLE_LAUNCH, launch)),
        work=SimpleNamespace(any=spans(*works)),
    )
    waits = Fetches(*fetches, np.zeros(2, np.int64))
    rest = _Rest.of(time, calls, waits, ops_in_calls=ops_in_calls)
    return {side: told(getattr(rest, side)) for side in ("slow", "glue", "unknown", "short", "fetching")}


def test_code_calls_and_time_without_events():
    """Code of 200 us, a part of it in a call with a purpose, and that in functions which call no runtime is slow."""
    slow = [(300, 500), (1100, 1120), (1130, 1150), (1950, 2100), (2500, 2800), (6000, 6050), (7100, 7150)]
    expected = {
        "slow": slow,
        "glue": [(100, 299), (710, 720), (905, 908), (2910, 2920)],
        "unknown": [(4500, 5100)],
        "short": [(5200, 5399), (5400, 5500), (5510, 5600)],
        "fetching": [(1120, 1130), (5500, 5510)],
    }
    assert rest_of(ops_in_calls=False) == expected
    assert rest_of(ops_in_calls=False, works=((7500, 7600),)) == expected


def test_code_where_ops_run_in_calls_of_the_host():
    """Events without a purpose outside of functions are the framework's, and ops in code with a purpose are its own."""
    expected = {
        "slow": [(300, 500), (1100, 1120), (1130, 1150), (1950, 2100), (2500, 2800), (7100, 7150)],
        "glue": [(100, 299), (710, 720), (905, 908), (2910, 2920)],
        "unknown": [],
        "short": [(5000, 5100), (5200, 5399), (5400, 5500), (5510, 5600)],
        "fetching": [(1120, 1130), (5500, 5510)],
    }
    assert rest_of(ops_in_calls=True) == expected
    found = rest_of(ops_in_calls=True, works=((1200, 1300), (7500, 7600), (8100, 8200)))
    assert found == expected | {"slow": [*expected["slow"], (7500, 7600)]}


@pytest.mark.parametrize(("length", "unknown"), [(199, []), (200, [(5000, 5200)])])
def test_time_without_events_is_short_below_a_limit(length, unknown):
    calls = calls_in((0, 1000, STEP))
    time: Any = SimpleNamespace(spent=((part.IDLE_OTHER, spans((5000, 5000 + length))),))
    rest = _Rest.of(time, calls, Fetches(), ops_in_calls=False)
    assert told(rest.unknown) == unknown
    assert told(rest.short) == ([] if unknown else [(5000, 5199)])


def gaps(
    idle: Times, fetches: Times, launches: dict[int, int], *, begins: tuple[int, ...] = (), last: int = 0
) -> _Gaps:
    """Gaps of a device; `launches`: by the start of work, when it was launched; `begins`: of all launches; in us."""
    calls = SimpleNamespace(times=lambda key: (np.where(key > 0, key * US, NO_LAUNCH), None))
    reader = SimpleNamespace(time=SimpleNamespace(calls=calls, launch=(np.array(begins, np.int64) * US, None)))
    device: Any = SimpleNamespace(
        starts=np.array(list(launches), np.int64) * US,
        launch_key=np.array(list(launches.values()), np.int64),
        runs=SimpleNamespace(end_ps=np.array([last] if last else [], np.int64) * US),
    )
    host: Any = SimpleNamespace(reader=reader)
    return _Gaps(idle, device, host, Fetches(*fetches, np.zeros(len(fetches[0]), np.int64)))


def test_when_the_work_after_each_gap_was_launched():
    """Work begins at 200, 400 and 600 us; that of 600 has no known launch, at the end of the others none begins."""
    found = gaps(spans((100, 200), (300, 399), (450, 600), (700, 800)), spans(), {200: 150, 400: 390, 600: 0})
    launched = found._launched()
    assert launched.tolist() == [150 * US, NO_LAUNCH, NO_LAUNCH, NO_LAUNCH]
    unknown = gaps(spans((100, 200), (300, 400)), spans(), {})
    assert unknown._launched().tolist() == [NO_LAUNCH, NO_LAUNCH]


@pytest.mark.parametrize(
    ("begins", "late"),
    [
        ((), [(3250, 3500)]),
        # The first launch in a gap, at its begin or later, where nothing tells which one it is.
        ((100, 1000, 2100, 4900), [(1200, 1500), (2300, 2500), (3250, 3500)]),
        ((1301, 1310), [(3250, 3500)]),
        ((1299, 2499), [(1499, 1500), (3250, 3500)]),
        ((900,), [(3250, 3500)]),
    ],
)
def test_the_end_of_gaps_in_which_a_launch_has_usually_started_its_work(begins, late):
    found = gaps(
        spans((1000, 1500), (2000, 2500), (3000, 3500), (4000, 4500), (5000, 5100)), spans(), {}, begins=begins
    )
    # Launched at the end of the gap (as far as the runtime tells), in it, 200 us before its end, before it.
    launched = np.array([NO_LAUNCH, 2500 * US, 3050 * US, 4300 * US, 4900 * US])
    assert told(found._long_launched(launched)) == late


def test_launches_before_a_gap_count_from_its_begin_on():
    found = gaps(spans((1000, 1500)), spans(), {})
    assert told(found._long_launched(np.array([700 * US]))) == [(1000, 1500)]


def test_idle_time_from_the_begin_of_calls_that_end_in_it():
    """Calls that end before any gap, at a gap's begin, in it and at its end."""
    calls = spans((20, 90), (95, 100), (140, 150), (280, 300), (290, 299), (350, 360))
    assert told(gaps(spans((100, 200), (210, 300)), calls, {})._from_calls()) == [(95, 200), (290, 300)]


def caused(*, in_lockstep: bool, last: int = 4000, others: Times | None = None) -> list[tuple[int, int]]:
    found = gaps(
        spans((100, 200), (300, 400), (1000, 2000), (3000, 3100), (4000, 4500)),
        spans((50, 100), (280, 320), (900, 1100), (3050, 3060), (3990, 4100)),
        {200: 150, 400: 300, 2000: 1200, 3100: 3070},
        last=last,
    )
    nothing = spans()
    rest = _Rest(
        nothing, spans((100, 150), (1100, 1150)), nothing, spans((1150, 1200), (3062, 3070)), spans((310, 315))
    )
    time: Any = SimpleNamespace(
        spent=(
            (part.IDLE_TRANSFER, spans((300, 308), (1000, 1100), (3050, 3060), (4000, 4100))),
            (part.IDLE_LAUNCH, spans((150, 200), (330, 400), (1200, 2000), (3070, 3100), (4100, 4110))),
        )
    )
    return told(found.caused(time, rest, others, in_lockstep=in_lockstep))


def test_idle_time_that_calls_cause():
    """In them, and from them to the next work, unless that was launched before, or later than a launch takes."""
    expected = [(100, 200), (300, 308), (310, 315), (1000, 1400), (3050, 3060)]
    assert caused(in_lockstep=False) == expected
    # After the last wait no work follows.
    assert caused(in_lockstep=False, last=4500) == [*expected, (4000, 4110)]
    assert caused(in_lockstep=False, last=4499) == expected
    assert caused(in_lockstep=False, others=spans((90, 120), (3000, 9000))) == [(120, 200), *expected[1:4]]


def test_idle_time_that_calls_in_lockstep_cause():
    """Of each call that ends in a gap all time until the next work, were it launched before or late."""
    expected = [(100, 200), (300, 308), (310, 315), (330, 400), (1000, 2000), (3050, 3060), (3062, 3100)]
    assert caused(in_lockstep=True) == expected


# The time of a whole host.


class Steps:
    """Windows of steps."""

    def __init__(self, begin_ps: Any, end_ps: Any) -> None:
        self.begin_ps, self.end_ps = begin_ps, end_ps

    def __len__(self) -> int:
        return len(self.begin_ps)


def host_of(
    kind: str = "gpu", name: str = "/device:GPU:0", frameworks: tuple[str, ...] = (), wait=FETCH, **more: Any
) -> Any:
    """Two steps of 1000 us on one device, which works for the first half of each; one call fetches in each."""
    calls = calls_in((0, 900, STEP), (400, 600, wait), (1000, 1990, LOAD), (1400, 1600, wait), (1600, 1700, SLEEP))
    starts = np.array([0, 1000], np.int64) * US
    runs = SimpleNamespace(end_ps=np.array([500, 1500]) * US)
    device = SimpleNamespace(kind=kind, name=name, starts=starts, launch_key=np.array([0, 950]), runs=runs)
    time = SimpleNamespace(
        spent=(
            (part.IDLE_TRANSFER, spans((500, 600), (1500, 1600))),
            (part.IDLE_HOST, spans((600, 900), (1600, 1990), (1990, 2000))),
            (part.IDLE_OTHER, spans((900, 1000))),
        ),
        work=SimpleNamespace(any=spans((0, 500), (1000, 1500))),
        windows=spans((0, 1000), (1000, 2000)),
        between=spans(),
    )
    launches = SimpleNamespace(times=lambda key: (np.where(key > 0, key * US, NO_LAUNCH), None))
    reader = SimpleNamespace(time=SimpleNamespace(calls=launches, launch=(starts[:0], None)))
    derived = {calls_of.__wrapped__: calls, periodic_work.__wrapped__: None}
    host = SimpleNamespace(
        devices=() if kind == "host" else (device,),
        spent=SimpleNamespace(devices=(time,), steps=Steps(starts, starts + 1000 * US), shared=None),
        time=SimpleNamespace(takes_part=np.ones((2, 1), np.bool_)),
        summary=SimpleNamespace(frameworks=frameworks),
        reader=reader,
        derived=derived,
        steps=None,
        windows=(starts, starts + 1000 * US),
        on_cpus=False,
    )
    vars(host).update(more)
    return host


def found_in(host: Any) -> dict[str, list[tuple[int, int]]]:
    found = code_of(host)
    assert found is not None
    assert found.excess_ps == 0
    kinds = {kind: getattr(found, kind) for kind in ("after", "slow", "unknown", "launching")}
    return {kind: told((one.begin_ps, one.end_ps)) for kind, one in kinds.items() if len(one)}


@pytest.fixture
def share(monkeypatch) -> dict[str, float]:
    """The share of the step that is lost to idle time."""
    lost = {"share": 0.5}
    monkeypatch.setattr(code, "lost_to", lambda time, *parts: SimpleNamespace(**lost))
    return lost


AFTER_CALLS = [(500, 600), (900, 1000)]
SLOW = [(600, 900), (1600, 1990), (1990, 2000)]


def test_what_devices_wait_for_on_the_main_thread(share):
    host = host_of()
    found = code_of(host)
    assert found is not None
    assert found_in(host) == {"after": AFTER_CALLS, "slow": SLOW}
    assert (found.length_ps, found.fetched, found.blocked_ps) == (2000 * US, 2, 400 * US)
    assert found.in_lockstep is False
    names = [found.calls.main.names[name] for name in found.fetches.name]
    assert names == [FETCH, FETCH]
    rows = idle((550 * US, 950 * US, 0), (1590 * US, 1995 * US, 0), (590 * US, 610 * US, 2))
    node, ps = found.within(rows)
    named = {found.calls.name(one): ps // US for one, ps in zip(node.tolist(), ps.tolist(), strict=True)}
    assert named == {STEP: 310, LOAD: 290, FETCH: 10, SLEEP: 100, "": 55}
    assert (node[-1], ps.sum() // US) == (NOWHERE, 825)


@pytest.mark.parametrize(
    ("kind", "name", "frameworks", "part", "looks"),
    [
        ("gpu", "/device:GPU:0", (), 0.05, True),
        ("gpu", "/device:GPU:0", (), 0.0499, False),
        ("gpu", "tf_Compute", (), 0.0, True),
        ("host", "", (), 0.5, False),
        ("host", "", ("JAX",), 0.5, False),
        ("host", "", ("JAX", "TensorFlow"), 0.5, True),
        ("host", "", ("PyTorch",), 0.5, True),
    ],
)
def test_hosts_whose_devices_are_idle_enough(share, monkeypatch, kind, name, frameworks, part, looks):
    monkeypatch.setattr(code, "RUNS_WITHIN_HOST_CALLS", ("tf_Compute",))
    share["share"] = part
    found = code_of(host_of(kind, name, frameworks))
    assert (found is not None) == looks
    assert code_of(host_of(spent=None)) is None
    if found is not None:
        on_device = name.startswith("/device")
        assert len(found.fetches) == (2 if on_device else 0)
        # Of code outside of functions, where ops run in calls of the host, nothing is known.
        assert told((found.slow.begin_ps, found.slow.end_ps)) == (SLOW if on_device else SLOW[:2])


@pytest.mark.parametrize(
    ("each", "in_steps", "waits", "lockstep"),
    [(1, True, True, True), (3, True, True, False), (1, False, True, False), (1, True, False, False)],
)
def test_hosts_that_wait_several_times_per_step(share, monkeypatch, each, in_steps, waits, lockstep):
    asked = []
    monkeypatch.setattr(code, "WAITS_PER_STEP", each)
    monkeypatch.setattr(code, "synced", lambda host, steps, fetched: asked.append(fetched) or waits)
    found = code_of(host_of(steps=Steps([0, 1], [1, 2]) if in_steps else None))
    assert found is not None
    assert found.in_lockstep is lockstep
    assert asked == ([2] if lockstep or not waits else [])


@pytest.mark.parametrize(
    ("kind", "starts", "after"),
    [("gpu", False, True), ("cpu", True, True), ("cpu", False, False), ("tpu", True, True)],
)
def test_devices_of_the_cpu_without_launches_have_no_time_after_calls(share, kind, starts, after):
    host = host_of(kind)
    if not starts:
        host.devices[0].starts = host.devices[0].launch_key = np.zeros(0, np.int64)
    found = found_in(host)
    assert found.get("after", []) == (AFTER_CALLS if after else [])
    assert found.get("unknown", []) == []


@pytest.mark.parametrize(("wait", "after"), [(FETCH, AFTER_CALLS), (READY, [(500, 550), (580, 600), (900, 1000)])])
def test_waits_while_another_device_of_the_same_cores_works(share, wait, after):
    """Only what waits until a device has finished; results are another matter."""
    host = host_of(wait=wait)
    host.spent.shared = spans((550, 580), (990, 995))
    assert found_in(host)["after"] == after


@pytest.mark.parametrize(
    ("work", "slow"),
    [(((700, 800),), SLOW[1:]), (((1700, 1790),), SLOW), ((), SLOW)],
)
def test_what_only_some_steps_do_is_no_slow_code(share, work, slow):
    """Spans count whose middle, 750 or 1795 us, is not in that work."""
    host = host_of()
    host.derived[periodic_work.__wrapped__] = SimpleNamespace(times=spans(*work))
    assert found_in(host)["slow"] == slow
