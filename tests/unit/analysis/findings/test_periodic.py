"""Work of the steps that are far longer than the others, of typed-in calls and times."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tpu_profile_plugin.analysis.blame.host_blame import HostBlame
from tpu_profile_plugin.analysis.blame.stacks import stacks_of
from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, COMPUTE, IDLE_HOST
from tpu_profile_plugin.analysis.budget.host_names import is_user_frame
from tpu_profile_plugin.analysis.budget.host_time import MainThread, levels
from tpu_profile_plugin.analysis.budget.purpose import Purpose
from tpu_profile_plugin.analysis.common.spans import Times, no_time
from tpu_profile_plugin.analysis.devices.rare_programs import RarePrograms
from tpu_profile_plugin.analysis.findings.evidence.host import periodic
from tpu_profile_plugin.analysis.findings.evidence.host.calls import calls_of, tree_of
from tpu_profile_plugin.analysis.findings.evidence.host.periodic import (
    Kind,
    PeriodicWork,
    _Exceptions,
    _merged,
    periodic_work,
)
from tpu_profile_plugin.analysis.summary.outliers import StepOutliers

LENGTHS = (1000, 3000, 1000, 1000, 2000, 1000)
"""Two exceptions, the second and the fifth: 2000 and 1000 longer than the median."""
SAVE, DUMP, PRINT, SLEEP, SORT = "$t.py:1 save", "$_pickle dump", "$builtins print", "$time sleep", "$t.py:2 sort"
STEP, COLLECT, STOP = "$t.py:9 step", "$gc collect", "$profiler.py:271 stop_trace"
HASH, LAUNCH = "$_hashlib openssl_sha256", "PjitFunction(eval_step)"


def spans(*pairs: tuple[int, int]) -> Times:
    begin, end = zip(*pairs, strict=True) if pairs else ((), ())
    return np.array(begin, np.int64), np.array(end, np.int64)


def told(times: Times) -> list[tuple[int, int]]:
    return list(zip(times[0].tolist(), times[1].tolist(), strict=True))


def outliers(lengths: tuple[int, ...], share: float = 0.5) -> StepOutliers:
    rows = np.flatnonzero(np.array(lengths) > 1000)
    return StepOutliers(np.array(lengths, float), 1000.0, 100.0, 1500.0, rows, (), 100 * share, 0.0, None)


def host_of(
    *events: tuple[int, int, str], lengths: tuple[int, ...] = LENGTHS, share: float = 0.5, **time: Times
) -> Any:
    """A host without devices: events of its main thread, and when it compiles, reads input or fetches results."""
    known = tuple(dict.fromkeys(name for *_, name in events))
    begin, end = spans(*((begin, end) for begin, end, _ in events))
    user = np.array([is_user_frame(name) for name in known], np.bool_)
    which = np.array([known.index(name) for *_, name in events], np.int64)
    main = MainThread(levels(begin, end, which), known, user, traced=True)
    stacks = stacks_of(main)
    ends = np.cumsum(lengths)
    of_host = {"compile_": no_time(), "input": no_time(), "transfer": no_time()} | time
    return SimpleNamespace(
        windows=(ends - lengths, ends),
        reader=SimpleNamespace(time=SimpleNamespace(**of_host)),
        derived={calls_of.__wrapped__: tree_of(main, stacks)},
        blame=HostBlame(stacks=stacks, thread_ps=np.zeros(len(stacks.parent), np.int64)),
        devices=(),
        time=SimpleNamespace(base_ps=1000, cells=6),
        steps=outliers(lengths, share),
    )


def exceptions(*events: tuple[int, int, str], **more: Any) -> _Exceptions:
    host = host_of(*(events or ((0, 9000, STEP),)), **more)
    return _Exceptions(host, host.steps)


def test_how_much_more_of_something_exceptions_have():
    found = exceptions()
    assert found.excess_ps.tolist() == [2000, 1000]
    assert found.usual.tolist() == [True, False, True, True, False, True]
    assert found.more(np.array([10, 1019, 30, 0, 5, 40])).tolist() == [999, 0]
    assert found.explained(np.array([10, 1020, 30, 0, 519, 40])).tolist() == [True, False]
    assert found.explained(np.array([10, 1019, 30, 0, 520, 40])).tolist() == [False, True]
    assert found.each(spans((900, 1100), (6500, 8100))).tolist() == [100, 100, 0, 0, 1500, 100]
    assert [side.tolist() for side in found.windows_of(found.usual)] == [
        [0, 4000, 5000, 8000],
        [1000, 5000, 6000, 9000],
    ]


def test_how_long_calls_are_the_innermost_in_each_step():
    found = exceptions((500, 1600, SAVE), (700, 1200, DUMP), (4100, 4150, PRINT), (7900, 8010, DUMP))
    dumps = found._named("$_pickle dump".__eq__)
    assert found.of_calls(dumps).tolist() == [300, 200, 0, 0, 100, 10]
    assert found.of_calls(~dumps).tolist() == [700, 2800, 1000, 1000, 1900, 990]


NOTHING = spans()
BOTH, FIRST = np.array([True, True]), np.array([True, False])


def cause(found: _Exceptions, left: Any) -> tuple[str, str, str, list[tuple[int, int]]] | None:
    kind = found.largest(left)
    return None if kind is None else (kind.purpose.name, kind.function, kind.call, told(kind.times))


@pytest.mark.parametrize(
    ("events", "left", "expected"),
    [
        # A tenth of the excess of 3000 or 2000 is enough for a known purpose.
        ([(1000, 1300, DUMP)], BOTH, ("CHECKPOINT", "", DUMP, [(1000, 1300)])),
        ([(1000, 1299, DUMP)], BOTH, None),
        ([(1000, 1299, DUMP)], FIRST, ("CHECKPOINT", "", DUMP, [(1000, 1299)])),
        # 310 there, 120 elsewhere: more than five times as long per step, but only 250 of it is more.
        ([(1000, 1310, DUMP), (0, 120, DUMP)], BOTH, None),
        ([(1000, 1360, DUMP), (0, 120, DUMP)], BOTH, ("CHECKPOINT", "", DUMP, [(0, 120), (1000, 1360)])),
        # Work without a known purpose takes half of the excess.
        ([(1000, 2500, SORT)], BOTH, ("UNKNOWN", SORT, "", [(1000, 2500)])),
        ([(1000, 2499, SORT)], BOTH, None),
        # And not more than half of the other steps, 2000 of 4000.
        ([(1000, 4000, SORT), (4000, 6000, SORT)], FIRST, ("UNKNOWN", SORT, "", [(1000, 6000)])),
        ([(1000, 4000, SORT), (4000, 6000, SORT), (8000, 8001, SORT)], FIRST, None),
        # A function with the call in it that tells; its own time counts with it.
        (
            [(1000, 2000, SAVE), (1100, 1900, DUMP), (1200, 1800, "write")],
            BOTH,
            ("CHECKPOINT", SAVE, DUMP, [(1000, 2000)]),
        ),
        # Where the function around it runs in all steps, all that is new counts.
        (
            [(0, 9000, STEP), (1100, 1900, DUMP), (2000, 2400, SLEEP)],
            BOTH,
            ("CHECKPOINT", STEP, DUMP, [(1100, 1900), (2000, 2400)]),
        ),
        # The excess decides: 400 of one function, 450 of another that has 150 in the other steps, 75 for two of these.
        (
            [(1000, 1400, DUMP), (1400, 1850, PRINT), (4000, 4150, PRINT)],
            BOTH,
            ("CHECKPOINT", "", DUMP, [(1000, 1850), (4000, 4150)]),
        ),
        # The same call in a function of its own, in which it takes as long in the others, is another matter.
        (
            [
                *((1000, 2000, SAVE), (1100, 1900, DUMP), (2000, 2400, SORT), (2390, 2400, DUMP)),
                *((4000, 4020, SORT), (4000, 4020, DUMP)),
            ],
            BOTH,
            ("CHECKPOINT", SAVE, DUMP, [(1000, 2000)]),
        ),
        # A function with less than a tenth, within a library's call: all of that call counts.
        (
            [(1000, 1350, "lib"), (1000, 1250, SORT), (1010, 1210, DUMP)],
            BOTH,
            ("CHECKPOINT", SORT, DUMP, [(1000, 1350)]),
        ),
        ([(1000, 2500, "backend_compile")], BOTH, None),
    ],
)
def test_what_most_of_the_excess_goes_to(events, left, expected):
    assert cause(exceptions(*events), left) == expected


@pytest.mark.parametrize(("end", "expected"), [(2500, "CHECKPOINT"), (2499, None)])
def test_programs_explain_the_excess(monkeypatch, end, expected):
    """A launch outside of these steps is none of their programs'."""
    rare = RarePrograms(spans((1000, end)), "jit_eval_step")
    monkeypatch.setattr(periodic, "rare_programs", lambda *asked: rare)
    found = exceptions((0, 9000, STEP), (9500, 9600, LAUNCH))
    found.host.devices, found.host.hlo = (None,), SimpleNamespace(programs=None)
    kind = found.largest(BOTH)
    assert (None if kind is None else (kind.purpose.name, kind.function, kind.call)) == (
        None if expected is None else ("EVALUATION", "", "")
    )
    launched = exceptions((0, 9000, STEP), (1100, 1110, LAUNCH))
    launched.host.devices, launched.host.hlo = (None,), SimpleNamespace(programs=None)
    kind = launched.largest(BOTH)
    assert (None if kind is None else kind.call) == (None if expected is None else LAUNCH)


