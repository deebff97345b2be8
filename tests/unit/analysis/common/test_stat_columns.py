"""Stats of events and of their metadata as columns of one type, where a file mixes types or lacks values."""

from __future__ import annotations

import numpy as np
import pytest
from builders.shown import profile
from builders.xspace_text import build_message

from tpu_profile_plugin.analysis.common.stat_columns import (
    EMPTY,
    RecordedKinds,
    SparseColumn,
    StatColumns,
    override,
    per_event,
    recorded_kinds,
    stat_numbers,
    stat_texts,
)
from tpu_profile_plugin.columns import load


def sparse(**values):
    """A column of events 0 to 9: `e3=5`."""
    events = [int(name[1:]) for name in values]
    return SparseColumn(np.array(events, np.int64), np.array([*values.values()], np.int64))


def as_dict(column):
    return dict(zip(column.event.tolist(), column.value.tolist(), strict=True))


def test_values_at_events():
    column = sparse(e0=7, e3=-5, e8=9)
    for events, values, present in (
        ([0, 3, 8], [7, -5, 9], [True] * 3),
        ([0, 8], [7, 9], [True] * 2),
        ([0], [7], [True]),
        ([0, 1, 3, 9], [7, 0, -5, 0], [True, False, True, False]),
        ([1, 2], [0, 0], [False, False]),
        ([], [], []),
    ):
        assert [found.tolist() for found in column.at(np.array(events, np.int64))] == [values, present]
    assert [found.tolist() for found in EMPTY.at(np.array([4, 5]))] == [[0, 0], [False, False]]
    assert column.dense(9, -1).tolist() == [7, -1, -1, -5, -1, -1, -1, -1, 9]
    assert as_dict(column.where(np.array([False, True, True]))) == {3: -5, 8: 9}


def test_the_last_column_with_a_value_wins():
    first, second, third = sparse(e0=1, e3=2, e5=3), sparse(e3=20, e4=30), sparse(e4=300, e9=400)
    assert as_dict(override(first, second, third)) == {0: 1, 3: 20, 4: 300, 5: 3, 9: 400}
    assert override(first, EMPTY) is first
    assert override(EMPTY, second) is second
    assert as_dict(override(first, EMPTY, third)) == {0: 1, 3: 2, 4: 300, 5: 3, 9: 400}
    assert as_dict(override(EMPTY, EMPTY)) == {}


EVENTS = """
plane 1 /host:CPU
  line 1 main
    0us +1us a {n=5, f=1, d=0.5, t="x", o=u9}
    1us +1us b {n=u7, f=0, d=3, t=&"y", o=2}
    2us +1us a {n="text", f=u1, t=""}
    3us +1us c {d=-2.5, t="x"}
    4us +1us c {t=&"y"}
    5us +1us c {t=&"z"}
  metadata a {shared=11}
  metadata c {shared=13}
"""


def columns(*names, owners=None):
    space = profile(EVENTS)
    (plane,) = space.planes
    return StatColumns(space, plane, plane.events.stats, names, owners)


def test_integers_of_events():
    found = columns("n", "f", "d", "absent")
    assert [found.has(name) for name in ("n", "absent", "t")] == [True, False, False]
    assert (found.owners("n").tolist(), found.owners("absent").tolist()) == ([0, 1, 2], [])
    assert as_dict(found.ints("n")) == {0: 5, 1: 7, 2: 0}
    assert as_dict(found.signed("n")) == {0: 5, 1: 0, 2: 0}
    assert as_dict(found.ints("absent")) == as_dict(found.signed("absent")) == {}
    assert as_dict(columns("f").ints("f")) == {0: 1, 1: 0, 2: 1}
    assert as_dict(columns("f").signed("f")) == {0: 1, 1: 0, 2: 0}
    assert as_dict(columns("o").ints("o")) == {0: 9, 1: 2}
    assert as_dict(columns(*"nfdtoyz", "shared").ints("o")) == {0: 9, 1: 2}


def test_flags_and_doubles_of_events():
    found = columns("f", "d")
    assert found.flagged("f", 5).tolist() == [True, False, False, False, False]
    assert found.flagged("absent", 5) is None
    owners, values = found.doubles("d")
    assert (owners.tolist(), values.tolist()) == ([0, 1, 3], [0.5, 0.0, -2.5])
    assert [column.tolist() for column in found.doubles("absent")] == [[], []]


def test_texts_of_events():
    found = columns("t")
    owners, code, texts = found.texts("t")
    shown = dict(zip(owners.tolist(), (texts[one] for one in code.tolist()), strict=True))
    assert shown == {0: "x", 1: "y", 3: "x", 4: "y", 5: "z"}
    assert sorted(texts) == ["x", "y", "z"]
    owners, code, texts = found.texts("absent")
    assert (owners.tolist(), code.tolist(), texts) == ([], [], [])
    # Numbers are no texts.
    owners, code, texts = columns("d").texts("d")
    assert (owners.tolist(), code.tolist(), texts) == ([], [], [])


def test_stats_of_some_events():
    found = columns("n", "t", owners=slice(1, 3))
    assert as_dict(found.ints("n")) == {1: 7, 2: 0}
    owners, code, texts = found.texts("t")
    assert (owners.tolist(), [texts[one] for one in code.tolist()]) == ([1], ["y"])
    assert as_dict(columns("n", owners=slice(0, 1)).ints("n")) == {0: 5}


