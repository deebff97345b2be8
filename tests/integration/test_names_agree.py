"""One name, one number: figures of pages, verbs and relations that have one name, unit and row are equal."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders.namesakes import all_figures, namesakes, two_values
from builders.recorded import chosen, opened

from tpu_profile_plugin.analysis.budget.categories import GROUP_OF
from tpu_profile_plugin.answers.registry import find
from tpu_profile_plugin.answers.verb import Asked
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.opening import OpenRun
from tpu_profile_plugin.tables.table import Table

BUDGET = find("budget")
HERE = Path(__file__).parents[2]
ROOTS = (HERE.parent / "shared/traces/logdir", HERE.parent / "shared/pytorch", HERE / "demo")
RUNS = [(root, run.name) for root in ROOTS if root.is_dir() for run in opened(root) if chosen(run.name)]


@pytest.mark.parametrize(("root", "run"), RUNS)
def test_a_name_has_one_number(root: Path, run: str) -> None:
    logdir = opened(root)
    assert two_values(namesakes(all_figures(logdir, logdir.run(run)))) == []


@pytest.mark.parametrize(("root", "run"), RUNS)
def test_a_part_of_the_step_has_one_number(root: Path, run: str) -> None:
    """In the verb, on the page of the time budget, in the evidence of findings that open it at a part or category."""
    logdir = opened(root)
    one = logdir.run(run)
    with suppress(NoData):
        parts = {row["id"]: row["share_percent"] for row in BUDGET.ask(Asked(logdir, run), BUDGET.checked({})).table}
        shown = [
            *((row["category"], row["percent"]) for row in _average(one) if row["device"] == "all"),
            *(
                (dict(proof.query)["part"], float(proof.value))
                for cause in one.findings().causes
                for proof in cause.evidence
                if proof.tool == "time_budget" and proof.unit == "%" and "part" in dict(proof.query)
            ),
        ]
        for part, share in tuple(parts.items()):
            if (category := GROUP_OF.get(part)) is not None and category != part:
                parts[category] = parts.get(category, 0) + share
        listed = {part: pytest.approx(share, rel=1e-4) for part, share in parts.items()}
        assert [(part, share) for part, share in shown if share] == [
            (part, listed.get(part)) for part, share in shown if share
        ]


WHOLE: dict[tuple[str, str], tuple[str, str, Callable[[dict[str, Any]], bool]]] = {
    # tool, table: share, part, all whose parts add up to the whole
    ("hlo_stats", "ops"): ("busy_share", "total_self_time", lambda row: row["rank"] > 0),
    ("kernel_stats", "kernels"): ("share", "total_duration_us", lambda _: True),
    ("framework_op_stats", "without_idle"): (
        "device_total_self_time_percent",
        "total_self_time",
        lambda row: row["host_or_device"] == "Device",
    ),
}
AVERAGES = {
    # tool, table: averages with their totals, and how far they are rounded
    ("hlo_stats", "ops"): ([("avg_time", "total_time"), ("avg_self_time", "total_self_time")], 0.0),
    ("framework_op_stats", "without_idle"): ([("avg_time", "total_time"), ("avg_self_time", "total_self_time")], 0.0),
    ("kernel_stats", "kernels"): ([("avg_duration_us", "total_duration_us")], 0.001),
}


@pytest.mark.parametrize(("root", "run"), RUNS)
def test_a_share_and_an_average_are_what_the_columns_beside_them_make(root: Path, run: str) -> None:
    """Names that only one place has: nothing else would show that they are off by one percent."""
    one = opened(root).run(run)
    for (tool, name), (share, part, counts) in WHOLE.items():
        rows = [row for row in _rows(one, tool, name) if counts(row)]
        whole = sum(row[part] for row in rows)
        assert [row[share] for row in rows if whole] == pytest.approx([row[part] / whole for row in rows if whole])
    for (tool, name), (pairs, rounded) in AVERAGES.items():
        rows = [row for row in _rows(one, tool, name) if row["occurrences"]]
        for average, total in pairs:
            made = [row[total] / row["occurrences"] for row in rows]
            assert [row[average] for row in rows] == pytest.approx(made, abs=rounded)
    lines = _rows(one, "profile_contents", "")
    lasting = [row for row in lines if row["busy_share"] is not None]
    shares = [100 * row["busy"] / (row["end"] - row["begin"]) for row in lasting]
    assert [row["busy_share"] for row in lasting] == pytest.approx(shares)
    spans = [row for row in _rows(one, "communication", "ops") if row["total_ps"]]
    hidden = [100 * (1 - row["exposed_ps"] / row["total_ps"]) for row in spans]
    assert [row["hidden_percent"] for row in spans] == pytest.approx(hidden)
    all_ops = sum(row["self_ps"] for row in _rows(one, "source_view", "ops"))
    lines = [row for row in _rows(one, "source_view", "lines") if row["share"] is not None]
    assert [row["share"] for row in lines] == pytest.approx([100 * row["self_ps"] / all_ops for row in lines])


def _rows(run: OpenRun, tool: str, table: str) -> list[dict[str, Any]]:
    return list(run.tables(tool)[table]) if run.tools().get(tool, "") is None else []


def _average(run: OpenRun) -> Table | tuple[()]:
    return run.table("time_budget", "average") if run.tools()["time_budget"] is None else ()


def test_a_number_that_is_off_by_one_percent_is_found() -> None:
    logdir = opened(HERE / "demo")
    found = namesakes(all_figures(logdir, logdir.run("train_slow_input/2026_11_22_19_04_21")))
    places = set()
    for name, (first, *others) in found.items():
        if first.value:
            for off in (replace(first, value=1.01 * first.value), replace(first, value=0.99 * first.value)):
                assert two_values({name: [off, *others]}) == [[off, *others]]
            places |= {one.where.partition(".")[0] for one in (first, *others)}
    assert {"page hlo_stats/ops", "page framework_op_stats/without_idle", "verb ops", "relation ops"} <= places