@pytest.mark.parametrize(("end", "call"), [(1500, COLLECT), (1499, "")])
def test_garbage_that_the_program_collects_by_a_call(monkeypatch, end, call):
    """Half of the time or more is in that call."""
    monkeypatch.setattr(periodic, "collections", lambda main: spans((1000, 2000), (6000, 7000)))
    found = exceptions((0, 9000, STEP), (1000, end, COLLECT), (6000, 6500, COLLECT)).largest(BOTH)
    assert found is not None
    assert (found.purpose.name, found.function, found.call, found.called) == ("COLLECTION", STEP, call, bool(call))
    assert told(found.times) == [(1000, 2000), (6000, 7000)]


def spent(*parts: dict[int, int]) -> Any:
    """Time of each step and device by part of the budget; both have the same in all but the second step."""
    table = np.zeros((len(parts), 2, len(CATEGORIES)), np.int64)
    for row, of_step in enumerate(parts):
        for part, ps in of_step.items():
            table[row, :, part] = ps
    table[1, 0, COMPUTE] += 600
    table[1, 0, IDLE_HOST] -= 600
    return SimpleNamespace(stacked=lambda parts: table)


def busy_for(*runs: tuple[int, int]) -> Any:
    begin, end = spans(*runs)
    none = spans()
    control = SimpleNamespace(begin_ps=none[0], end_ps=none[1])
    return SimpleNamespace(runs=SimpleNamespace(begin_ps=begin, end_ps=end), control=control)


