"""Runs as files for other programs. The forms are imported when used: the command line lists their names."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tpu_profile_plugin.errors import BadRequest

if TYPE_CHECKING:
    from tpu_profile_plugin.export.write import Form


FORMS = {
    "parquet": "write:PARQUET",
    "arrow": "write:ARROW",
    "perfetto": "timelines:PERFETTO",
    "chrome": "timelines:CHROME",
}
"""By name: module of this package and the `Form` in it, in the order of the help text."""


def find(name: str) -> Form:
    """The form with this name; raises BadRequest."""
    if name not in FORMS:
        raise BadRequest(f"There is no export format {name[:80]!r}; there are {', '.join(FORMS)}.", parameter="format")
    module, _, constant = FORMS[name].partition(":")
    form: Form = getattr(importlib.import_module(f"{__package__}.{module}"), constant)
    return form
