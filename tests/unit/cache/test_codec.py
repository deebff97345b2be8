"""Values on disk: what is read equals what was written, damage is refused, and only permitted classes are made."""

import dataclasses
import enum
import json
import pickle
import struct
import zlib
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest

from tpu_profile_plugin.cache.codec import Codec, NotStorable

HERE = __name__.rpartition(".")[2]


class Kind(enum.Enum):
    TPU = 1
    GPU = 2


class Pair(NamedTuple):
    first: int
    second: str


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    name: str
    values: np.ndarray
    kind: Kind = Kind.TPU

    def __post_init__(self):
        assert self.name != "constructed again"


@dataclasses.dataclass(frozen=True)
class Other:
    text: str


Other.__module__ = "elsewhere"


@pytest.fixture
def codec(monkeypatch):
    made = Codec("no_such_package", [__name__.partition(".")[0]])
    classes = {
        f"{__name__}:Kind": (Kind, ()),
        f"{__name__}:Pair": (Pair, ()),
        f"{__name__}:Part": (Part, ("name", "values", "kind")),
    }
    made.resolve = classes.__getitem__  # this module cannot be imported by name
    return made


@pytest.mark.parametrize(
    "value",
    [
        None,
        (1, 2.5, "a", None, True, -0.0, float("inf"), 1 << 200, "\ud800 é \x00"),
        [(), [], {}, set(), frozenset({3})],
        {1: "a", ("b", 2): {"c": (b"\x00\xff", b"")}, None: 1.5},
        Counter({"a": 3, (1, 2): 1}),
        (Kind.GPU, Pair(1, "x"), [Pair(2, "y")]),
        np.float32(1.5),
        (np.int64(-3), np.bool_(True), np.str_("op")),
    ],
)
def test_what_is_read_equals_what_was_written(codec, value):
    read = codec.decode(codec.encode(value))
    assert read == value
    assert repr(read) == repr(value), "of the same types"


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int64).reshape(2, 3),
        np.arange(12, dtype=np.int32)[::2],
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.zeros((0, 3), np.bool_),
        np.array(["a", "op.1"]),
        np.array(["a", None, (1, 2)], object),
    ],
)
def test_arrays_keep_type_shape_and_content(codec, array):
    read = codec.decode(codec.encode({"x": array}))["x"]
    assert (read.dtype, read.shape) == (array.dtype, array.shape)
    assert read.tolist() == array.tolist()


def test_instances_have_their_fields_and_shared_objects_stay_shared(codec):
    shared = np.arange(3)
    names = ("a", "b")
    value = (Part("x", shared), Part("y", shared, Kind.GPU), names, names)
    first, second, *both = codec.decode(codec.encode(value))
    assert (first.name, first.kind, second.kind) == ("x", Kind.TPU, Kind.GPU)
    assert first.values is second.values
    assert both[0] is both[1]


def test_reading_calls_no_constructor(codec):
    made = object.__new__(Part)
    for name, value in {"name": "constructed again", "values": 1, "kind": Kind.TPU}.items():
        object.__setattr__(made, name, value)
    assert codec.decode(codec.encode(made)).name == "constructed again"


@pytest.mark.parametrize("value", [Other("x"), object(), print, {"a": [Other("x")]}, np.zeros(2, "M8[s]"), 1j])
def test_other_classes_are_not_stored(codec, value):
    with pytest.raises(NotStorable):
        codec.encode(value)


def written(text: str, blobs: bytes = b"") -> bytes:
    """A file with a valid checksum and this text."""
    rest = text.encode() + blobs
    return struct.pack("<4sIQ", b"TPS1", zlib.crc32(rest), len(text.encode())) + rest


@pytest.mark.parametrize(
    "text",
    [
        '[["os:system"],["o",0,"true"]]',
        '[["subprocess:Popen"],["o",0]]',
        '[[],["r",0]]',
        '[[],["a","<f8",100]]',
        '[[],["a","|O",1]]',
        '[[],["a","<f8",-1]]',
        '[[],["b",-1]]',
        '[[],["d",1]]',
        '[[],["s",["l"]]]',
        '[[],["unknown"]]',
        "[[],[]]",
        "[1]",
        "{",
        json.dumps([[], 0])[:-1] + "," + "[" * 100_000,
    ],
)
def test_what_a_writer_could_not_have_written_is_refused(codec, text):
    with pytest.raises(ValueError, match="not a stored value"):
        codec.decode(written(text))


def test_any_damage_is_refused(codec):
    data = codec.encode((Part("x", np.arange(5)), "text"))
    for at in range(len(data)):
        with pytest.raises(ValueError, match="not a stored value"):
            codec.decode(data[:at] + bytes([data[at] ^ 0x20]) + data[at + 1 :])
        with pytest.raises(ValueError, match="not a stored value"):
            codec.decode(data[:at])
    with pytest.raises(ValueError, match="not a stored value"):
        codec.decode(pickle.dumps({"a": 1}))
