"""Random plausible profiles with absent and odd values: every table becomes a file, with the sums of the pages."""

from __future__ import annotations

import contextlib
import io

import pytest
from builders.answers import run_of
from builders.fuzzing.typed_profiles import typed_case
from builders.relation_rows import table
from builders.rings import many
from pyarrow import parquet

from tpu_profile_plugin.errors import NoData, ProfileError
from tpu_profile_plugin.run.figures.budget import run_communication, run_decomposition
from tpu_profile_plugin.run.relations import RELATIONS
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.files import write_parquet

PROFILES, CHUNK = many(10, 40), many(10, 20)


def written(run: Run) -> dict[str, int]:
    """The number of rows in the file of each table."""
    rows = {}
    for relation in RELATIONS:
        file = io.BytesIO()
        rows[relation.name] = write_parquet(relation.of(run), file)
        assert parquet.read_table(file).num_rows == rows[relation.name]
    return rows


def check_sums(run: Run) -> None:
    steps, collectives, ops = (table(run, name) for name in ("steps", "collectives", "ops"))
    assert steps["duration_ps"].sum() == run_decomposition(run).duration_ps.sum()
    page = run_communication(run)
    waited = sum(one.wait_ps for one in page.first_waits)  # the page sets them aside
    assert collectives["duration_ps"].sum() == sum(one.total_ps for one in page.sums) + waited
    assert collectives["wait_ps"].sum() == page.caused_ps.sum() + waited
    with contextlib.suppress(NoData):
        assert ops["self_ps"].sum() == run.ops().self_ps.sum()


@pytest.mark.parametrize("first", range(0, PROFILES, CHUNK))
def test_tables_of_any_profile_are_written(first: int) -> None:
    complete = rows = 0
    for seed in range(first, first + CHUNK):
        case = typed_case(seed)
        run = run_of(case.data, *case.others)
        with contextlib.suppress(ProfileError):
            rows += sum(written(run).values())
            check_sums(run)
            complete += 1
    assert complete > CHUNK // 2
    assert rows > 20 * CHUNK
