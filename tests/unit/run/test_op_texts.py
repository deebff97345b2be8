"""Evidence about an op has the op's HLO text and source line, if the run recorded its program."""

from __future__ import annotations

from builders.programs.buffers import profile
from builders.programs.hlo import op, program
from builders.xspace_text import build

import tpu_profile_plugin as tp
from tpu_profile_plugin.analysis.findings.find import Report, RuleFinding
from tpu_profile_plugin.analysis.findings.headline import Headline
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, OpOf, Rule, Silence
from tpu_profile_plugin.answers.verbs.explain import _op
from tpu_profile_plugin.run.figures.findings import MOST_TEXT, with_op_texts

ENTRY = [
    op("p", "parameter", "f32[8]", op_name="x"),
    op("near", "negate", "f32[8]", "p"),
    op("a", "add", "f32[8]", "near", "p", op_name="jit(f)/add", source_file="/src/train.py", source_line=3),
    op("large", "custom-call", "f32[8]", *["a"] * 400),
]


def told(*ops: OpOf) -> list[OpOf | None]:
    run = tp.open(build(profile(jit_f=program(ENTRY)))).run()
    rule = Rule("r", "R", lambda run, gathered: Silence("No."))
    evidence = tuple(Evidence("Most of it in", one.name, op=one) for one in ops)
    found = Finding("T", 1, "f", "high", (*evidence, Evidence("Share", 3.0, "%")), Advice("A"))
    report = with_op_texts(run, Report((RuleFinding(rule, found, 0.5),), (), Headline("H", "bad"), healthy=False))
    *shown, last = report.findings[0].finding.evidence
    assert last == Evidence("Share", 3.0, "%")
    return [one.op for one in shown]


def test_the_instruction_and_the_line_of_an_op() -> None:
    assert told(OpOf("a", 1), OpOf("near", 1)) == [
        OpOf("a", 1, "a = f32[8] add(near, p)", "/src/train.py", 3),
        OpOf("near", 1, "near = f32[8] negate(p)", "/src/train.py", 3),  # the line of what uses it
    ]


def test_an_op_without_a_recorded_program_keeps_its_name() -> None:
    unknown = (OpOf("b", 1), OpOf("a", 2), OpOf("MatMul"))
    assert told(*unknown) == [*unknown]
    assert Evidence("Most of it in", "x", op=OpOf("MatMul")).op_text == "MatMul"
    assert Evidence("Share", 3.0, "%").op_text == ""


def test_long_texts_are_cut() -> None:
    (large,) = told(OpOf("large", 1))
    assert large is not None
    assert len(large.text) == MOST_TEXT
    assert large.text.endswith("…")


def test_the_line_of_an_op_comes_before_one_that_the_value_names() -> None:
    op = OpOf("a", 1, "a = f32[8] add(near, p)", "/src/train.py", 3)
    assert Evidence("Its source line", "train.py:3", op=op).code == ("/src/train.py", 3)
    assert _op(op) == {"op": op.text, "line": "/src/train.py:3"}
    assert _op(OpOf("MatMul")) == {"op": "MatMul"}