def on_two_devices() -> _Exceptions:
    """Devices work for 500 in each step; in the second one the first also runs a program for 600."""
    found = exceptions()
    begin = found.host.windows[0]
    usual = [(at, at + 500) for at in begin.tolist()]
    duration = np.array([1000, 3000, 1000, 900, 2000, 1000])
    ordinary = {COMPUTE: 500, IDLE_HOST: 500}
    found.host.devices = busy_for(*usual, (2000, 2600)), busy_for(*usual)
    found.host.time = SimpleNamespace(
        begin_ps=np.stack([begin, begin], axis=1),
        duration_ps=np.stack([duration, duration], axis=1),
        takes_part=np.ones((6, 2), np.bool_),
        time_ps=spent(
            *(ordinary, {COMPUTE: 500, IDLE_HOST: 2500}, ordinary, {COMPUTE: 500, IDLE_HOST: 400}),
            *({COMPUTE: 500, IDLE_HOST: 1500}, ordinary),
        ),
    )
    return found


def test_what_exceptions_cost():
    """In the second step 3400 more of both devices is idle, with 300 of the program at most 3700 are lost.

    Of what is more there 3450 is idle and 600 computation, 300 of it that program's. The fifth loses its excess.
    """
    found = on_two_devices()
    lost, parts = found.lost(BOTH, np.array([150.0, 0.0]))
    assert lost.tolist() == pytest.approx([1850, 1000])
    assert {part: ps for part, ps in enumerate(parts.tolist()) if ps} == {COMPUTE: 296, IDLE_HOST: 3404 + 2000}
    lost, parts = found.lost(FIRST, np.array([150.0, 0.0]))
    assert lost.tolist() == pytest.approx([1850, 0])
    assert parts.sum() == 3700
    found.host.time.takes_part[4, 1] = False
    lost, parts = found.lost(~FIRST, np.array([0.0, 0.0]))
    assert (lost.tolist(), parts.sum()) == ([0, pytest.approx(1000)], 1000)


