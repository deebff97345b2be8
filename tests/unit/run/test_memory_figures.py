"""Figures of a run's memory on typed-in devices, allocators and programs: what is known, and what is largest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.memory.allocations import INVALID, DeviceMemory, MemoryUse, SpecialAllocation
from tpu_profile_plugin.analysis.memory.buffers import ProgramRan
from tpu_profile_plugin.errors import CorruptProfile, NoData
from tpu_profile_plugin.run.figures import memory as module
from tpu_profile_plugin.run.figures.memory import AllocatorPeak, AllocatorUse, Memory, ProgramPeak

TPU, UNKNOWN = DeviceMemory(Hardware.TPU, "TPU v5", 1000, "model"), DeviceMemory(Hardware.GPU)


@pytest.mark.parametrize(
    ("devices", "peaks", "known"),
    [
        ([TPU, UNKNOWN], [], True),
        ([UNKNOWN], [(30, 30)], False),
        ([UNKNOWN], [(30, 30), (30, 31)], True),
        ([], [], False),
    ],
)
def test_whether_memory_is_a_limit(devices: list[DeviceMemory], peaks: list[tuple[int, int]], known: bool) -> None:
    memory = Memory(
        {f"h{i}": one for i, one in enumerate(devices)},
        {("h0", str(i)): AllocatorPeak(*one) for i, one in enumerate(peaks)}, {},
    )  # fmt: skip
    assert (memory.caution == "") is known
    peak = ProgramPeak("f", "h", 9, 9, 1, 1, int(known), "", ())
    assert (peak.caution == "") is known


@pytest.mark.parametrize(
    ("programs", "largest"), [({"f": 3, "g": 9, "h": 9}, "g"), ({"f": 0}, "f"), ({}, "")]
)  # fmt: skip
def test_the_program_that_needs_most(programs: dict[str, int], largest: str) -> None:
    assert Memory({}, {}, programs).largest_program == largest


def use(in_use: int = 0, free: int = 0, *, of_device: bool = True, device: str = "", name: str = "a") -> AllocatorUse:
    return AllocatorUse("h", name, device, of_device, in_use, 0, in_use, free, 0, 0.0, 0, -1, -1, ())


@pytest.mark.parametrize(
    ("in_use", "free", "capacity", "share"), [(30, 90, 120, 0.25), (30, 0, 0, 0.0), (0, 90, 90, 0.0), (0, 0, 0, 0.0)]
)
def test_how_full_an_allocator_is(in_use: int, free: int, capacity: int, share: float) -> None:
    found = use(in_use, free)
    assert (found.capacity_bytes, found.share) == (capacity, share)


def test_an_allocator_is_called_by_its_device() -> None:
    assert (use(device="TPU 0").title, use().title) == ("TPU 0", "allocator a")


def run_of(*of_hosts: Any) -> Any:
    """A run whose hosts have these results, whatever is asked for."""
    hosts = [SimpleNamespace(name=f"h{i}") for i in range(len(of_hosts))]
    return SimpleNamespace(readable=hosts, map_hosts=lambda step: list(of_hosts))


def test_allocators_of_devices_come_first_the_fullest_of_them() -> None:
    uses = [
        use(50, 50, name="half"), use(0, 9, name="empty"), use(99, 1, of_device=False, name="of host"),
        use(60, 60, name="half as well"), use(9, 1, name="full"), use(70, name="unknown"), use(-5, 9, name="damaged"),
        use(80, name="more"),
    ]  # fmt: skip
    found = module.run_allocator_uses(run_of(tuple(uses[:3]), (), tuple(uses[3:])))
    assert [one.allocator for one in found] == ["full", "half as well", "half", "more", "unknown", "of host"]
    with pytest.raises(NoData):
        module.run_allocator_uses(run_of((use(0, 9),), ()))


def host_of(monkeypatch: pytest.MonkeyPatch, hardware: Hardware, **allocators: tuple[list[int], list[int]]) -> Any:
    """The peaks of a host whose allocators have in use and free so much after each event."""
    found = {name: MemoryUse(*map(np.array, columns)) for name, columns in allocators.items()}
    rows = {name: SimpleNamespace(rows=one, peak=len(one.in_use) - 2) for name, one in found.items() if len(one.in_use)}
    recorded = SimpleNamespace(by_memory=lambda: {name: name for name in rows}) if rows else None
    monkeypatch.setattr(module, "host_device_memory", lambda host: DeviceMemory(hardware))
    monkeypatch.setattr(module, "device_allocators", lambda space: found)
    monkeypatch.setattr(module, "host_allocations", lambda host, since_recording: (recorded, []))
    monkeypatch.setattr(
        module, "memory_peak", lambda name: rows[name] if name != "none" else SimpleNamespace(peak=None)
    )
    host: Any = SimpleNamespace(lazy=None)
    return module._of_host(host) if hardware is Hardware.CPU_ONLY else module._of_devices(host)


def test_peaks_of_allocators_and_what_is_free_then(monkeypatch: pytest.MonkeyPatch) -> None:
    given: Any = {"a": ([3, 9, 9, 1], [7, 1, 2, 9]), "b": ([], []), "zero": ([0, 0], [5, 5])}
    assert host_of(monkeypatch, Hardware.TPU, **given) == {"a": AllocatorPeak(9, 10), "zero": AllocatorPeak(0, 5)}
    # Of the host those that were ever in use.
    assert host_of(monkeypatch, Hardware.CPU_ONLY, **given, none=([7, 7], [0, 0])) == {"a": AllocatorPeak(9, 11)}
    assert host_of(monkeypatch, Hardware.CPU_ONLY) == {}


@pytest.mark.parametrize(
    ("devices", "allocators", "programs", "ran", "known"),
    [
        ([TPU], {}, {}, (), True),
        ([UNKNOWN, TPU], {}, {}, (), True),
        ([UNKNOWN], {"a": AllocatorPeak(1, 2)}, {}, (), True),
        ([UNKNOWN], {}, {"f": 9}, (), True),
        ([UNKNOWN], {}, {}, (ProgramRan("f", 9, True),), True),
        ([UNKNOWN, UNKNOWN], {}, {}, (), False),
    ],
)
def test_runs_that_tell_anything_of_memory(
    monkeypatch: pytest.MonkeyPatch, devices: Any, allocators: Any, programs: Any, ran: Any, known: bool
) -> None:
    monkeypatch.setattr(module, "run_side", lambda run: SimpleNamespace(memory=programs))
    monkeypatch.setattr(module, "run_programs_ran", lambda run: ran)
    run = run_of(*((device, allocators) for device in devices))
    if not known:
        with pytest.raises(NoData):
            module.run_memory(run)
        return
    found = module.run_memory(run)
    assert list(found.devices) == [f"h{i}" for i in range(len(devices))]
    assert list(found.allocators) == [(f"h{i}", name) for i in range(len(devices)) for name in allocators]
    assert (found.programs, found.ran) == (programs, ran)


@pytest.mark.parametrize(
    ("declared", "known", "ran", "expected"),
    [
        # The names of runs tell, if all of them are known,
        ({5, 6}, {5, 6, 7}, [("jit_f(6)", True)], (False, "")),
        ({6}, {5, 6}, [("jit_f(5)", False)], (True, "")),
        ({5}, {5}, [("jit_g(8)", False)], (False, "")),
        # else their ops.
        ({5, 8}, {5, 6}, [("jit_g(8)", False)], (True, "jit_g(8)")),
        ({5, 8}, {5, 6}, [("jit_g(8)", False), ("jit_f(5)", True)], (False, "jit_g(8)")),
        (set(), {5}, [("jit_g(8)", True)], (True, "")),
        (set(), {5}, [("jit_f(5)", True)], (False, "")),
        (set(), {5}, [], (False, "")),
    ],
)
def test_whether_devices_ran_other_programs_only(
    monkeypatch: pytest.MonkeyPatch, declared: Any, known: Any, ran: Any, expected: tuple[bool, str]
) -> None:
    monkeypatch.setattr(module, "programs_declared", lambda space: declared)
    monkeypatch.setattr(module, "programs_of", lambda host: SimpleNamespace(modules=dict.fromkeys(known)))
    monkeypatch.setattr(module, "host_programs_ran", lambda host: ran)
    monkeypatch.setattr(module, "programs_ran", lambda parts: [ProgramRan(name, 9, hlo, 1.0) for name, hlo in parts[0]])
    monkeypatch.setattr(module, "unknown_memory", lambda ran: next((one.name for one in ran if not one.known), ""))
    host: Any = SimpleNamespace(lazy=None)
    program: Any = SimpleNamespace(program_id=5, module=SimpleNamespace(name="jit_f(5)"))
    assert module.ran_otherwise(host, program) == expected


OTHERS: Any = ["other"]
"""Filters of other planes."""


def column(*texts: str) -> Any:
    return SimpleNamespace(code=np.arange(len(texts)), texts=texts)


def test_what_holds_the_memory_of_an_allocator_at_its_peak() -> None:
    rows = SimpleNamespace(
        op=column("f", "", "g", "h"), region=column("temp", "output", "", ""), source=column("a.py:1", "", "", ""),
        shape=column("[8]", "unknown", "", "[2]"), data_type=column("float", "int8", "", INVALID),
        allocated=np.array([10, 20, 30, 40]), in_use=np.array([1, 2, 3, 4]), stack=np.array([5, 6, 7, 8]),
        heap=np.array([11, 12, 13, 14]), free=np.array([21, 22, 23, 24]), time_ps=np.array([31, 32, 33, 34]),
        fragmentation=np.array([0.1, 0.2, 0.3, 0.4]), segments=np.array([41, 42, 43, 44]),
        largest_free=np.array([51, 52, 53, 54]),
    )  # fmt: skip
    special = SpecialAllocation("unused", "persist", 99), SpecialAllocation("stack", "stack", 7)
    found: Any = SimpleNamespace(
        rows=rows, peak=2, active=(-1, 0, 1, -2, 2, 3), count=(1, 2, 3, 1, 4, 5), special=special, lifetime_peak=77
    )
    told = module._use("h", "0", "TPU 0", found, of_device=True)
    assert [tuple(getattr(one, name) for name in one.__slots__) for one in told.allocations] == [
        ("unused", 99, 1, "", "persist", "", ""),
        ("f", 10, 2, "float[8]", "temp", "f", "a.py:1"),
        ("unknown", 20, 3, "", "output", "", ""),
        ("stack", 7, 1, "", "stack", "", ""),
        ("g", 30, 4, "", "", "g", ""),
        ("h", 40, 5, "[2]", "", "h", ""),
    ]
    assert (told.in_use_bytes, told.stack_bytes, told.heap_bytes, told.free_bytes, told.time_ps) == (3, 7, 13, 23, 33)
    assert (told.fragmentation, told.lifetime_bytes, told.segment_bytes, told.largest_free_bytes) == (0.3, 77, 43, 53)


@pytest.mark.parametrize(("count", "refused"), [(2, False), (3, True)])
def test_impossibly_many_allocators(monkeypatch: pytest.MonkeyPatch, count: int, refused: bool) -> None:
    monkeypatch.setattr(module, "MAX_ALLOCATORS", 2)
    monkeypatch.setattr(module, "host_plane", lambda space: "host")
    monkeypatch.setattr(module, "may_have_allocations", lambda plane: True)
    monkeypatch.setattr(module, "EventFilter", lambda plane, event: plane)
    recorded = SimpleNamespace(memory=SimpleNamespace(code=np.array([0, *range(count), 0])))
    monkeypatch.setattr(module, "allocations", lambda *given, **more: recorded)
    host: Any = SimpleNamespace(name="h", lazy=SimpleNamespace(planes=(), filtered=lambda *filters: list(filters)))
    if refused:
        with pytest.raises(NoData):
            module.host_allocations(host, OTHERS, since_recording=True)
    else:
        found = module.host_allocations(host, OTHERS, since_recording=True)
        assert found == (recorded, ["other"])


def test_events_of_groups_are_not_filtered(monkeypatch: pytest.MonkeyPatch) -> None:
    plane = SimpleNamespace(index=1)
    groups = SimpleNamespace(planes=[None, SimpleNamespace(group_id="ids")])
    monkeypatch.setattr(module, "host_plane", lambda space: plane)
    monkeypatch.setattr(module, "may_have_allocations", lambda plane: True)
    monkeypatch.setattr(module, "has_root", lambda other: other == "root")
    monkeypatch.setattr(module, "groups_of", lambda host: groups)
    asked: list[Any] = []
    monkeypatch.setattr(module, "allocations", lambda *given, **more: asked.append(given))
    space = SimpleNamespace(planes=("x", "root"), filtered=lambda *filters: list(filters))
    host: Any = SimpleNamespace(name="h", lazy=space)
    assert module.host_allocations(host, OTHERS, since_recording=False) == (None, ["other"])
    assert asked == [(space, plane, "ids")]
    monkeypatch.setattr(module, "may_have_allocations", lambda plane: False)
    assert module.host_allocations(host, OTHERS, since_recording=False) == (None, ["other"])
    monkeypatch.setattr(module, "host_plane", lambda space: None)
    monkeypatch.setattr(module, "may_have_allocations", lambda plane: True)
    assert module.host_allocations(host, [], since_recording=False) == (None, [])
    assert len(asked) == 1


def test_programs_by_their_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"h0": {1: "f(1)", 2: "g(2)"}, "h2": {2: "g(2)", 3: "e(3)"}}
    monkeypatch.setattr(module, "programs_of", lambda host: SimpleNamespace(names=names[host.name]))
    found = module.run_program_peaks(run_of({1: 5, 2: 9}, {}, {2: 7, 3: 5}))
    assert list(found.items()) == [("g(2)", 9), ("e(3)", 5), ("f(1)", 5)]


@pytest.mark.parametrize(
    ("peaks", "program", "chosen"),
    [
        ({"f(1)": 9, "g(2)": 3}, "", ("f(1)", "")),
        ({"f(1)": 0}, "", None),
        ({}, "", None),
        ({"f(1)": 9}, "g(2)", ("g(2)", "")),
        ({"f(1)": 9}, "12", ("", "12")),
    ],
)
def test_the_program_whose_memory_is_told(
    monkeypatch: pytest.MonkeyPatch, peaks: dict[str, int], program: str, chosen: tuple[str, str] | None
) -> None:
    def found(run: Any, name: str, number: str) -> Any:
        return (name, number), SimpleNamespace(program_id=7)

    monkeypatch.setattr(module, "run_program_peaks", lambda run: peaks)
    monkeypatch.setattr(module, "chosen_program", found)
    monkeypatch.setattr(module, "host_memory_at_peak", lambda host, number: (host, number))
    monkeypatch.setattr(module, "host_program_peak", lambda host, number: (host, number))
    monkeypatch.setattr(module, "run_memory", lambda run: Memory({}, {}, peaks))
    run: Any = None
    assert module.run_memory_at_peak(run, program) == (None if chosen is None else (chosen, 7))
    if chosen is not None:
        assert module.run_program_peak(run, program) == (chosen, 7)


def test_programs_that_do_not_decode_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def layout(program: int, space: int) -> Any:
        if program == 2:
            raise CorruptProfile("damaged")
        return SimpleNamespace(peak_bytes=10 * program)

    monkeypatch.setattr(module, "MemoryLayout", layout)
    programs = SimpleNamespace(modules={1: "", 2: "", 3: "", 4: ""}, program={1: 1, 2: 2, 4: 4}.get)
    monkeypatch.setattr(module, "programs_of", lambda host: programs)
    assert module.host_program_peaks.make(None) == {1: 10, 4: 40}


def test_buffers_at_the_peak_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an instruction that is known, of one without a line, and of none; the largest first."""
    positions = [(2, "a"), (3, "b{1}"), (None, "gone")]
    buffers = SimpleNamespace(
        position=lambda row: SimpleNamespace(row=positions[row][0], full_name=positions[row][1]),
        category=lambda allocation: f"kind {allocation}", shape=lambda row: SimpleNamespace(text=f"f32[{row}]"),
        parameter="parameters", live_out="results",
    )  # fmt: skip
    at_peak = [
        SimpleNamespace(row=row, size=size, allocation=at) for row, size, at in ((0, 50, 0), (1, 90, 4), (2, 70, -1))
    ]
    layout = SimpleNamespace(
        buffers=buffers, at_peak=(at_peak, 5), peak_bytes=300, peak_unpadded=200,
        bytes_of={"parameters": 40, "results": 30}.__getitem__,
    )  # fmt: skip
    program = SimpleNamespace(op_names=["", "", "jit(f)/a", "jit(f)/b"], module=SimpleNamespace(name="jit_f(5)"))
    lines = {2: SimpleNamespace(file="m.py", line=7), 3: None}
    monkeypatch.setattr(module, "MemoryLayout", lambda program, space: layout)
    monkeypatch.setattr(module, "host_device_memory", lambda host: TPU)
    monkeypatch.setattr(module, "programs_of", lambda host: SimpleNamespace(program=lambda number: program))
    monkeypatch.setattr(module, "source_of", lambda program, row, most: lines[row])
    found = module.host_program_peak.make(SimpleNamespace(name="h", file="f"), 5)
    assert (found.program, found.host, found.peak_bytes, found.unpadded_bytes) == ("jit_f(5)", "h", 300, 200)
    assert (found.argument_bytes, found.output_bytes, found.device_bytes, found.device_source) == (
        40,
        30,
        1000,
        "model",
    )
    assert [tuple(getattr(one, name) for name in one.__slots__) for one in found.buffers] == [
        ("b{1}", 90, 1, "f32[1]", "kind 4", "jit(f)/b", ""),
        ("gone", 70, 1, "f32[2]", "", "", ""),
        ("a", 50, 1, "f32[0]", "kind 0", "jit(f)/a", "m.py:7"),
    ]


