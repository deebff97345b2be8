"""Memory viewer on typed-in programs: replay, peak, lifetimes, blocks, and programs made to do harm."""

from __future__ import annotations

import re
from typing import Any

import pytest
from builders.answers import answer, rows, run_of
from builders.programs.buffers import allocation, assignment, buffer, instruction_id, profile, trace
from builders.programs.hlo import op, program
from builders.shown import profile as columns

from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.analysis.memory.buffers import Block
from tpu_profile_plugin.errors import CorruptProfile, NoData, NotFound
from tpu_profile_plugin.tools.memory.memory_viewer import PALETTE, TOOL, ShownBlock, drawing
from tpu_profile_plugin.tools.payload import encode

KIB = 1024
ENTRY = [
    op("p", "parameter", "f32[16384]", op_name="x"),
    op("a", "add", "f32[8192]", "p", "p", op_name="jit(f)/add"),
    op("b", "custom-call", ["f32[4096]", "f32[8192]"], "a"),
    op("c", "multiply", "f32[8192]", "a", "a"),
    op("out", "negate", "f32[16384]", "c"),
]
# p: argument; out: result; a, b{1}, c come and go in one heap of 64 KiB; c takes over the storage of a.
BUFFERS = (
    buffer(1, 64 * KIB, instruction_id(0)),
    buffer(2, 40 * KIB, instruction_id(1)),
    buffer(3, 32 * KIB, instruction_id(2), 1),
    buffer(4, 32 * KIB, instruction_id(3)),
    buffer(5, 64 * KIB, instruction_id(4)),
    buffer(6, 1 * KIB, instruction_id(2)),
)
HEAP = allocation(2, 80 * KIB, [(2, 0, 40 * KIB), (3, 40 * KIB, 32 * KIB), (4, 0, 32 * KIB), (6, 72 * KIB, KIB)])
TRACE = trace("alloc 2 a", "alloc 3 b", "alloc 6 b", "free 2 b", "share 4 2 c", "free 3 c", "free 6 c", "free 4 out")


def proto(*parts: bytes, entry: Any = ENTRY) -> bytes:
    return program(entry) + assignment(*parts)


def whole(*traces: bytes) -> bytes:
    argument = allocation(0, 64 * KIB, [(1, 0, 64 * KIB)], "parameter")
    result = allocation(1, 64 * KIB, [(5, 0, 64 * KIB)], "live_out")
    return proto(*BUFFERS, argument, result, HEAP, *traces)


def view(data: bytes, **params: str) -> Any:
    return answer(TOOL, profile(jit_f=data), **params)


def module(*profiles: str, **params: str) -> str:
    """The program whose memory the page shows."""
    name: str = answer(TOOL, *profiles, page=True, **params)["module"]
    return name


def kib(values: list[float]) -> list[float]:
    return [value * KIB for value in values]


def test_replay_step_by_step() -> None:
    found = view(whole(TRACE))
    assert kib(found["heapSizes"]) == [128, 168, 200, 201, 161, 201, 169, 168, 128]
    # The storage of a is 40 KiB, its values 32; the tuple of b is a table of two pointers.
    assert kib(found["unpaddedHeapSizes"])[:3] == [128, 160, 192]
    assert found["hloInstructionNames"] == ["a", "b", "b", "b", "c", "c", "c", "out", ""]
    assert (found["peakHeapSizePosition"], found["peakHeapMib"] * KIB) == (2, 201)
    assert found["peakUnpaddedHeapMib"] * KIB == 128 + 32 + 32 + 16 / KIB


def test_what_is_alive_at_the_peak() -> None:
    found = view(whole(TRACE))
    names = [(entry.get("instructionName"), entry.get("groupName"), entry["label"]) for entry in found["maxHeap"]]
    assert names == [
        ("p", "Parameter", "p: f32[16384] # x"),
        ("out", "Output", "out: f32[16384] # "),
        ("a", "Temporary", "a: f32[8192] # jit(f)/add"),
        ("b{1}", "Temporary", "b: f32[8192] # "),
        (None, None, "small (<16384 bytes)"),
    ]
    assert [entry["numbered"] for entry in found["maxHeap"]] == [0, 1, 2, 3, 4]
    assert found["maxHeap"][4] == {
        "numbered": 4,
        "label": "small (<16384 bytes)",
        "logicalBufferId": -1,
        "logicalBufferSizeMib": 1 / KIB,
    }
    assert found["bySizeToMaxHeap"] == [0, 1, 2, 3, 4]
    assert [entry["label"][0] for entry in found["maxHeapBySize"]] == ["p", "o", "a", "b", "s"]