MANY = (*[1000] * 10, 3000, *[1000] * 10, 3000)
"""Two exceptions of 22 steps: the eleventh and the last."""


def kind_of(found: _Exceptions, lost: float = 1000.0, rare: RarePrograms | None = None, **cause: Any) -> Kind:
    kind = Kind(Purpose.CHECKPOINT, SAVE, DUMP, cause.pop("times", no_time()), rare or RarePrograms())
    return found.kind(replace(kind, **cause), BOTH, np.array([lost / 2, lost / 2]))


@pytest.mark.parametrize(
    ("times", "program", "only"),
    [
        ([(10_000, 11_000), (0, 5)], [], True),
        ([(10_000, 11_000), (0, 5), (1100, 1105)], [], False),
        # What programs run is asked only without calls.
        ([(10_000, 11_000), (0, 5)], [(0, 9000)], True),
        ([], [(10_000, 11_000), (500, 510)], True),
        ([], [(10_000, 11_000), (500, 510), (2500, 2510)], False),
        ([], [], True),
    ],
)
def test_work_that_runs_in_no_other_steps(times, program, only):
    """In one of twenty others at most."""
    found = exceptions(lengths=MANY)
    kind = kind_of(found, rare=RarePrograms(spans(*sorted(program)), "f"), times=spans(*sorted(times)))
    assert kind.only is only
    assert (kind.rows, kind.lost_ps) == ((10, 21), 1000.0)


@pytest.mark.parametrize(("end", "name"), [(10_200, "f"), (10_199, "")])
def test_programs_with_a_fifth_of_the_loss_are_named(end, name):
    assert kind_of(exceptions(lengths=MANY), rare=RarePrograms(spans((10_000, end)), "f")).program == name


@pytest.mark.parametrize(
    ("end", "purpose", "waits"),
    [(10_500, Purpose.CHECKPOINT, True), (10_499, Purpose.CHECKPOINT, False), (10_600, Purpose.LOGGING, False)],
)
def test_work_that_mostly_waits_for_a_checkpoint(end, purpose, waits):
    found = exceptions((10_000, end, "$async.py:3 wait_until_finished"), lengths=MANY)
    assert kind_of(found, purpose=purpose, times=spans((10_000, 11_000))).waits is waits


def test_the_same_work_with_another_call_counts_as_one():
    one = Kind(Purpose.CHECKPOINT, SAVE, DUMP, no_time(), RarePrograms(), (4, 9), 50.0)
    kinds = [
        one,
        replace(one, purpose=Purpose.LOGGING, lost_ps=70.0),
        replace(one, call="x", rows=(2, 9), lost_ps=30.0),
    ]
    kinds.append(replace(one, function=SORT, rows=(1,), lost_ps=60.0))
    found = [(kind.purpose.name, kind.function, kind.call, kind.rows, kind.lost_ps) for kind in _merged(kinds)]
    assert found == [
        ("CHECKPOINT", SAVE, DUMP, (2, 4, 9), 80.0),
        ("LOGGING", SAVE, DUMP, (4, 9), 70.0),
        ("CHECKPOINT", SORT, DUMP, (1,), 60.0),
    ]


# All of a host's exceptions. In these tests each loses its excess, on the host.


@pytest.fixture
def found_in(monkeypatch):
    def lost(self, which, programs):
        ps = np.where(which, self.excess_ps, 0.0)
        parts = np.zeros(len(CATEGORIES) + 1, np.int64)
        parts[IDLE_HOST] = ps.sum()
        return ps, parts

    def find(*events: tuple[int, int, str], traced: Times = NOTHING, **more: Any) -> PeriodicWork | None:
        monkeypatch.setattr(periodic, "step_outliers", lambda time: host.steps)
        monkeypatch.setattr(periodic, "traced_calls", lambda host: (traced, Counter()))
        monkeypatch.setattr(_Exceptions, "lost", lost)
        host = host_of(*events, **more)
        return periodic_work(host)

    return find