def test_events_have_values_of_their_own_or_of_their_metadata():
    (plane,) = profile(EVENTS).planes
    own = np.array([1, 3]), np.array([5, 6])
    none = np.zeros(0, np.int64), np.zeros(0, np.int64)
    assert per_event(plane, own, none, -1).tolist() == [-1, 5, -1, 6, -1, -1]
    shared = np.array([plane.event_metadata.names.index(name) for name in "ac"]), np.array([70, 80])
    assert per_event(plane, own, shared, -1).tolist() == [70, 5, 70, 6, 80, 80]
    assert per_event(plane, none, shared, -1).tolist() == [70, -1, 70, 80, 80, 80]


@pytest.mark.parametrize(
    ("stats", "kinds", "type_"),
    [
        ("n=5", RecordedKinds(least=5, greatest=5), "int64"),
        ("n=-5 n=7 n=u3", RecordedKinds(least=-5, greatest=7), "int64"),
        (f"n=u{2**63 - 1} n=0", RecordedKinds(least=0, greatest=2**63 - 1), "int64"),
        (f"n=u{2**63} n=4", RecordedKinds(least=4, greatest=2**63), "uint64"),
        (f"n=u{2**63} n=0", RecordedKinds(least=0, greatest=2**63), "uint64"),
        (f"n=u{2**63} n=-1", RecordedKinds(least=-1, greatest=2**63), "text"),
        ("n=0.5", RecordedKinds(doubles=True), "float64"),
        ("n=0.5 n=3", RecordedKinds(doubles=True, least=3, greatest=3), "float64"),
        ('n="a"', RecordedKinds(others=True), "text"),
        ('n="a" n=0.5 n=3', RecordedKinds(others=True, doubles=True, least=3, greatest=3), "text"),
        ("n=0x0102", RecordedKinds(others=True), "text"),
        ('n=&"a"', RecordedKinds(others=True), "text"),
        ("other=1", RecordedKinds(), "int64"),
    ],
)
def test_the_type_that_holds_all_values_of_a_stat(stats, kinds, type_):
    one, *others = stats.split()
    events = "".join(f"{i}us +1us b {{{stat}}}\n" for i, stat in enumerate(others))
    # The first value is that of another plane, or of metadata.
    apart = profile(f"plane 1 a\nline 1 l\n0us +1us a {{{one}}}\nplane 2 b\nline 1 l\n{events}")
    shared = profile(f"plane 1 a\nline 1 l\n0us +1us a\n{events}metadata a {{{one}}}")
    for space in (apart, shared):
        found = recorded_kinds(space.planes, "n")
        assert (found, found.type, bool(found)) == (kinds, type_, kinds != RecordedKinds())


MIXED = """
plane 1 /host:CPU
  line 1 main
    0us +1us a {n=-5}
    1us +1us a {n=u7}
    2us +1us a {n=0.5}
    3us +1us a {n="x"}
    4us +1us b {n=&"y"}
    5us +1us b {n=0x0102}
    6us +1us b {other=1}
    7us +1us a {other=1}
    8us +1us c
    9us +1us b {n=u7}
    10us +1us b {n=u8}
  metadata b {n=90}
  metadata c {n="x"}
"""


def test_numbers_of_a_stat_in_one_type():
    (plane,) = profile(MIXED).planes
    none = None
    assert stat_numbers(plane, "n", "int64").tolist() == [-5, 7, none, none, 90, 90, 90, none, none, 7, 8]
    assert stat_numbers(plane, "n", "float64").tolist() == pytest.approx(
        [-5, 7, 0.5, np.nan, 90, 90, 90, np.nan, np.nan, 7, 8], nan_ok=True
    )
    assert stat_numbers(plane, "absent", "int64").tolist() == [none] * 11
    assert stat_numbers(plane, "other", "uint64").tolist() == [*[none] * 6, 1, 1, *[none] * 3]
    # Those of metadata only.
    (plane,) = profile("plane 1 a\nline 1 l\n0us +1us a\n1us +1us b\nmetadata b {n=4}").planes
    assert stat_numbers(plane, "n", "int64").tolist() == [none, 4]


def test_texts_of_a_stat():
    space = profile(MIXED)
    (plane,) = space.planes
    code, texts = stat_texts(space, plane, "n")
    shown = [texts[one] if one >= 0 else None for one in code.tolist()]
    assert shown == ["-5", "7", "0.5", "x", "y", "2 bytes", "90", None, "x", "7", "8"]
    assert code[3] == code[8], "one text has one code"
    code, texts = stat_texts(space, plane, "absent")
    assert (code.tolist(), texts) == ([-1] * 11, ())
    # Those of events only; a stat without a value is none.
    message = build_message("plane 1 a\nline 1 l\n0us +1us a {n=4}\n1us +1us b\n2us +1us b {n=5}\n3us +1us b {n=4}")
    message.planes[0].lines[0].events[2].stats[0].ClearField("int64_value")
    space = load(message.SerializeToString())
    code, texts = stat_texts(space, space.planes[0], "n")
    assert [texts[one] if one >= 0 else None for one in code.tolist()] == ["4", None, None, "4"]