def test_lifetimes_and_sums() -> None:
    found = view(whole(TRACE))
    assert found["logicalBufferSpans"] == {
        "2": {"limit": 3},
        "3": {"start": 1, "limit": 5},
        "6": {"start": 2, "limit": 6},
        "4": {"start": 4, "limit": 7},
    }
    assert found["entryComputationParametersMib"] * KIB == 64
    assert found["maybeLiveOutMib"] * KIB == 64
    assert found["indefiniteBufferAllocationMib"] * KIB == 128
    assert found["totalBufferAllocationMib"] * KIB == 208
    assert [one["attributes"] for one in found["indefiniteLifetimes"]] == [
        ["entry computation parameter", "reusable"],
        ["may-be live out", "reusable"],
    ]
    assert found["indefiniteLifetimes"][1]["commonShape"] == "f32[16384]"


def test_blocks_of_the_drawing() -> None:
    container, *blocks = view(whole(TRACE))["bufferBlocks"]
    assert container == {
        "logicalBufferId": -1,
        "name": "Temporary",
        "size": 80 * KIB,
        "endStep": 8,
        "category": "Temporary",
        "color": "#ffffff",
    }
    places = [(b["name"], b.get("offset", 0), b["size"], b.get("startStep", 0), b["endStep"]) for b in blocks]
    assert places == [
        ("a", 0, 40 * KIB, 0, 3),
        ("b{1}", 40 * KIB, 32 * KIB, 1, 5),
        ("c", 0, 32 * KIB, 4, 7),
        ("b", 72 * KIB, KIB, 2, 6),
    ]
    drawn = answer_html(whole(TRACE))
    assert drawn.count("<rect ") == 5


def test_the_page_receives_tables_and_sizes_in_bytes() -> None:
    page = answer(TOOL, profile(jit_f=whole(TRACE)), page=True)
    assert (page["peak_bytes"], page["peak_unpadded_bytes"], page["peak_event"]) == (201 * KIB, 192 * KIB + 16, 2)
    sums = ("parameter_bytes", "output_bytes", "not_reusable_bytes", "total_bytes", "indefinite_bytes", "scoped_bytes")
    assert [page[name] / KIB for name in sums] == [64, 64, 0, 208, 128, 0]
    assert rows(page["heap"])[2:4] == [[3, "b", 200 * KIB, 192 * KIB], [4, "b", 201 * KIB, 192 * KIB + 16]]
    assert rows(page["heap"])[-1] == [9, None, 128 * KIB, 128 * KIB]
    shown = ("name", "size", "unpadded", "category", "opcode", "op", "alloc", "free", "freed_by", "buffer_id")
    assert rows(page["buffers"], *shown) == [
        ["p", 64 * KIB, 64 * KIB, "Parameter", "parameter", "x", None, None, None, 1],
        ["out", 64 * KIB, 64 * KIB, "Output", "negate", None, None, None, None, 5],
        ["a", 40 * KIB, 32 * KIB, "Temporary", "add", "jit(f)/add", 1, 4, "b", 2],
        ["b{1}", 32 * KIB, 32 * KIB, "Temporary", "custom-call", None, 2, 6, "c", 3],
        ["small (below 16 KiB each)", KIB, *[None] * 8],
    ]
    assert rows(page["blocks"])[:2] == [["Temporary", 0, 80 * KIB, 1, 8, None], ["a", 0, 40 * KIB, 1, 4, 2]]
    without = answer(TOOL, profile(jit_f=whole()), page=True)
    assert (without["peak_event"], rows(without["heap"]), rows(without["blocks"])) == (None, [], [])


# A second heap, of 64 KiB, for d (exactly as large as what is shown on its own) and e (too small to be drawn).
MORE_ENTRY = [*ENTRY, op("d", "add", "f32[4096]", "a", "a"), op("e", "add", "f32[4]", "d", "d")]
MORE = (
    buffer(7, 16 * KIB, instruction_id(5)),
    buffer(8, 16, instruction_id(6)),
    allocation(3, 64 * KIB, [(7, 0, 16 * KIB), (8, 32 * KIB, 16)]),
)
SECOND = trace(
    "alloc 7 d", "free 7 e", "alloc 7 d", "free 7 e", "alloc 7 d", "alloc 8 e", "free 8 e", "free 7 x", "free 7 x"
)


