"""Source lines with their time, memory and findings: plain text with a gutter, JSON, SARIF 2.1.0, an HTML page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tpu_profile_plugin.export.annotations.html import html
from tpu_profile_plugin.export.annotations.sarif import sarif
from tpu_profile_plugin.export.annotations.text import json_text, text
from tpu_profile_plugin.logdir.source_files import SourceRoot
from tpu_profile_plugin.run.figures.annotations import Annotations

FORMS: Mapping[str, Callable[[Annotations, SourceRoot], str]] = {
    "sarif": sarif,
    "json": json_text,
    "text": text,
    "html": html,
}
"""The forms by name."""


def written(found: Annotations, form: str, sources: SourceRoot) -> str:
    """The annotations in one of `FORMS`; `sources`: where the texts of the files are, if anywhere."""
    return FORMS[form](found, sources)
