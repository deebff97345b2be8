"""What pages receive is declared once: the TypeScript types and the reference are those that Python's classes make.

`UPDATE_GOLDEN=1 pytest tests/unit/tools/test_documents.py` writes them.
"""

import os
from pathlib import Path

import pytest

from tpu_profile_plugin.tables.document import reference, typescript
from tpu_profile_plugin.tools.registry import TOOLS

ROOT = Path(__file__).parents[3]
TYPES = ROOT / "frontend" / "src" / "base" / "documents.ts"
HTTP = ROOT / "docs" / "developer" / "http.md"
BEGIN, END = "<!-- documents: begin -->\n", "<!-- documents: end -->"
DOCUMENTS = {tool.id: document for tool in TOOLS if (document := tool.document) is not None}
ABOUT = "What pages receive, made of the dataclasses of tpu_profile_plugin/tools (tests/unit/tools/test_documents.py)."


def expected(path: Path) -> str:
    if path == TYPES:
        return typescript(DOCUMENTS, ABOUT)
    before, _, rest = path.read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n{reference(DOCUMENTS)}\n\n{END}{rest.partition(END)[2]}"


@pytest.mark.parametrize("path", [TYPES, HTTP], ids=["types", "reference"])
def test_what_follows_from_the_classes_is_up_to_date(path: Path) -> None:
    text = expected(path)
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text)
    assert path.read_text() == text, "run UPDATE_GOLDEN=1 pytest tests/unit/tools/test_documents.py"
