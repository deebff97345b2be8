"""One name, one number: figures of pages, verbs and relations that have one name, unit and row are equal."""

from dataclasses import replace
from pathlib import Path

import pytest
from builders.namesakes import all_figures, namesakes, two_values

import tpu_profile_plugin

HERE = Path(__file__).parents[2]
ROOTS = (HERE.parent / "shared/traces/logdir", HERE.parent / "shared/pytorch", HERE / "demo")
RUNS = [(root, run.name) for root in ROOTS if root.is_dir() for run in tpu_profile_plugin.open(root)]


@pytest.mark.parametrize(("root", "run"), RUNS)
def test_a_name_has_one_number(root: Path, run: str) -> None:
    logdir = tpu_profile_plugin.open(root)
    assert two_values(namesakes(all_figures(logdir, logdir.run(run)))) == []


def test_a_number_that_is_off_by_one_percent_is_found() -> None:
    logdir = tpu_profile_plugin.open(HERE / "demo")
    found = namesakes(all_figures(logdir, logdir.run("train_slow_input/2026_11_22_19_04_21")))
    places = set()
    for name, (first, *others) in found.items():
        if first.value:
            for off in (replace(first, value=1.01 * first.value), replace(first, value=0.99 * first.value)):
                assert two_values({name: [off, *others]}) == [[off, *others]]
            places |= {one.where.partition(".")[0] for one in (first, *others)}
    assert {"page hlo_stats/ops", "page framework_op_stats/without_idle", "verb ops", "relation ops"} <= places