def two_heaps(*traces: bytes) -> bytes:
    return proto(*BUFFERS, HEAP, *MORE, *traces, entry=MORE_ENTRY)


def test_the_first_heap_is_replayed_however_long_the_others_are() -> None:
    found = view(two_heaps(trace("alloc 2 a", "free 2 x"), SECOND))
    assert kib(found["heapSizes"]) == [0, 40, 0]
    assert found["hloInstructionNames"] == ["a", "x", ""]
    heaps = [block for block in found["bufferBlocks"] if block["logicalBufferId"] == -1]
    places = [(block.get("offset", 0), block["size"], block["endStep"]) for block in heaps]
    assert places == [(0, 80 * KIB, 2), (80 * KIB, 64 * KIB, 9)]


def test_a_heap_without_events_is_not_one() -> None:
    found = view(two_heaps(SECOND, trace()))
    assert kib(found["heapSizes"]) == [0, 16, 0, 16, 0, 16, 16 + 16 / KIB, 16, 0, 0]
    (heap, block, small) = found["bufferBlocks"]
    assert (heap["size"], heap["endStep"], heap.get("offset", 0)) == (64 * KIB, 9, 0)
    assert [(one["name"], one.get("offset", 0), one["size"]) for one in (block, small)] == [
        ("d", 0, 16 * KIB),
        ("e", 32 * KIB, 16),
    ]


def test_what_is_as_large_as_the_limit_is_shown_on_its_own() -> None:
    one, small = view(two_heaps(SECOND))["maxHeap"]
    assert (one["instructionName"], one["logicalBufferSizeMib"] * KIB, one["unpaddedShapeMib"] * KIB) == ("d", 16, 16)
    assert (small["label"], small["logicalBufferSizeMib"] * KIB) == ("small (<16384 bytes)", 16 / KIB)
    larger = view(whole(TRACE))["maxHeap"]
    assert [entry.get("unpaddedShapeMib", 0) * KIB for entry in larger] == [64, 64, 32, 32, 0]


def test_events_about_buffers_that_do_not_exist_move_nothing() -> None:
    found = view(two_heaps(trace("alloc 2 a", "alloc 99 a", "share 98 99 a", "free 99 a", "free 2 x")))
    assert kib(found["heapSizes"]) == [0, 40, 40, 40, 40, 0]
    nothing = view(proto(allocation(0, KIB, [(1, 0, KIB)]), trace("alloc 1 a", "free 1 a"), entry=ENTRY))
    assert nothing["moduleName"] == "test"
    assert "peakHeapMib" not in nothing