@pytest.mark.parametrize(
    ("row", "at", "opcode", "stack", "near", "expected"),
    [
        (0, 4, "add", ("own",), "near", ("add", "op", ("own",))),
        (0, 4, "add", (), 9, ("add", "op", ("of 9",))),
        (0, 4, "add", (), None, ("add", "op", ())),
        (0, 4, "parameter", (), 9, ("parameter", "op", ())),
        (0, None, "", (), 9, ("", "", ())),
        (-1, 4, "add", ("own",), 9, ("", "", ())),
    ],
)
def test_the_line_of_a_buffer(
    monkeypatch: pytest.MonkeyPatch, row: int, at: int | None, opcode: str, stack: Any, near: Any, expected: Any
) -> None:
    monkeypatch.setattr(module, "call_stack", lambda program, at: stack if at == 4 else (f"of {at}",))
    program = SimpleNamespace(opcodes={4: opcode}, op_names={4: "op"})
    buffers = SimpleNamespace(
        position=lambda row: SimpleNamespace(row=at, full_name="a"), shape=lambda row: SimpleNamespace(text="f32[]")
    )
    history: Any = SimpleNamespace(
        row=np.array([row]), categories=("kind",), layout=SimpleNamespace(buffers=buffers, program=program)
    )
    rows: Any = SimpleNamespace(near_source=lambda at, most: None if near is None else (near, 1))
    found = module.held_buffer(history, rows, 0)
    assert (found.op, found.framework_op, found.stack) == expected
    assert (found.name, found.category) == ("a" if row >= 0 else "", "kind")
