"""The findings of a run as plain text and as Markdown, from the answer of the tool `smart_suggestion`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from tpu_profile_plugin.analysis.findings.model import Rule
from tpu_profile_plugin.answers.evidence import value_text
from tpu_profile_plugin.units import duration

_WIDTH = 100
_HEADINGS = {"failed": "failed", "passed": "clean", "unknown": "not possible with this recording"}


def as_text(run: str, hosts: int, answer: dict[str, Any], silent: bool) -> str:
    """For a terminal; `hosts`: of the run; `silent`: also the rules that found nothing. Failed rules always show."""
    lines = [f"{run}: {answer['headline']['title']}", *_facts(answer)]
    for number, finding in enumerate(answer["findings"], start=1):
        lines += ["", f"{number}. {finding['title']}", f"   {_gain(finding, hosts, answer['base'])}"]
        for proof in finding["evidence"]:
            lines.append(f"   - {proof['label']}: {_value(proof)}{f'  [{_view(proof)}]' if proof['tool'] else ''}")
        lines += [f"   - {op}{f'  at {place}' if place else ''}" for op, place in _ops(finding)]
        lines += textwrap.wrap(finding["advice"], _WIDTH, initial_indent="   ", subsequent_indent="   ")
    if not answer["findings"]:
        lines += ["", "No finding."]
    for heading, rules in _silent(answer, silent):
        lines += ["", f"{heading}:", *(f"   - {rule['looks_for']}: {rule['reason']}" for rule in rules)]
    return "\n".join(lines)


def as_markdown(run: str, hosts: int, answer: dict[str, Any], silent: bool, losses: Sequence[str] = ()) -> str:
    """For a pull request; names of the profile keep their characters. `losses`: sentences on what is not shown."""
    lines = [f"## Profile {_plain(run)}", "", f"**{_plain(answer['headline']['title'])}**", "", *_facts(answer)]
    lines += [line for text in losses for line in ("", f"> Problem: {_plain(text)}")]
    for number, finding in enumerate(answer["findings"], start=1):
        lines += [
            "",
            f"### {number}. {_plain(finding['title'])}",
            "",
            _plain(_gain(finding, hosts, answer["base"])),
            "",
        ]
        for proof in finding["evidence"]:
            view = f" (`{_view(proof).replace('`', chr(39))}`)" if proof["tool"] else ""
            lines.append(f"- {_plain(proof['label'])}: **{_plain(_value(proof))}**{view}")
        lines += [f"- {_plain(op)}{f' at {_plain(place)}' if place else ''}" for op, place in _ops(finding)]
        lines += ["", _plain(finding["advice"])]
    if not answer["findings"]:
        lines += ["", "No finding."]
    for heading, rules in _silent(answer, silent):
        lines += ["", f"### {heading}", ""]
        lines += [f"- {_plain(rule['looks_for'])}: {_plain(rule['reason'])}" for rule in rules]
    return "\n".join(lines)


def _facts(answer: dict[str, Any]) -> list[str]:
    """The time budget by category, each with its parts, and where the steps come from; nothing without steps."""
    if not answer["base_ps"]:
        return []
    of = "The recording" if answer["base"] == "recording" else f"The average {answer['base']}"
    between = answer["base_ps"] - answer["step_ps"]
    how = f" ({duration(answer['step_ps'])} step, {duration(between)} between steps)" if between else ""
    groups = ", ".join(map(_group, answer["groups"]))
    counted = f"{answer['steps']} step{'' if answer['steps'] == 1 else 's'} recorded{_left_out(answer)}."
    about = [*([] if answer["base"] == "recording" else [counted]), *answer["notes"]]
    return [f"{of} takes {duration(answer['base_ps'])}{how}: {groups}.", *filter(None, [" ".join(about)])]


def _left_out(answer: dict[str, Any]) -> str:
    """How many steps were marked, if not all of them count."""
    left_out = answer.get("steps_left_out", 0)
    return f": {answer['steps'] + left_out} marked, the first and last left out" if left_out else ""


def _group(group: dict[str, Any]) -> str:
    """A category with its share, and its parts if they are not the same."""
    text = f"{group['name']} {group['share']:.1%}"
    parts = ", ".join(f"{part['name'].lower()} {part['share']:.1%}" for part in group["parts"])
    return f"{text} ({parts})" if len(group["parts"]) > 1 else text


def _gain(finding: dict[str, Any], hosts: int, base: str) -> str:
    names = finding["hosts"]
    where = f" on {', '.join(names)}" if len(names) < hosts else ""
    sure = f"{finding['confidence']} confidence"
    if not finding["saving_ps_per_step"]:
        return f"No direct cost{where}; {sure}."
    saving, whole = duration(finding["saving_ps_per_step"]), duration(sum(part["ps"] for part in finding["segments"]))
    *most, last = [part["name"] for part in finding["segments"]]
    parts = f"{', '.join(most)} and {last}" if most else last
    share = f"{finding['share']:.1%} of the {base}"
    return f"{saving} of {whole} {parts}, {share}{where}; {sure}. Saving: {finding['formula']}."


def _ops(finding: dict[str, Any]) -> list[tuple[str, str]]:
    """The HLO text of each op that the evidence is about, with its line of code; mere names are shown already."""
    told = {
        one["op"]: f"{one['file']}:{one['line']}" if one["file"] else "" for one in finding["evidence"] if one["op"]
    }
    return [(text, place) for text, place in told.items() if " = " in text]


def _value(proof: dict[str, Any]) -> str:
    return value_text(proof["value"], proof["unit"])


def _view(proof: dict[str, Any]) -> str:
    """The page that shows it, with the keys of its address."""
    return " ".join([proof["tool"], *(f"{key}={value}" for key, value in proof["query"].items())])


def _silent(answer: dict[str, Any], every: bool) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Heading and rules of each group without a finding: failed checks, and if `every` clean and impossible ones."""
    for state, heading in _HEADINGS.items():
        rules = [rule for rule in answer["silent"] if rule["state"] == state]
        if rules and (every or state == "failed"):
            yield f"{len(rules)} {'check' if len(rules) == 1 else 'checks'} {heading}", rules


def rule_text(rule: Rule) -> str:
    """The documentation of a rule for a terminal."""
    paragraphs = (textwrap.fill(paragraph, _WIDTH) for paragraph in rule.documentation)
    return "\n\n".join([f"{rule.id}: {rule.looks_for}", *paragraphs])


def _plain(text: str) -> str:
    """Text without meaning for Markdown, on one line."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>#|" else char for char in " ".join(text.split()))