def colours(size: int, heap: int, events: int) -> list[str]:
    """In a drawing of a heap, of three buffers that are dead at the peak and of which the second is so large."""
    entry = [op(f"n{i}", "add", "f32[4]") for i in range(4)]
    parts = [buffer(i + 1, size if i == 1 else 64 * KIB, instruction_id(i)) for i in range(3)]
    parts += [buffer(4, 10**7, instruction_id(3)), allocation(0, heap, [(i + 1, 0, KIB) for i in range(3)])]
    named = [f"{kind} {i} x" for i in (1, 2, 3, *[4] * (events // 2 - 3)) for kind in ("alloc", "free")]
    # Other heaps, of another memory space, come before and after.
    parts += [buffer(i, KIB, instruction_id(3), color=5) for i in (5, 6)]
    parts += [allocation(i, KIB, [(i + 4, 0, KIB)], color=5) for i in (1, 2)]
    before, after = (trace(*[f"alloc {i} x", f"free {i} x"] * 9) for i in (5, 6))
    blocks = view(proto(*parts, before, trace(*named), after, entry=entry))["bufferBlocks"]
    return [block["color"] for block in blocks[1:]]


def test_what_the_drawing_cannot_show_takes_no_colour() -> None:
    first, second, third = colours(64 * KIB, 128 * KIB, 8)
    assert (first, second, third) == ("#2196f3", "#81c784", "#4dd0e1")
    # Of 2048 rows half a one is shown, and of as many columns; a lifetime of two events is that in 8192 of them.
    assert colours(KIB, 4096 * KIB, 8) == [first, second, third]
    assert colours(KIB - 1, 4096 * KIB, 8) == [first, second, second]
    assert colours(64 * KIB, 128 * KIB, 8192) == [first, second, third]
    assert colours(64 * KIB, 128 * KIB, 8194) == [first, first, first]


def test_every_buffer_at_the_peak_has_the_next_colour_of_the_palette() -> None:
    count = 211
    names = [f"a{i}" for i in range(count)]
    entry = [op(name, "add", "f32[4096]") for name in names]
    buffers = [buffer(i + 1, 16 * KIB, instruction_id(i)) for i in range(count)]
    block = allocation(0, count * 16 * KIB, [(i + 1, i * 16 * KIB, 16 * KIB) for i in range(count)])
    events = [f"{kind} {i + 1} {name}" for kind in ("alloc", "free") for i, name in enumerate(names)]
    found = view(proto(*buffers, block, trace(*events), entry=entry))
    colours = {one["name"]: one["color"] for one in found["bufferBlocks"] if one["logicalBufferId"] > 0}
    shown = [colours[names[i]] for i in (0, 19, 20, 100, 208, 209, 210)]
    assert shown == ["#e91e63", "#ce93d8", "#ec407a", "#2979ff", "#f06292", "#e91e63", "#2196f3"]
    assert len(set(PALETTE)) < len(PALETTE) == 209


def answer_html(data: bytes) -> str:
    from builders.xspace_text import build

    return build_page(build(profile(jit_f=data)))


def build_page(space: bytes) -> str:
    raw = encode(TOOL.build(run_of(space), TOOL.query({"view_memory_allocation_timeline": "true"})))
    assert raw.content_type.startswith("text/html")
    return raw.body.decode()


def test_the_drawing_escapes_names() -> None:
    entry = [op("<script>x", "add", "f32[8192]")]
    block = allocation(0, 32 * KIB, [(1, 0, 32 * KIB)])
    data = proto(buffer(1, 32 * KIB, instruction_id(0)), block, trace("alloc 1 a", "free 1 a"), entry=entry)
    page = answer_html(data)
    assert "<script>" not in page
    assert "&lt;script&gt;x" in page


def test_storage_that_is_shared_while_it_is_in_use_stays_one() -> None:
    data = whole(trace("alloc 2 a", "share 4 2 c", "free 2 c", "alloc 3 b", "free 4 out", "free 3 out"))
    found = view(data)
    assert kib(found["heapSizes"]) == [128, 168, 168, 168, 200, 160, 128]
    assert found["logicalBufferSpans"] == {"2": {"limit": 4}, "3": {"start": 3, "limit": 5}}


def test_without_a_trace_the_peak_is_what_always_lives() -> None:
    found = view(whole())
    assert "heapSizes" not in found
    assert "bufferBlocks" not in found
    assert found["peakHeapMib"] * KIB == 128


def test_memory_spaces() -> None:
    config = b'{"used_scoped_memory_configs":[{"memory_space":"1","offset":"0","size":"1048576"}]}'
    entry = [op("p", "parameter", "f32[8]"), op("k", "custom-call", "f32[8]", "p", backend_config=config)]
    parts = (
        buffer(1, 64 * KIB, instruction_id(0), color=5),
        allocation(0, 64 * KIB, [(1, 0, 64 * KIB)], color=5),
        trace("alloc 1 p", "free 1 k"),
    )
    data = proto(*parts, entry=entry)
    assert "peakHeapMib" not in view(data)
    assert view(data, memory_space="5")["peakHeapMib"] * KIB == 64
    fast = view(data, memory_space="1")
    assert (fast["maxScopedVmemAllocationMib"], fast["maxScopedVmemAllocationInstructionName"]) == (1, "k")


def test_blocks_are_those_of_one_memory_space() -> None:
    parts = [buffer(1, 64 * KIB, instruction_id(0), color=5), allocation(0, 64 * KIB, [(1, 0, 64 * KIB)], color=5)]
    parts += [buffer(2, 32 * KIB, instruction_id(1)), allocation(1, 32 * KIB, [(2, 0, 32 * KIB)])]
    data = proto(*parts, trace("alloc 1 p", "free 1 k", "free 1 k"), trace("alloc 2 p", "free 2 k"))
    for space, expected in (("0", [(32, 2), (32, 1)]), ("5", [(64, 3), (64, 1)])):
        blocks = view(data, memory_space=space)["bufferBlocks"]
        assert [(block["size"] / KIB, block["endStep"]) for block in blocks] == expected


def test_a_heap_without_any_bytes_is_not_drawn() -> None:
    found = view(proto(buffer(1, 64 * KIB, instruction_id(0)), allocation(0, 0, [(1, 0, 0)]), trace("alloc 1 a")))
    assert (found["peakHeapMib"] * KIB, "bufferBlocks" in found) == (64, False)


def test_buffers_of_older_programs_name_their_instruction() -> None:
    older = buffer(2, 32 * KIB, 0)
    older.defined_at.instruction_name = "c"
    gone = buffer(3, 16 * KIB, 0)
    gone.defined_at.instruction_name = "gone"
    parts = (buffer(1, 64 * KIB, instruction_id(0)), older, gone, HEAP)
    found = view(proto(*parts, trace("alloc 1 p", "alloc 2 c", "alloc 3 x")))
    names = [(entry["label"], entry.get("shapeString")) for entry in found["maxHeap"]]
    assert names == [
        ("p: f32[16384] # x", "f32[16384]"), ("c: f32[8192] # ", "f32[8192]"), ("gone:  # ", None)
    ]  # fmt: skip


def test_the_largest_scoped_memory_of_a_space_is_shown() -> None:
    def config(*entries: tuple[int, int]) -> bytes:
        listed = ",".join(f'{{"memory_space":"{space}","offset":"0","size":"{size << 20}"}}' for space, size in entries)
        return f'{{"used_scoped_memory_configs":[{listed}]}}'.encode()

    entry = [op("p", "parameter", "f32[8]")]
    configs = (config((1, 1), (0, 9)), config((0, 8), (1, 3), (1, 2)), config((1, 3)), config((5, 7)))
    entry += [op(f"k{i}", "custom-call", "f32[8]", "p", backend_config=one) for i, one in enumerate(configs)]
    found = view(proto(buffer(1, KIB, instruction_id(0)), entry=entry), memory_space="1")
    assert (found["maxScopedVmemAllocationMib"], found["maxScopedVmemAllocationInstructionName"]) == (3, "k1")


def test_modules_are_found_exactly() -> None:
    profiles = profile(jit_f=whole(TRACE), jit_f2=whole())
    assert module(profiles, module_name="test(2)") == "test(2)"
    assert module(profiles, program_id="2") == "test(2)"
    assert module(profiles) == "test(1)"  # the largest
    for wrong in ({"module_name": "test"}, {"module_name": "test(1"}, {"program_id": "12"}):
        with pytest.raises(NotFound, match="HLO module") as caught:
            answer(TOOL, profiles, **wrong)
        assert caught.value.details["modules"] == ["test(1)", "test(2)"]
    with pytest.raises(NoData):
        answer(TOOL, 'plane 1 "/host:CPU"')


def test_of_equally_large_modules_that_of_the_first_host_is_shown() -> None:
    one = profile(jit_f=whole())
    other = one.replace("(1)", "(8)").replace("id=1 ", "id=8 ")
    large = profile(jit_h=whole(TRACE)).replace("(1)", "(5)").replace("id=1 ", "id=5 ")
    hosts = ((one, other), (other, one), (one, large), (large, one))
    assert [module(*each) for each in hosts] == ["test(1)", "test(8)", "test(5)", "test(5)"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "events",
    [
        ["share 2 4 x", "share 4 2 x", "free 2 x", "free 4 x", "alloc 2 x", "free 2 x"],  # a ring
        ["share 2 2 x", "free 2 x", "free 2 x", "free 2 x"],
        ["alloc 99 x", "share 2 99 x", "free 98 x"],  # no such buffers
        ["free 2 x", "alloc 2 x", "alloc 2 x", "free 2 x"],
        [
            f"{kind} {i % 6 + 1} {(i * 7) % 6 + 1 if kind == 'share' else 'x'}"
            for i, kind in enumerate(("alloc", "share", "free") * 9000)
        ],
    ],
)
def test_traces_that_make_no_sense_give_an_answer(events: list[str]) -> None:
    assert view(whole(trace(*events)))["moduleName"] == "test"


@pytest.mark.timeout(20)
def test_sizes_beyond_reason_give_an_answer() -> None:
    entry = [op("p", "parameter", f"f32[{2**62},{2**62},{2**62}]"), op("q", "add", "f32[8]", "p")]
    parts = [buffer(i, 2**63 - 1, instruction_id(0), 7, 7) for i in range(40)]
    heap = allocation(-1, 2**63 - 1, [(i, -(2**62), 2**63 - 1) for i in range(60)])
    found = view(proto(*parts, heap, trace(*(f"alloc {i} x" for i in range(40))), entry=entry))
    assert found["moduleName"] == "test"


def test_a_broken_assignment_is_an_error_that_says_so() -> None:
    with pytest.raises(CorruptProfile, match="buffer assignment"):
        view(program(ENTRY) + b"\x1a\x02\x0a\x7f")


def test_buffers_without_bytes_make_no_peak() -> None:
    found = view(proto(buffer(1, 0, instruction_id(0)), allocation(0, KIB, [(1, 0, 0)]), trace("alloc 1 a")))
    assert (found.get("peakHeapMib", 0), found.get("maxHeap", [])) == (0, [])


def test_names_of_the_program_and_of_its_ops() -> None:
    found = view(whole(TRACE))
    assert (found["moduleName"], found["entryComputationName"]) == ("test", "entry")
    names = {block["name"]: block.get("tfOpName") for block in found["bufferBlocks"]}
    assert names == {"Temporary": None, "a": "jit(f)/add", "b{1}": None, "b": None, "c": None}
    gone = buffer(1, 64 * KIB, 0)
    gone.defined_at.instruction_name = "gone"
    (_, block) = view(proto(gone, allocation(0, 64 * KIB, [(1, 0, 64 * KIB)]), trace("alloc 1 p")))["bufferBlocks"]
    assert "tfOpName" not in block


def test_allocations_of_one_thread_and_of_tuples_are_not_reused() -> None:
    flags = (("thread_local",), ("tuple",), ("thread_local", "tuple"), ("constant",))
    sizes = (1, 2, 4, 8)
    buffers = [buffer(i + 1, size * KIB, instruction_id(0)) for i, size in enumerate(sizes)]
    allocations = [
        allocation(i + 1, size * KIB, [(i + 1, 0, size * KIB)], *marks)
        for i, (size, marks) in enumerate(zip(sizes, flags, strict=True))
    ]
    found = view(proto(*buffers, *allocations))
    assert (found["nonReusableMib"] * KIB, found["totalBufferAllocationMib"] * KIB) == (1 + 2 + 4, 2 + 8)
    reusable = {one["id"]: "reusable" in one.get("attributes", ()) for one in found["indefiniteLifetimes"]}
    assert {id_: holds for id_, holds in reusable.items() if id_ != "4"} == dict.fromkeys(
        reusable.keys() - {"4"}, False
    )
    assert reusable["4"]


def test_of_equally_large_modules_of_one_host_the_first_in_the_file_is_shown() -> None:
    text = profile(jit_f=whole(), jit_g=whole(), jit_h=whole())
    first = next(iter(hlo_programs(columns(text)).names.values()))
    assert module(text) == first


def test_blocks_of_the_drawing_have_the_place_of_their_memory_and_time() -> None:
    def block(offset: int, size: int, begin: int, end: int) -> ShownBlock:
        return ShownBlock(Block(None, 0, offset, size, begin, end, 0), "#ffffff", "temporary")

    page = encode(drawing("jit_f", [block(0, 3 * KIB, 1, 4), block(3 * KIB, 6 * KIB, 2, 3), block(0, KIB, 7, 7)]))
    # Eight events are 1600 wide, 9 KiB are 900 high.
    rectangles = re.findall(
        r'<rect x="(.*?)" y="(.*?)" width="(.*?)" height="(.*?)".*?<title>(.*?)</title>', page.body.decode()
    )
    assert [tuple(map(float, one[:4])) for one in rectangles] == [
        (200, 0, 800, 300),
        (400, 300, 400, 600),
        (1400, 0, 200, 100),
    ]
    assert rectangles[1][4] == "temporary: 0.006 MiB at 3072, events 2 to 3"
    # Buffers without memory have no height.
    empty = encode(drawing("jit_f", [block(0, 0, 0, 1)])).body.decode()
    assert 'x="0.00" y="0.00" width="1600.00" height="0.00"' in empty
    assert "<rect" not in encode(drawing("jit_f", [])).body.decode()
