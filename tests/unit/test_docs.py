"""The documentation fits the checkout: links, anchors, pictures, paths, flags, commands, a guide section per tool."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tpu_profile_plugin import cli
from tpu_profile_plugin.analysis.findings.rules import RULES
from tpu_profile_plugin.server.options import define_flags
from tpu_profile_plugin.tools.registry import TOOLS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDE = DOCS / "user" / "guide.md"
SETTINGS = DOCS / "user" / "settings.md"
FOLDERS = ("native", "scripts", "tests", "tpu_profile_plugin")
BUILT = {"node_modules", "target", "corpus", "artifacts", "__pycache__"}


def walk(*folders: str) -> Iterator[Path]:
    """The files below some folders of the checkout, without what is built or installed there."""
    for folder in folders:
        for directory, below, names in os.walk(ROOT / folder):
            below[:] = sorted(set(below) - BUILT)
            yield from (Path(directory, name) for name in sorted(names))


PAGES = [path for path in walk("docs") if path.suffix == ".md"]
TEXTS = [
    *PAGES,
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(path for path in walk(*FOLDERS, "frontend") if path.name == "README.md"),
]

SAMPLE_COLLECTION = {"labels.json", "make_big_trace.py", "serve_bench.py"}
"""Files outside of the checkout that pages may name."""

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_COMMAND = re.compile(r"(?<![\w./-])scripts/[\w/.-]*\w")
_PATH = re.compile(r"`((?:scripts|tests|tpu_profile_plugin|native|docs)/[\w/.-]*)(?: [^`]*)?`")
_MODULE = re.compile(r"`(?:\.\./)*((?:[\w.-]+/)*[\w.-]{2,}\.(?:py|rs|mjs|js|tsx?|json|toml))`")
_FLAG = re.compile(r"--profile_\w+")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def place(path: Path, text: str, at: int) -> str:
    """`file:line`, for messages."""
    return f"{name_of(path)}:{text.count(chr(10), 0, at) + 1}"


def blanked(text: str, pattern: re.Pattern[str]) -> str:
    """The text with matches replaced by as many line breaks, so that line numbers stay."""
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)


@cache
def files() -> frozenset[str]:
    """Every file of the checkout that a page may name, as a path from the root."""
    return frozenset(["pyproject.toml", *map(name_of, walk(*FOLDERS, "docs", "frontend"))])


@cache
def anchors(path: Path) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub makes them: of equal headings the later ones are numbered."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in _HEADING.findall(blanked(path.read_text(), _FENCE)):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return frozenset(found)


def links(path: Path) -> Iterator[tuple[str, str]]:
    """Every link and picture outside of code, with its place; those to other sites are left out."""
    text = blanked(blanked(path.read_text(), _FENCE), _CODE)
    for match in _LINK.finditer(text):
        if not re.match(r"[a-z]+:", match[1]):
            yield match[1], place(path, text, match.start())


def test_no_half_merged_text() -> None:
    assert not [name_of(path) for path in TEXTS if re.search(r"^(<{7}|={7}|>{7})( |$)", path.read_text(), re.MULTILINE)]


def test_links_lead_to_files_and_headings() -> None:
    wrong = []
    for path in TEXTS:
        for link, where in links(path):
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            if not target.exists():
                wrong.append(f"{where}: there is no {link}")
            elif anchor and anchor not in anchors(target):
                wrong.append(f"{where}: no heading of {name_of(target)} makes #{anchor}: {sorted(anchors(target))}")
    assert not wrong, "\n".join(wrong)


def test_tables_are_whole() -> None:
    """A blank line ends a table: rows behind it are plain text."""
    wrong = []
    for path in TEXTS:
        lines, in_code = path.read_text().split("\n"), False
        for number, line in enumerate(lines):
            in_code ^= line.startswith("```")
            begins = not in_code and line.startswith("|") and not (number and lines[number - 1].startswith("|"))
            if begins and not re.fullmatch(r"\|[\s:|-]+\|", lines[number + 1]):
                wrong.append(f"{name_of(path)}:{number + 1}: a row of no table")
    assert not wrong, "\n".join(wrong)


def test_commands_and_paths_exist() -> None:
    wrong = []
    for path in TEXTS:
        text = path.read_text()
        named = {(match[0], match.start()) for match in _COMMAND.finditer(text)}
        named |= {(match[1], match.start(1)) for match in _PATH.finditer(text)}
        wrong += [f"{place(path, text, at)}: there is no {name}" for name, at in named if not (ROOT / name).exists()]
    assert not wrong, "\n".join(wrong)


def test_named_source_files_exist() -> None:
    """A name in code such as `steps/table.py` is the end of some file's path; `x.test.ts` is any test."""
    wrong = []
    for path in TEXTS:
        text = path.read_text()
        named = [(match[1], match.start()) for match in _MODULE.finditer(text) if not match[1].startswith("x.")]
        missing = [(name, at) for name, at in named if not any(f"/{file}".endswith(f"/{name}") for file in files())]
        wrong += [
            f"{place(path, text, at)}: there is no {name}" for name, at in missing if name not in SAMPLE_COLLECTION
        ]
    assert not wrong, "\n".join(wrong)


