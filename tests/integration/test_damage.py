"""A quick run of the corpus of damaged profiles through every tool over HTTP; `scripts/soak/damage` is the long one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

import pytest
from builders.damage import bytes_of, profiles, programs, sizes, trace_files, values
from builders.damage.ask import PER_BYTE, ROOM, Asker
from builders.damage.wire import Case
from builders.rings import many

from tpu_profile_plugin.columns import load
from tpu_profile_plugin.errors import CorruptProfile

SEED = 20261120
EVERY = many(10, 1)
"""Of the quick run; the kinds of damage follow each other."""


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Asker:
    return Asker(tmp_path_factory.mktemp("damage"))


def _quick() -> Iterator[Case]:
    rng, rich = random.Random(SEED), profiles.rich()
    yield from bytes_of.trivial()
    yield from bytes_of.cut(rich, every=150)
    yield from bytes_of.absurd_lengths(rich, rng, 8)
    yield from bytes_of.flipped(rich, rng, 6)
    yield from list(values.cases())[::2]
    yield from list(programs.cases(300))[::3]
    yield from list(sizes.cases(300))[::3]
    yield from list(trace_files.cases(300))[::9]
    for seed in range(10):
        yield Case(f"mutated {seed}", bytes_of.mutated(rich, random.Random(seed), 8))


@pytest.mark.timeout(600)
def test_every_tool_answers_or_rejects_every_damaged_profile(asker: Asker) -> None:
    reports = [asker.ask(case) for case in islice(_quick(), 0, None, EVERY)]
    complaints = [f"{report.case}: {complaint}" for report in reports for complaint in report.complaints]
    assert not complaints, "\n".join(complaints[:20])
    assert len(reports) > 120 / EVERY
    hungry = [(r.case, r.size, r.peak_bytes) for r in reports if r.peak_bytes > ROOM + PER_BYTE * r.size]
    assert not hungry


PER_ROW = 32 << 10
"""Allowed memory per step or kernel name, over all tools: their tables are as long."""


@pytest.mark.parametrize("rows", ["steps", pytest.param("names of /device:GPU:0", marks=pytest.mark.night)])
def test_memory_grows_with_the_rows_of_tables(asker: Asker, rows: str) -> None:
    few, many = 1000, 4000
    peaks = {}
    for count in (few, many):
        case = next(case for case in sizes.of_names(count) if case.name == f"{count} {rows}")
        report = asker.ask(case)
        assert report.complaints == []
        peaks[count] = report.peak_bytes
    assert peaks[many] <= ROOM + many * PER_ROW
    assert peaks[many] - peaks[few] <= (many - few) * PER_ROW


def test_the_undamaged_profile_answers(asker: Asker) -> None:
    report = asker.ask(Case("rich", profiles.rich()))
    assert (report.complaints, report.codes["ok"] > 40, "corrupt_profile" in report.codes) == ([], True, False)


@pytest.mark.parametrize(("name", "data"), profiles.real(), ids=lambda value: value if isinstance(value, str) else "")
def test_truncated_real_profiles_decode_or_report_the_offset(name: str, data: bytes) -> None:
    decoded, offsets = 0, []
    for case in bytes_of.cut(data, every=97, shift=random.Random(name).randrange(97)):
        try:
            load(case.data, threads=1)
            decoded += 1
        except CorruptProfile as error:
            offsets.append((error.details["offset"], len(case.data)))
    assert all(0 <= offset <= size for offset, size in offsets)
    # A truncated file is valid only if it ends between planes.
    assert decoded < 40