def kinds(work: PeriodicWork | None) -> list[tuple[str, tuple[int, ...], float]]:
    assert work is not None
    return [(kind.function, kind.rows, kind.lost_ps) for kind in work.kinds]


def test_exceptions_that_cost_enough(found_in):
    assert found_in((1000, 3000, SAVE), share=0.0499) is None
    assert kinds(found_in((1000, 3000, SAVE), (1000, 3000, DUMP), share=0.05)) == [(SAVE, (1,), 2000.0)]


def test_exceptions_that_other_rules_explain(found_in):
    """The first compiles, by a call or as a function is traced; the second ends the recording, the third saves."""
    lengths = (1000, 2000, 1000, 2000, 1000, 2000, 1000)
    events = [(1000, 2000, STEP), (4000, 5000, STOP), (7000, 8000, SAVE), (7000, 8000, DUMP)]
    for compiles in ({"compile_": spans((1000, 1600))}, {"traced": spans((1000, 1600))}):
        work = found_in(*events, lengths=lengths, **compiles)
        assert kinds(work) == [(SAVE, (5,), 1000.0)]
        assert work.others == {"compilation": 1}
    assert found_in(*events, lengths=lengths).others == {"compilation": 0}


@pytest.mark.parametrize(
    ("excesses", "found"),
    [((1500, 500), 2), ((1501, 499), 1), ((4000, 3000, 2500, 2000), 3), ((1000, 1000, 1000, 1000), 3), ((500, 500), 2)],
)
def test_kinds_of_work_until_little_is_left(found_in, excesses, found):
    """Less than a quarter of the excess, or three kinds."""
    lengths = [1000]
    events: list[tuple[int, int, str]] = []
    for number, more in enumerate(excesses):
        at = sum(lengths)
        events += [(at, at + more, f"$t.py:{number} save"), (at, at + more, (DUMP, PRINT, SLEEP, HASH)[number])]
        lengths += [1000 + more, *[1000] * 3]
    work = found_in(*events, lengths=tuple(lengths))
    assert len(kinds(work)) == found
    assert {name for name, *_ in kinds(work)} == {f"$t.py:{number} save" for number in range(found)}
    assert work.by_part[IDLE_HOST] == work.by_part.sum() == sum(excesses[:found])


def test_unknown_work_of_a_single_step(found_in):
    """Twice, in different functions; waits for input or results are the business of other rules."""
    events = [(1000, 3000, SORT), (6000, 7000, "$t.py:7 shuffle")]
    work = found_in(*events)
    assert (kinds(work), work.single, work.others["waits for input"]) == ([], 2, 0)
    work = found_in(*events, input=spans((1000, 2000)), transfer=spans((6000, 6500)))
    assert (work.single, work.others["waits for input"], work.others["waits for results"]) == (0, 1, 1)
    work = found_in(*events, input=spans((1000, 1999)), transfer=spans((6000, 6499)))
    assert (work.single, work.others["waits for input"], work.others["waits for results"]) == (2, 0, 0)


@pytest.mark.parametrize(("base_ps", "times"), [(10_000, [(1000, 3000)]), (10_001, [])])
def test_work_that_costs_too_little_for_a_finding(found_in, monkeypatch, base_ps, times):
    """3000 are 5% of six steps of 10,000."""
    make = host_of

    def host(*events: Any, **more: Any) -> Any:
        made = make(*events, **more)
        made.time.base_ps = base_ps
        return made

    monkeypatch.setitem(globals(), "host_of", host)
    work = found_in((1000, 3000, SAVE), (1000, 3000, DUMP), (6000, 7000, SAVE), (6000, 7000, DUMP), (200, 210, SAVE))
    assert kinds(work) == [(SAVE, (1, 4), 3000.0)]
    assert told(work.times) == ([*times, (6000, 7000)] if times else [])
