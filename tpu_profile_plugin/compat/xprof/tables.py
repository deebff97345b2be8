"""XProf's tables made of our figures: columns and labels in its order, without units and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from tpu_profile_plugin.run.catalogue.ops import OPS
from tpu_profile_plugin.tables.column import Column
from tpu_profile_plugin.tables.table import Table


def xprof_table(
    labels: Mapping[str, str], cells: Mapping[str, Any], properties: Mapping[str, str] | None = None
) -> Table:
    """The table of these columns, in the order of `labels`; columns that the catalogue lacks are texts."""
    columns = tuple(Column(id_, label, OPS.type_of(id_)) for id_, label in labels.items())
    return Table(columns, {id_: cells[id_] for id_ in labels}, properties or {})


def source_cell(place: str | None, stack: str | None) -> str:
    """The cell that links an op to its source line, HTML with the stack as tooltip; "" without a source."""
    if place is None:
        return ""
    return f"<div class='source-info-cell' title='{_escaped(stack or '')}'>{_escaped(place)}</div>"


def _escaped(text: str) -> str:
    return escape(text, quote=True).replace("&#x27;", "&#39;")
