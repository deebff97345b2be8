"""Forms that other programs expect in place of ours: `xprof/`, a wing that nothing else needs.

Without that directory, `/data` answers our own documents.
"""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tpu_profile_plugin.tools.tool import Tool


@cache
def wing() -> ModuleType | None:
    """The wing with XProf's answers; None if it is not installed."""
    name = f"{__name__}.xprof"
    return importlib.import_module(name) if importlib.util.find_spec(name) is not None else None


def xprof_form(tag: str) -> Tool | None:
    """The tool of this id, alias or old spelling as XProf answers it; None for one that XProf lacks."""
    xprof = wing()
    form: Tool | None = None if xprof is None else xprof.form_of(tag)
    return form


def xprof_reading(tag: str) -> Tool | None:
    """The tool of this id or alias whose document shows XProf's figures; None if there is no such reading."""
    xprof = wing()
    reading: Tool | None = None if xprof is None else xprof.reading_of(tag)
    return reading
