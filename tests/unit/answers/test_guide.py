"""The guide for models names the verbs, arguments and keys that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from builders.asking import asked
from builders.logdirs import SMALL, write

import tpu_profile_plugin
from tpu_profile_plugin.answers.registry import VERBS, find

GUIDE = (Path(__file__).parents[3] / "docs/user/agents.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under a heading, without its head."""
    lines = GUIDE.partition(f"| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def names(cell: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", cell))


def test_the_table_of_questions_has_every_verb_with_its_arguments() -> None:
    told: dict[str, set[str]] = {}
    for _, verbs, _ in rows("Question"):
        for verb, argument in re.findall(r"`(\w+)`(?: with `(\w+))?", verbs):
            told.setdefault(verb, set()).update([argument] if argument else [])
    assert set(told) == {verb.name for verb in VERBS}
    for name, arguments in told.items():
        assert arguments <= {one.name for one in find(name).parameters}, name


def test_the_keys_are_those_of_an_answer(tmp_path: Path) -> None:
    logdir = tpu_profile_plugin.open(write(tmp_path, {"plugins/profile/r/h.xplane.pb": SMALL}))
    assert set().union(*(names(row[0]) for row in rows("Key"))) == set(asked(logdir, "runs"))


@pytest.mark.parametrize("argument", ["run", "host", "cursor", "max_bytes", "logdir"])
def test_common_arguments_are_told(argument: str) -> None:
    assert argument in set().union(*(names(row[0]) for row in rows("Argument")))
