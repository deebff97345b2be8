"""Annotated lines as SARIF 2.1.0, which editors and code hosts show beside the code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

from tpu_profile_plugin.export.annotations.lines import costs_of, saving_of, source_of
from tpu_profile_plugin.logdir.source_files import SourceRoot, SourceText
from tpu_profile_plugin.run.figures.annotations import Annotation, Annotations
from tpu_profile_plugin.run.figures.findings import Cause
from tpu_profile_plugin.version import __version__

LEAST_SHARE = 0.01
"""Lines with less than this share of time, and of memory, and without a finding are no results."""
_ROOT = "SRCROOT"
_TIME, _MEMORY = "time_of_line", "memory_of_line"
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RULES = {
    _TIME: ("Time of a line", "Self time of the ops that are compiled from the line or launched there."),
    _MEMORY: ("Memory of a line", "What buffers or allocations of the line hold at the peak."),
}
_LEVELS = {"high": "warning", "medium": "warning", "low": "note"}


def sarif(found: Annotations, sources: SourceRoot) -> str:
    """A log with one run; `sources` are its base of addresses."""
    causes = [*(cause for one in found.lines for cause in one.causes), *found.others]
    rules: dict[str, dict[str, Any]] = {}
    for id_, (name, about) in _RULES.items():
        rules[id_] = _rule(id_, name, about)
    for cause in causes:
        about = " ".join(cause.rule.documentation)
        rules.setdefault(cause.id, _rule(cause.id, cause.rule.looks_for, about))
    number = {id_: at for at, id_ in enumerate(rules)}
    results: list[dict[str, Any]] = []
    for file, lines in found.files.items():
        text = source_of(sources, file)
        where = _artifact(file, text)
        for one in lines:
            results += _results(one, found, where, number)
    results += [_finding(cause, found, number, []) for cause in found.others]
    driver = {
        "name": "tpu-profile",
        "version": __version__,
        "rules": list(rules.values()),
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"{quote(found.run)}/"},
        "columnKind": "utf16CodeUnits",
        "results": results,
    }
    if sources.path:
        run["originalUriBaseIds"] = {_ROOT: {"uri": PurePath(sources.path).as_uri().rstrip("/") + "/"}}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(id_: str, name: str, about: str) -> dict[str, Any]:
    return {"id": id_, "shortDescription": {"text": name}, "fullDescription": {"text": about}, "help": {"text": about}}


def _artifact(file: str, text: SourceText | None) -> dict[str, Any]:
    """Where a file is: below the directory of sources, else as it was recorded."""
    if text is not None:
        return {"uri": quote("/".join(text.parts)), "uriBaseId": _ROOT}
    windows = PureWindowsPath(file)
    if windows.drive and windows.is_absolute():
        return {"uri": windows.as_uri()}
    if file.startswith("/"):
        return {"uri": PurePosixPath(file).as_uri()}
    return {"uri": quote(file.replace("\\", "/"))}


def _results(
    one: Annotation, found: Annotations, where: Mapping[str, Any], number: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    place = {"physicalLocation": {"artifactLocation": dict(where), "region": {"startLine": max(1, one.line)}}}
    for cause in one.causes:
        yield _finding(cause, found, number, [place])
    costs = {
        _TIME: (one.self_ps, one.share, {"selfPs": one.self_ps, "sharePercent": 100 * one.share}),
        _MEMORY: (
            one.memory_bytes,
            one.memory_share,
            {"memoryBytes": one.memory_bytes, "sharePercent": 100 * one.memory_share},
        ),
    }
    for rule, (amount, share, properties) in costs.items():
        if amount and (share >= LEAST_SHARE or one.causes):
            alone = Annotation(one.file, one.line, **_only(one, rule))
            yield _result(rule, "note", costs_of(alone, found), number, [place], 100 * share, properties)


def _only(one: Annotation, rule: str) -> dict[str, Any]:
    if rule == _TIME:
        return {"self_ps": one.self_ps, "share": one.share}
    return {"memory_bytes": one.memory_bytes, "memory_share": one.memory_share}


def _finding(
    cause: Cause, found: Annotations, number: Mapping[str, int], places: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    text = f"{cause.title} ({saving_of(cause, found.base)}). {cause.advice}"
    properties = {
        "savingPs": cause.saving_ps,
        "savingPercent": 100 * cause.share,
        "savingBase": found.base,
        "confidence": cause.confidence,
    }
    level = _LEVELS[cause.confidence] if cause.saving_ps else "note"
    return _result(cause.id, level, text, number, places, 100 * cause.share, properties)


def _result(
    rule: str,
    level: str,
    text: str,
    number: Mapping[str, int],
    places: Sequence[Mapping[str, Any]],
    rank: float,
    properties: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "ruleId": rule,
        "ruleIndex": number[rule],
        "level": level,
        "message": {"text": text},
        "locations": list(places),
        "rank": min(100.0, max(0.0, rank)),
        "properties": dict(properties),
    }
