"""`tpu-profile explain`: what slows a run down, with evidence and advice, as text, JSON or Markdown."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from tpu_profile_plugin.answers.text import in_code, in_markdown
from tpu_profile_plugin.commands.losses import told, warn
from tpu_profile_plugin.errors import ProfileError
from tpu_profile_plugin.system.terminal import one_line
from tpu_profile_plugin.units import duration

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.findings.model import Evidence, Rule, Silence
    from tpu_profile_plugin.run.figures.findings import Cause, Findings
    from tpu_profile_plugin.run.figures.spending import Spent


HELP = "say what slows a run down, with evidence and advice"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    from tpu_profile_plugin.commands.answer import define_shared

    parser.epilog = "exit status: 0 the run was examined, with findings or without; 2 it could not be"
    parser.add_argument("logdir", nargs="?", help="a logdir or a .xplane.pb file")
    parser.add_argument("run", nargs="?", help="the run (default: the newest)")
    parser.add_argument("--host", help="one host (default: all)")
    parser.add_argument("--finding", metavar="ID", help="one finding with all evidence, or why there is none")
    parser.add_argument("--all", action="store_true", help="also the checks without a finding")
    parser.add_argument("--rule", metavar="ID", help="print a rule's documentation; needs no logdir")
    define_shared(parser, ("text", "json", "markdown"))


def run(options: argparse.Namespace) -> int:
    """Prints the findings; returns the exit status."""
    import tpu_profile_plugin
    from tpu_profile_plugin.commands.answer import print_answer

    if options.rule is not None:
        return _explain_rule(options.rule)
    if options.logdir is None:
        print("tpu-profile: explain needs a logdir or --rule ID", file=sys.stderr)
        return 2
    if options.finding and options.format == "markdown":
        print("tpu-profile: explain --finding has the formats text and json", file=sys.stderr)
        return 2
    try:
        with closing(tpu_profile_plugin.open(options.logdir)) as opened:
            if options.format == "json" or options.finding:
                chosen = {"finding": options.finding} if options.finding else {}
                return 2 if print_answer(opened, "explain", chosen, options) else 0
            examined = opened.run(options.run)
            part = examined.on(options.host)
            findings, losses = part.findings(), told(part)
    except ProfileError as error:
        print(one_line(f"tpu-profile: {error.message}"), file=sys.stderr)
        return 2
    about = (examined.name, len(examined.hosts), findings)
    if options.format == "markdown":
        print(as_markdown(*about, silent=options.all, losses=losses))
    else:
        print(as_text(*about, silent=options.all))
        warn(losses)
    return 0


def _explain_rule(name: str) -> int:
    """Prints the documentation of a rule; returns the exit status."""
    from tpu_profile_plugin.analysis.findings.rules import RULES

    known = {rule.id: rule for rule in RULES}
    if name not in known:
        print(f"tpu-profile: there is no rule {name!r}; the rules are {', '.join(known)}", file=sys.stderr)
        return 2
    rule = known[name]
    paragraphs = (textwrap.fill(paragraph, _WIDTH) for paragraph in rule.documentation)
    print("\n\n".join([f"{rule.id}: {rule.looks_for}", *paragraphs]))
    return 0


_WIDTH = 100
_HEADINGS = {"failed": "failed", "passed": "clean", "unknown": "not possible with this recording"}


def as_text(run: str, hosts: int, findings: Findings, silent: bool) -> str:
    """For a terminal; `hosts`: of the run; `silent`: also the rules that found nothing. Failed rules always show."""
    lines = [f"{run}: {findings.headline.title}", *_facts(findings)]
    for number, cause in enumerate(findings.causes, start=1):
        lines += ["", f"{number}. {cause.title}", f"   {_gain(cause, hosts, findings.base)}"]
        for proof in cause.evidence:
            lines.append(f"   - {proof.label}: {_value(proof)}{f'  [{_page(proof)}]' if proof.tool else ''}")
        lines += [f"   - {op}{f'  at {place}' if place else ''}" for op, place in _ops(cause)]
        lines += textwrap.wrap(cause.advice, _WIDTH, initial_indent="   ", subsequent_indent="   ")
    if not findings.causes:
        lines += ["", "No finding."]
    for heading, rules in _silent(findings, silent):
        lines += ["", f"{heading}:", *(f"   - {rule.looks_for}: {silence.reason}" for rule, silence in rules)]
    return "\n".join(map(one_line, lines))


def as_markdown(run: str, hosts: int, findings: Findings, silent: bool, losses: Sequence[str] = ()) -> str:
    """For a pull request; names of the profile keep their characters. `losses`: sentences on what is not shown."""
    lines = [
        f"## Profile {in_markdown(run)}",
        "",
        f"**{in_markdown(findings.headline.title)}**",
        "",
        *map(in_markdown, _facts(findings)),
    ]
    lines += [line for text in losses for line in ("", f"> Problem: {in_markdown(text)}")]
    for number, cause in enumerate(findings.causes, start=1):
        lines += [
            "",
            f"### {number}. {in_markdown(cause.title)}",
            "",
            in_markdown(_gain(cause, hosts, findings.base)),
            "",
        ]
        for proof in cause.evidence:
            page = f" ({in_code(_page(proof))})" if proof.tool else ""
            lines.append(f"- {in_markdown(proof.label)}: **{in_markdown(_value(proof))}**{page}")
        lines += [f"- {in_markdown(op)}{f' at {in_markdown(place)}' if place else ''}" for op, place in _ops(cause)]
        lines += ["", in_markdown(cause.advice)]
    if not findings.causes:
        lines += ["", "No finding."]
    for heading, rules in _silent(findings, silent):
        lines += ["", f"### {heading}", ""]
        lines += [f"- {in_markdown(rule.looks_for)}: {in_markdown(silence.reason)}" for rule, silence in rules]
    return "\n".join(lines)


def _facts(findings: Findings) -> list[str]:
    """The time budget by category, each with its parts, and where the steps come from; nothing without steps."""
    from tpu_profile_plugin.run.figures.spending import by_category

    budget, base, base_ps = findings.view.budget, findings.base, round(findings.view.base_ps)
    if not base_ps:
        return []
    step_ps, steps = round(budget.step_ps), len(budget)
    of = "The recording" if base == "recording" else f"The average {base}"
    between = base_ps - step_ps
    how = f" ({duration(step_ps)} step, {duration(between)} between steps)" if between else ""
    groups = ", ".join(_group(*entry) for entry in by_category(budget))
    marked = f": {steps + budget.left_out} marked, the first and last left out" if budget.left_out else ""
    counted = f"{steps} step{'' if steps == 1 else 's'} recorded{marked}."
    about = [*([] if base == "recording" else [counted]), *findings.notes]
    return [f"{of} takes {duration(base_ps)}{how}: {groups}.", *filter(None, [" ".join(about)])]


def _group(group: Spent, parts: Sequence[Spent]) -> str:
    """A category with its share, and its parts if they are not the same."""
    text = f"{group.name} {group.share:.1%}"
    listed = ", ".join(f"{part.name.lower()} {part.share:.1%}" for part in parts)
    return f"{text} ({listed})" if len(parts) > 1 else text


def _gain(cause: Cause, hosts: int, base: str) -> str:
    where = f" on {', '.join(cause.hosts)}" if len(cause.hosts) < hosts else ""
    sure = f"{cause.confidence} confidence"
    if not cause.saving_ps:
        return f"No direct cost{where}; {sure}."
    saving, whole = duration(cause.saving_ps), duration(sum(round(part.ps) for part in cause.segments))
    *most, last = [part.name for part in cause.segments]
    parts = f"{', '.join(most)} and {last}" if most else last
    share = f"{cause.share:.1%} of the {base}"
    return f"{saving} of {whole} {parts}, {share}{where}; {sure}. Saving: {cause.formula}."


def _ops(cause: Cause) -> list[tuple[str, str]]:
    """The HLO text of each op that the evidence is about, with its line of code; mere names are shown already."""
    ops = {proof.op_text: proof.code for proof in cause.evidence if proof.op_text}
    return [(text, f"{code[0]}:{code[1]}" if code else "") for text, code in ops.items() if " = " in text]


def _value(proof: Evidence) -> str:
    from tpu_profile_plugin.answers.verbs.explain import value_text

    return value_text(proof.value, proof.unit)


def _page(proof: Evidence) -> str:
    """The page that shows it, with the keys of its address."""
    return " ".join([proof.tool, *(f"{key}={value}" for key, value in proof.query.items())])


def _silent(findings: Findings, every: bool) -> Iterator[tuple[str, list[tuple[Rule, Silence]]]]:
    """Heading and rules of each group without a finding: failed checks, and if `every` clean and impossible ones."""
    for state, heading in _HEADINGS.items():
        rules = [(rule, silence) for rule, silence in findings.silent if silence.state == state]
        if rules and (every or state == "failed"):
            yield f"{len(rules)} {'check' if len(rules) == 1 else 'checks'} {heading}", rules
