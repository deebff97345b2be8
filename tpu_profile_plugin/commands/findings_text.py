"""The findings of a run as plain text and as Markdown, from the answer of the tool `smart_suggestion`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

CLEAR_SHARE = 0.10
"""A finding that could save less of the step is no headline; as on the overview page."""
_WIDTH = 100
_COMPUTE, _UNEXPLAINED = "compute", "idle_other"
_TIMES = (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3))
_PS = dict(_TIMES)


def headline(answer: dict[str, Any]) -> str:
    """What limits the run, in one line: the largest finding, else what the time is spent on."""
    findings, parts, base = answer["findings"], answer["parts"], answer["base"]
    if findings and findings[0]["share"] >= CLEAR_SHARE:
        title: str = findings[0]["title"]
        return title
    shares = {part["category"]: part["share"] for part in parts}
    if not shares:
        return "No device in the profile: its time cannot be accounted for"
    compute = f"{shares.get(_COMPUTE, 0.0):.1%} of the {base} is computation"
    rest = [part for part in parts if part["category"] != _COMPUTE]
    if answer["healthy"] or not rest:
        return f"Healthy: {compute}" if answer["healthy"] else compute
    lost = f"{rest[0]['share']:.1%} of the {base} is lost without a known cause"
    return f"{lost} ({rest[0]['name']}); {compute}"


def as_text(run: str, hosts: int, answer: dict[str, Any], silent: bool) -> str:
    """For a terminal; `hosts`: of the run; `silent`: with the causes that were not found."""
    lines = [f"{run}: {headline(answer)}", *_facts(answer)]
    for number, finding in enumerate(answer["findings"], start=1):
        lines += ["", f"{number}. {finding['title']}", f"   {_gain(finding, hosts, answer['base'])}"]
        for proof in finding["evidence"]:
            lines.append(f"   - {proof['label']}: {_value(proof)}{f'  [{_view(proof)}]' if proof['tool'] else ''}")
        lines += textwrap.wrap(finding["advice"], _WIDTH, initial_indent="   ", subsequent_indent="   ")
    if not answer["findings"]:
        lines += ["", "No finding."]
    if silent:
        lines += ["", "Looked for and not found:"]
        lines += [f"   - {name}: {reason}" for name, reason in _silent(answer)]
    return "\n".join(lines)


def as_markdown(run: str, hosts: int, answer: dict[str, Any], silent: bool) -> str:
    """For a pull request; names of the profile keep their characters."""
    lines = [f"## Profile {_plain(run)}", "", f"**{_plain(headline(answer))}**", "", *_facts(answer)]
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
        lines += ["", _plain(finding["advice"])]
    if not answer["findings"]:
        lines += ["", "No finding."]
    if silent:
        lines += ["", "### Looked for and not found", ""]
        lines += [f"- {_plain(name)}: {_plain(reason)}" for name, reason in _silent(answer)]
    return "\n".join(lines)


def _facts(answer: dict[str, Any]) -> list[str]:
    """The length of the step and what it consists of; nothing without devices."""
    if not answer["parts"]:
        return []
    parts = ", ".join(f"{part['name']} {part['share']:.1%}" for part in answer["parts"] if part["share"] >= 0.001)
    return [f"The average {answer['base']} takes {duration(answer['step_ps'])}: {parts}."]


def _gain(finding: dict[str, Any], hosts: int, base: str) -> str:
    names = finding["hosts"]
    where = f" on {', '.join(names)}" if len(names) < hosts else ""
    sure = f"{finding['confidence']} confidence"
    if not finding["saving_ps_per_step"]:
        return f"Costs no time of the {base}{where}; {sure}."
    saving = duration(finding["saving_ps_per_step"])
    per = "per step" if base == "step" else f"of the {base}"
    return f"Saves up to {saving} {per} ({finding['share']:.1%}){where}; {sure}. Saving: {finding['formula']}."


def _value(proof: dict[str, Any]) -> str:
    value, unit = proof["value"], proof["unit"]
    if not isinstance(value, (int, float)):
        return " ".join(part for part in (str(value).removeprefix("$"), unit) if part)
    if unit in _PS:
        return duration(round(value * _PS[unit]))
    text = f"{value:.1f}" if unit == "%" else f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return f"{text}{'' if unit in ('', '%') else ' '}{unit}"


def _view(proof: dict[str, Any]) -> str:
    """The page that shows it, with the keys of its address."""
    return " ".join([proof["tool"], *(f"{key}={value}" for key, value in proof["query"].items())])


def _silent(answer: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What was looked for and why it was not found; causes that cannot be told last."""
    for one in sorted(answer["silent"], key=lambda one: not one["looked"]):
        yield one["looks_for"], one["reason"] if one["looked"] else f"not known. {one['reason']}"


def duration(ps: int) -> str:
    """A time in the largest unit in which it is at least 1, with four digits."""
    unit, size = next((step for step in _TIMES if ps >= step[1]), _TIMES[-1])
    return f"{ps / size:.4g} {unit}"


def _plain(text: str) -> str:
    """Text without meaning for Markdown, on one line."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>#|" else char for char in " ".join(text.split()))
