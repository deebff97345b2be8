"""What the documentation claims about faults, damage and attackers names tests, and these exist."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "developer" / name for name in ("robustness.md", "security.md")]
NO_CLAIMS = {
    "robustness.md": {"Long tests"},  # results, with their commands
    "security.md": {"Security", "Assets and attackers", "Out of scope", "Reporting"},
}
"""Sections without behaviour."""
SIGNPOSTS = ("What is claimed here", "Tests stand after their files")
"""Begins of paragraphs that say where tests are named."""
FILE = re.compile(r"(?:\w+/)*test_\w+\.py|[\w.]+\.test\.js")
NAME = re.compile(r"test_\w+")


def names_in(path: Path) -> set[str]:
    """The tests of a file."""
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


FILES: dict[str, list[Path]] = defaultdict(list)
for _path in (*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "tests" / "browser").glob("*.test.js")):
    FILES[_path.name].append(_path)


def claims(text: str, without: set[str]) -> Iterator[str]:
    """The rows of tables and the paragraphs of the sections that claim something."""
    heading = ""
    for block in re.split(r"\n\s*\n", text):
        if block.startswith("#"):
            heading = block.partition("\n")[0].lstrip("# ")
        elif heading in without:
            continue
        elif block.startswith("|"):
            yield from block.splitlines()[2:]
        else:
            yield " ".join(block.split())


def named(claim: str) -> Iterator[tuple[str, str]]:
    """File and test of every test that a claim names; the test is "" where the file is named alone."""
    file, alone = "", False
    for code in re.findall(r"`([^`]+)`", claim):
        if FILE.fullmatch(code):
            if alone:
                yield file, ""
            file, alone = code, True
        elif NAME.fullmatch(code):
            yield file, code
            alone = False
    if alone:
        yield file, ""


ALL = [
    (page.name, claim)
    for page in PAGES
    for claim in claims(page.read_text(), NO_CLAIMS[page.name])
    if not claim.startswith(SIGNPOSTS)
]


def test_every_claim_names_a_test() -> None:
    assert len(ALL) > 50
    bare = [f"{page}: {claim[:80]}" for page, claim in ALL if not any(True for _ in named(claim))]
    assert bare == []


def test_every_test_that_is_named_exists() -> None:
    wrong = []
    for page, claim in ALL:
        for file, test in named(claim):
            paths = [path for path in FILES[file.rpartition("/")[2]] if str(path).endswith(f"/{file}")]
            known = set() if not paths or paths[0].suffix == ".js" else set().union(*map(names_in, paths))
            if not paths or (test and test not in known) or (not test and paths[0].suffix == ".py"):
                wrong.append(f"{page}: {file}: {test or 'a test'} in {claim[:60]}")
    assert wrong == []


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (
            "| a | b | `test_a.py`: `test_x`, `test_y`; `b.test.js` |",
            ["test_a.py test_x", "test_a.py test_y", "b.test.js "],
        ),
        ("`test_a.py`; `test_b.py`: `test_z`", ["test_a.py ", "test_b.py test_z"]),
        ("| a `--flag` | `visible` |", []),
    ],
)
def test_names_are_read(claim: str, expected: list[str]) -> None:
    assert [f"{file} {test}" for file, test in named(claim)] == expected


def test_sections_without_claims_are_left_out() -> None:
    text = "# A\n\nOne\ntwo.\n\n| h |\n| - |\n| r1 |\n| r2 |\n\n## B\n\nThree.\n"
    assert list(claims(text, {"B"})) == ["One two.", "| r1 |", "| r2 |"]
