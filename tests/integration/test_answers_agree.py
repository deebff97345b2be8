"""Answers about every sample: their numbers are those of the pages that they link to, their further questions work."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from builders.agreement import Page, missing, requested, without_base
from builders.asking import asked
from builders.recorded import chosen, opened
from builders.rings import many

import tpu_profile_plugin
from tpu_profile_plugin.answers.envelope import BYTES, compact
from tpu_profile_plugin.answers.registry import VERBS, find
from tpu_profile_plugin.errors import ProfileError
from tpu_profile_plugin.opening import OpenLogdir

HERE = Path(__file__).parents[2]
ROOTS = (HERE.parent / "shared/traces/logdir", HERE / "demo")
RUNS = [(root, run.name) for root in ROOTS if root.is_dir() for run in opened(root) if chosen(run.name)]
EACH = 2
"""So many questions of a verb are asked about a run: without arguments, and as other answers propose them."""
MOST_ROWS = 400
"""Longer answers are read to their end in one run only."""
CUT = ("count", "self_ms", "total_ms", "percent")
"""Columns of `timeline` that hold only what lies in the window, of several tracks together: compared with the page's
events in the test of the figure."""
STATEMENT = "SELECT name, occurrences, self_ps FROM ops ORDER BY self_ps DESC LIMIT 9"
PAGES = {
    "budget": ("time_budget", "overview_page"),
    "gaps": ("time_budget",),
    "collectives": ("communication",),
    "memory": ("memory_viewer", "memory_profile"),
    "ops": ("hlo_stats", "framework_op_stats"),
    "source": ("hlo_stats",),
    "hlo": ("graph_viewer",),
    "overview": ("overview_page",),
}
"""Where the figures of a verb are shown: if none of these pages has data, the verb cannot tell either."""
Question = tuple[str, tuple[tuple[str, Any], ...]]


@cache
def envelopes(root: Path, run: str) -> dict[Question, Any]:
    """The answers about a run, reached from the questions without arguments by `next`."""
    waiting: list[Question] = [(verb.name, ()) for verb in VERBS if not any(one.required for one in verb.parameters)]
    waiting += [("query", (("runs", run), ("statement", STATEMENT)))]
    found: dict[Question, Any] = {}
    while waiting:
        question = waiting.pop(0)
        if question in found or sum(one[0] == question[0] for one in found) >= EACH:
            continue
        found[question] = ask(opened(root), run, question)
        for deeper in found[question]["next"]:
            if deeper["arguments"].get("run", run) == run:
                more = {name: value for name, value in deeper["arguments"].items() if name != "run"}
                waiting.append((deeper["verb"], tuple(sorted(more.items()))))
    return found


def ask(logdir: OpenLogdir, run: str, question: Question, **more: Any) -> Any:
    verb, arguments = question
    about = {"run": run} if find(verb).of_run else {}
    return asked(logdir, verb, **{**about, **dict(arguments), **more})


def about_the_run(root: Path, run: str) -> Iterator[tuple[Question, Any]]:
    """Answers with figures, those that cannot tell all included."""
    for question, envelope in envelopes(root, run).items():
        if envelope["answer"] and envelope["from"]["tool"] is not None:
            yield question, envelope


@pytest.mark.parametrize(("root", "run"), RUNS)
def test_numbers_are_those_of_the_linked_page(root: Path, run: str) -> None:
    pages: dict[str, Page] = {}
    wrong = []
    for (verb, arguments), envelope in about_the_run(root, run):
        if envelope["link"] not in pages:
            pages[envelope["link"]] = Page(requested(opened(root), envelope))
        not_there = missing(envelope, pages[envelope["link"]])
        wrong += [(verb, arguments, *one) for one in not_there if verb != "timeline" or not one[0].endswith(CUT)]
    assert not wrong


@pytest.mark.parametrize(("root", "run"), RUNS)
def test_every_percentage_has_a_base_and_every_answer_fits(root: Path, run: str) -> None:
    for question, envelope in envelopes(root, run).items():
        assert not without_base(envelope), question
        assert len(compact(envelope).encode()) <= BYTES, question
        assert len(envelope["next"]) <= 6, question


@pytest.mark.parametrize(("root", "run"), RUNS[:: many(4, 1)])
def test_a_question_has_one_answer(root: Path, run: str) -> None:
    again = tpu_profile_plugin.open(root)
    for question, envelope in envelopes(root, run).items():
        assert ask(again, run, question) == envelope


@pytest.mark.parametrize(("root", "run"), RUNS)
def test_the_cursor_leads_to_each_row_once(root: Path, run: str) -> None:
    for question, envelope in envelopes(root, run).items():
        if envelope["rows"] is None or (envelope["rows"]["of"] > MOST_ROWS and run != RUNS[0][1]):
            continue
        ids, pages = [], [envelope]
        while pages[-1]["cursor"]:
            pages.append(ask(opened(root), run, question, cursor=pages[-1]["cursor"], max_bytes=50_000))
        for one in pages:
            rows = next(value for value in reversed(one["answer"].values()) if isinstance(value, list))
            assert len(rows) == one["rows"]["to"] - one["rows"]["from"] > 0 or not one["rows"]["of"]
            ids += [row["id"] for row in rows]
        assert len(ids) == envelope["rows"]["of"], question
        assert len(set(map(str, ids))) == len(ids), question


@pytest.mark.parametrize(("root", "run"), RUNS)
def test_further_questions_are_answered(root: Path, run: str) -> None:
    wrong, seen = [], set()
    for question, envelope in envelopes(root, run).items():
        for deeper in envelope["next"]:
            if (text := str(deeper)) in seen:
                continue
            seen.add(text)
            try:
                asked(opened(root), deeper["verb"], **deeper["arguments"])
            except ProfileError as error:
                wrong.append((question, deeper, error.message))
    assert not wrong


@pytest.mark.parametrize(("root", "run"), RUNS)
def test_what_a_profile_cannot_tell_is_said(root: Path, run: str) -> None:
    missing_in = {tool for tool, reason in opened(root).run(run).tools().items() if reason is not None}
    for question, envelope in envelopes(root, run).items():
        cannot = envelope["cannot_answer"]
        if cannot is not None:
            assert cannot["reason"].strip(), question
            assert cannot["how_to_record"].strip(), question
        else:
            assert envelope["answer"], question
            assert question[0] not in PAGES or not missing_in.issuperset(PAGES[question[0]]), question


@pytest.mark.parametrize(("root", "run"), [one for one in RUNS if len(opened(one[0]).run(one[1]).hosts) > 1])
def test_numbers_of_one_host_are_those_of_its_page(root: Path, run: str) -> None:
    host = opened(root).run(run).hosts[-1]
    verbs = [verb for verb in VERBS if verb.of_run and not any(one.required for one in verb.parameters)]
    for verb in verbs:
        if verb.name == "compare":
            continue  # about whole runs
        envelope = asked(opened(root), verb.name, run=run, host=host)
        assert f"host={host}" in envelope["link"], verb.name
        if envelope["from"]["tool"] is None:
            continue  # what no page shows: its numbers are tested with the replay
        not_there = missing(envelope, Page(requested(opened(root), envelope)))
        assert not [one for one in not_there if verb.name != "timeline" or not one[0].endswith(CUT)], verb.name
