"""Stats by name: the value that each function reads, and that the first stat of a name wins."""

from __future__ import annotations

import numpy as np
import pytest
from builders import xspace_text
from builders.messages import XSpace
from builders.racing import racing

from tpu_profile_plugin import columns
from tpu_profile_plugin.columns import Kind, stats

TEXT = """
plane p {peak=1.5, device_type_string="TPU v6 Lite"}
line l
  0 +1 a {k=5}
  0 +1 a {k=u7}
  0 +1 a {k=-5, k=6}
  0 +1 a {k=2.5}
  0 +1 a {k="text"}
  0 +1 a {k=&"shared"}
  0 +1 a {k=0x00ff}
  0 +1 a {k=z"long"}
  0 +1 a {other=1}
  0 +1 a {k=u18446744073709551615}
  0 +1 a {k="shared"}
  0 +1 a {k=""}
"""


@pytest.fixture
def space() -> columns.XSpace:
    return columns.load(xspace_text.build(TEXT))


def events(space: columns.XSpace) -> tuple[columns.XSpace, columns.Plane, columns.Stats, str]:
    return space, space.planes[0], space.planes[0].events.stats, "k"


def test_integers_by_wire_kind(space: columns.XSpace) -> None:
    both, present = stats.ints(*events(space))
    assert both.tolist() == [5, 7, -5, 0, 0, 0, 0, 0, 0, -1, 0, 0]
    assert present.tolist() == [True] * 8 + [False] + [True] * 3
    signed, _ = stats.int64s(*events(space))
    assert signed.tolist() == [5, 0, -5, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    unsigned, _ = stats.uints(*events(space))
    assert unsigned.tolist() == [0, 7, 0, 0, 0, 0, 0, 0, 0, 2**64 - 1, 0, 0]
    assert (both.dtype, signed.dtype, unsigned.dtype) == (np.int64, np.int64, np.uint64)


def test_doubles(space: columns.XSpace) -> None:
    values, present = stats.doubles(*events(space))
    assert values.tolist() == [0.0, 0.0, 0.0, 2.5] + [0.0] * 8
    assert present.sum() == 11


def test_strings_are_str_or_ref_and_other_kinds_read_as_empty(space: columns.XSpace) -> None:
    codes, table = stats.strings(*events(space))
    found = [table[code] if code >= 0 else None for code in codes]
    assert found == ["", "", "", "", "text", "shared", "", "", None, "", "shared", ""]
    assert len(set(table)) == len(table)


def test_an_unknown_name_has_no_values(space: columns.XSpace) -> None:
    _, plane, table, _ = events(space)
    values, present = stats.ints(space, plane, table, "nothing")
    assert (values.any(), present.any(), len(values)) == (False, False, 12)
    codes, names = stats.strings(space, plane, table, "nothing")
    assert (set(codes.tolist()), names) == ({-1}, [])


def test_the_three_namespaces_are_separate(space: columns.XSpace) -> None:
    plane = space.planes[0]
    assert stats.doubles(space, plane, plane.stats, "peak")[0].tolist() == [1.5]
    assert not stats.doubles(space, plane, plane.events.stats, "peak")[1].any()
    assert len(stats.ints(space, plane, plane.event_metadata.stats, "k")[0]) == 1


def test_items_of_one_owner(space: columns.XSpace) -> None:
    plane = space.planes[0]
    assert stats.items(space, plane, plane.stats, 0) == [
        ("peak", Kind.DOUBLE, 1.5),
        ("device_type_string", Kind.STR, "TPU v6 Lite"),
    ]
    owners = [2, 5, 6, 9, 11]
    assert [stats.items(space, plane, plane.events.stats, owner) for owner in owners] == [
        [("k", Kind.INT64, -5), ("k", Kind.INT64, 6)],
        [("k", Kind.REF, "shared")],
        [("k", Kind.BYTES, b"\x00\xff")],
        [("k", Kind.UINT64, 2**64 - 1)],
        [("k", Kind.STR, "")],
    ]


def test_the_first_row_of_equal_names_is_used() -> None:
    message = XSpace()
    written = message.planes.add(name="p")
    for key in (1, 2):
        written.stat_metadata[key].name = "same"
        written.stats.add(metadata_id=key, int64_value=key)
    space = columns.load(message.SerializeToString())
    plane = space.planes[0]
    assert plane.stat_metadata.row("same") == 0
    first = int(plane.stat_metadata.id[0])
    assert stats.ints(space, plane, plane.stats, "same")[0].tolist() == [first]


@pytest.mark.parametrize("_", range(5))
def test_threads_that_look_up_names_at_once_find_all(_: int) -> None:
    names = [f"s{i}" for i in range(2000)]
    text = f"plane p {{{', '.join(f'{name}=1' for name in names)}}}"
    metadata = columns.load(xspace_text.build(text)).planes[0].stat_metadata
    assert not any(None in rows for rows in racing(lambda: [metadata.row(name) for name in names]))
