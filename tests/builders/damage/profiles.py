"""A small profile that has something for every tool, to be damaged."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from builders.profiles import op_profiles, step_profiles
from builders.programs import buffers, hlo
from builders.xspace_text import build

DEMO = Path(__file__).parents[3] / "demo"
_MEMORY = (
    "bytes_reserved=0, bytes_allocated=64, bytes_available=900, peak_bytes_in_use=128, index_on_host=0, "
    'requested_bytes=60, allocation_bytes=64, addr=7, tf_op="jit_f/add", step_id=3, id=9, data_type=1, '
    'region_type="temp"'
)
_HOST = f"""plane 9 "/host:CPU"
  line 77 "allocator" @5us
    1us +0us MemoryAllocation {{{_MEMORY}}}
    9us +0us MemoryDeallocation {{{_MEMORY}}}
  line 78 "tf_data" @5us
    1us +9us "IteratorGetNext" {{iterator_name="Batch", _r=1, step_num=1}}
    2us +3us "Iterator::Batch::Map" {{element_id=5, iterator_id=2, parent_id=1, long_name="x"}}
plane 10 "Task Environment" {{profile_start_time=u1700000000000000000, profile_stop_time=u1700000001000000000}}
"""


def program() -> str:
    """A metadata plane with one program, jit_f(7), and its buffers."""
    assigned = buffers.assignment(
        buffers.buffer(1, 4096, buffers.instruction_id(0)),
        buffers.buffer(2, 4096, buffers.instruction_id(1)),
        buffers.allocation(0, 8192, [(1, 0, 4096), (2, 4096, 4096)]),
        buffers.trace("alloc 1 x", "alloc 2 fusion.1", "free 1 fusion.1"),
    )
    return hlo.metadata_plane(jit_f=(7, hlo.relu_program() + assigned))


@cache
def rich() -> bytes:
    """About 9 KB: two hosts' worth of steps, TPU and GPU planes, a program with buffers, memory and input events."""
    texts = (
        op_profiles.TPU,
        step_profiles.worker("w", 500),
        step_profiles.serving(),
        step_profiles.gpu(),
        _HOST,
        program(),
    )
    return b"".join(map(build, texts))


def real() -> list[tuple[str, bytes]]:
    """The demo's profiles."""
    return [(file.parts[-5], file.read_bytes()) for file in sorted(DEMO.rglob("*.xplane.pb"))]
