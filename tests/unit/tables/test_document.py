"""Documents: their JSON, and what follows from their declarations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pytest

from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.tables.document import Document, document_json, reference, tables_of, typescript
from tpu_profile_plugin.tables.table import Table, numbers, texts

OPS = Table(
    (texts("op", "Op", "Name."), numbers("time_ps", "Time", "ps", "Sum.")), [["é", None], [1, None]], {"cores": "8"}
)


@dataclass(frozen=True)
class Step:
    """A step.

    Attributes:
      length_ps: from marker
        to marker.
    """

    length_ps: int
    share: float | None = None


@dataclass(frozen=True)
class Report(Document):
    """What a page shows.

    Attributes:
      ops: one row per op.
    """

    ops: Table
    steps: list[Step]
    by_host: Mapping[str, float]
    counts: I64
    times: Annotated[I64, "number[][]"]
    shares: F64
    tone: Literal["good", "bad"]
    pair: tuple[str, int] | None


REPORT = Report(
    OPS,
    [Step(5, float("nan"))],
    {"a": 0.5, "b": float("inf")},
    np.array([1, 2]),
    np.array([[1], [2**40]]),
    np.array([0.5, np.nan]),
    "good",
    None,
)


def test_the_json_of_a_document() -> None:
    column = {"id": "op", "label": "Op", "kind": "string", "unit": None, "help": "Name.", "values": ["é", None]}
    time = {"id": "time_ps", "label": "Time", "kind": "number", "unit": "ps", "help": "Sum.", "values": [1.0, None]}
    assert json.loads(document_json(REPORT)) == {
        "left_out": [],
        "ops": {"columns": [column, time], "rowCount": 2, "properties": {"cores": "8"}},
        "steps": [{"length_ps": 5, "share": None}],
        "by_host": {"a": 0.5, "b": None},
        "counts": [1, 2],
        "times": [[1], [2**40]],
        "shares": [0.5, None],
        "tone": "good",
        "pair": None,
    }


def test_tables_are_found_by_the_names_of_their_members() -> None:
    assert dict(tables_of(REPORT)) == {"ops": OPS}
    assert [name for name, _ in tables_of({"a": [OPS, Table(OPS.columns, OPS.data, name="x")]})] == ["a.0", "a.x"]


def test_types_and_reference() -> None:
    text = typescript({"report": Report}, "About.")
    for line in (
        "  /** One row per op. */\n  readonly ops: TableData;",
        "  readonly steps: readonly Step[];",
        "  readonly by_host: Readonly<Record<string, number>>;",
        "  readonly counts: readonly number[];",
        "  readonly times: readonly number[][];",
        "  readonly shares: readonly (number | null)[];",
        '  readonly tone: "good" | "bad";',
        "  readonly pair: readonly [string, number] | null;",
        "  /** From marker to marker. */\n  readonly length_ps: number;\n  readonly share: number | null;",
        "  readonly report: Report;",
    ):
        assert line in text
    assert "| `length_ps` | number | From marker to marker. |" in reference({"report": Report})
    assert '"good" \\| "bad"' in reference({"report": Report})


def test_what_a_document_cannot_hold() -> None:
    @dataclass(frozen=True)
    class Odd(Document):
        member: object

    with pytest.raises(TypeError):
        typescript({"odd": Odd}, "")
    with pytest.raises(TypeError, match="a document cannot hold a object"):
        document_json(Odd(object()))
