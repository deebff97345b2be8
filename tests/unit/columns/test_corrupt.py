"""Damaged bytes decode or raise CorruptProfile: no crash, no hang, no excessive memory."""

from __future__ import annotations

import contextlib
import gc
import random
import resource
import sys
from pathlib import Path

import pytest
from builders import xspace_text
from builders.checks import slow_decoder
from builders.rings import many

from tpu_profile_plugin import columns
from tpu_profile_plugin.errors import CorruptProfile

SMALL = xspace_text.build("""
host vm
error "lost events"
plane 2 "/device:TPU:0" {device_type_string="TPU v6 Lite", peak=1.5}
  line 5 "XLA Ops" @1000ns display=7 "shown"
    100us +5us fusion.1 {flops=123, run_id=u5, tf_op="a/b:MatMul", ref=&"text", raw=0x0102}
    x12 +7 while.2 {z=z"long"}
  metadata fusion.1 {hlo_category="loop fusion"} display="fusion" children=1,2
plane "/host:metadata"
  metadata "jit_f(5)" id=5 {"Hlo Proto"=0x0a050a036a6974}
""")


def attempt(data: bytes, threads: int = 1) -> columns.XSpace | None:
    """Loads and peeks; None if the bytes are rejected. Checks that memory is proportional to the file."""
    with contextlib.suppress(CorruptProfile):
        columns.peek(data)
    refused = None
    try:
        space = columns.load(data, threads=threads)
    except CorruptProfile as error:
        refused = error
    if refused:
        assert 0 <= refused.details["offset"] <= len(data)
        assert f"at byte {refused.details['offset']}" in refused.message
        return None
    assert space.nbytes <= 50 * len(data) + 1000 * len(space.planes)
    return space


def check_like_slow_decoder(data: bytes) -> bool:
    """Columns and the slow decoder agree on values and on rejection."""
    space = attempt(data)
    try:
        expected = slow_decoder.with_missing(slow_decoder.decode(data))
    except slow_decoder.WireError:
        return False
    assert space is not None
    assert slow_decoder.plain(space) == expected
    return True


def test_every_prefix_of_a_small_profile() -> None:
    results = [check_like_slow_decoder(SMALL[:length]) for length in range(len(SMALL) + 1)]
    assert results[0]
    assert results[-1]
    assert sum(results) < 10


def test_every_byte_mutated() -> None:
    for at in range(len(SMALL)):
        for value in (0, 0x7F, 0x80, 0xFF, SMALL[at] ^ 1, SMALL[at] ^ 4):
            check_like_slow_decoder(SMALL[:at] + bytes([value]) + SMALL[at + 1 :])


def mutate(data: bytes, chance: random.Random) -> bytes:
    """A typical corruption: bytes changed, or a piece lost, duplicated, moved or filled."""
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 8])):
        begin = chance.randrange(len(changed) + 1)
        end = min(len(changed), begin + chance.choice([1, 1, 2, 10, 1000]))
        match chance.randrange(5):
            case 0:
                changed[begin:end] = chance.randbytes(end - begin)
            case 1:
                del changed[begin:end]
            case 2:
                changed[begin:begin] = changed[begin:end]
            case 3:
                changed[begin:end] = bytes([chance.choice([0, 0x80, 0xFF])]) * (end - begin)
            case 4:
                del changed[begin + (len(changed) - begin) // chance.choice([1, 2, 50]) :]
    return bytes(changed)


def test_random_changes_of_a_small_profile() -> None:
    chance = random.Random(7)
    sound = sum(check_like_slow_decoder(mutate(SMALL, chance)) for _ in range(many(1000, 3000)))
    assert sound > 10


def test_random_changes_of_real_profiles(real_profiles: list[Path]) -> None:
    chance, count = random.Random(11), many(100, 500)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for path in real_profiles:
        data = path.read_bytes()
        loaded = sum(attempt(mutate(data, chance), threads=2) is not None for _ in range(count))
        assert 0 < loaded < count
        gc.collect()  # errors keep the bytes that they are about, in cycles with their tracebacks
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert growth < (300 << 20) / (1 if sys.platform == "darwin" else 1024)


def test_wrong_lengths_allocate_no_memory() -> None:
    """A plane, line, event, stat or text that claims to be 2^62 bytes long."""
    lie = b"\xff" * 8 + b"\x3f"
    for prefix in (b"\x0a", b"\x12", b"\x0a\x0b\x1a", b"\x0a\x0b\x22", b"\x0a\x0d\x1a\x0b\x22", b"\x0a\x0b\x12"):
        assert attempt(prefix + lie) is None


def test_deeply_nested_groups() -> None:
    assert attempt(b"\x0b" * 1_000_000) is None
    deep = b"\x0b" * 100 + b"\x0c" * 100
    assert attempt(deep) is not None
    assert attempt(b"\x0b" + deep + b"\x0c") is None


@pytest.mark.parametrize(("field", "what"), [(b"\x0a\x00", "XSpace"), (b"\x1a\x00", "XPlane")], ids=["planes", "lines"])
def test_millions_of_empty_planes_or_lines_are_rejected(field: bytes, what: str) -> None:
    many = field * (2 << 20)
    if what == "XPlane":
        many = b"\x0a\x80\x80\x80\x02" + many
    with pytest.raises(CorruptProfile, match=f"too many entries in {what}"):
        columns.load(many)


def test_the_error_has_reason_and_offset() -> None:
    data = xspace_text.build("plane p\nplane q\nline l\nline m\n 1 +1 e")
    broken = data.replace(b"\x22\x06\x08\x01\x10\x01\x18\x01", b"\x22\x06\x08\x01\x10\x01\x18\x81")
    assert broken != data
    with pytest.raises(CorruptProfile) as error:
        columns.load(broken)
    at = broken.index(b"\x18\x81") + 1
    assert str(error.value) == f"truncated XEvent in plane 1 line 1 at byte {at}"
    assert error.value.details == {"offset": at}