def test_every_page_is_in_the_index_and_every_picture_on_a_page() -> None:
    listed = {(DOCS / link.partition("#")[0]).resolve() for link, _ in links(DOCS / "README.md")}
    assert not {name_of(page) for page in {*PAGES} - listed - {DOCS / "README.md"}}, "missing in docs/README.md"
    shown = {(path.parent / link).resolve() for path in TEXTS for link, _ in links(path)}
    assert not {name_of(picture) for picture in {*(DOCS / "images").iterdir()} - shown}, "on no page"


def test_every_tool_has_one_section_in_the_guide() -> None:
    """A section about a tool begins with a line `Tool id: ...`; its heading is the tool's title in the menu."""
    sections = re.findall(r"^## (.+)\n\nTool id: (.+)$", GUIDE.read_text(), re.MULTILINE)
    told = Counter(name for _, line in sections for name in re.findall(r"`([^`]+)`", line))
    assert told == Counter(tool.id for tool in TOOLS), "docs/user/guide.md, lines `Tool id:`, against tools/registry.py"
    titles = {tool.title for tool in TOOLS if tool.offered}
    assert {heading.lower() for heading, _ in sections} == {title.lower() for title in titles}


def test_the_guide_lists_the_rules_of_the_findings() -> None:
    """`UPDATE_GOLDEN=1` writes the table anew."""
    rows = "".join(f"| `{rule.id}` | {' | '.join(rule.documentation)} |\n" for rule in RULES)
    before, begin, rest = GUIDE.read_text().partition("<!-- rules -->\n")
    _, end, after = rest.partition("<!-- /rules -->\n")
    head = "| Rule | Looks for | When it fires | What to do |\n| --- | --- | --- | --- |\n"
    wanted = f"{before}{begin}{head}{rows}{end}{after}"
    if os.environ.get("UPDATE_GOLDEN"):
        GUIDE.write_text(wanted)
    assert begin
    assert end
    assert GUIDE.read_text() == wanted, "docs/user/guide.md lacks rules: UPDATE_GOLDEN=1 pytest tests/unit/test_docs.py"


def test_flags_of_the_documentation_are_those_of_the_server() -> None:
    parser = argparse.ArgumentParser()
    define_flags(parser)
    known = set(_FLAG.findall(parser.format_help()))
    assert known
    for path in TEXTS:
        unknown = set(_FLAG.findall(path.read_text())) - known
        assert not unknown, f"{name_of(path)}: the server has no flag {sorted(unknown)}"
    missing = {name for name in known if name not in SETTINGS.read_text()}
    assert not missing, f"docs/user/settings.md lacks {sorted(missing)}"


def commands(path: Path) -> Iterator[tuple[list[str], str]]:
    """The words after `tpu-profile` of every command of a page that names one, with their place."""
    text = re.sub(r"\\\n", "  ", path.read_text())
    for code in re.finditer(r"```.*?```|`[^`]+`", text, re.DOTALL):
        for match in re.finditer(r"(?m)^.*(?<![\w./-])tpu-profile(?:-plugin)? (\w[^`\n]*)", code[0]):
            command = re.split(r"\s#\s|\s[|>&;]+|\)\"", match[1])[0]
            words = [word for word in shlex.split(re.sub(r"\$\{[^}]*\}", "", command)) if word != "..."]
            if words[0].islower() and " install " not in match[0]:
                yield words, place(path, text, code.start() + match.start())


def test_commands_of_the_documentation_are_those_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    """Options and choices exist; what a sentence leaves out may be missing."""
    wrong, tried = [], 0
    for path in TEXTS:
        for words, where in commands(path):
            tried += 1
            try:
                cli.make_parser(words[0] if words[0] in (*cli._COMMANDS, "serve", "version") else None).parse_args(
                    words
                )
            except SystemExit as end:
                error = capsys.readouterr().err
                if end.code and not re.search(r"required|expected (?:one|at least one) argument", error):
                    wrong.append(f"{where}: {' '.join(words)}: {error.splitlines()[-1]}")
    assert tried > 100
    assert not wrong, "\n".join(wrong)


def test_the_demo_is_small() -> None:
    """The limit that CONTRIBUTING.md states."""
    assert sum(path.stat().st_size for path in walk("demo")) < 2_000_000
