"""The verbs as tools of agents over MCP, and the texts that agents read first, from the package or from a checkout."""

from __future__ import annotations

from pathlib import Path

from tpu_profile_plugin.errors import NotAvailable

GUIDE, GLOSSARY = "agents.md", "glossary.md"
_PACKAGED = Path(__file__).parent / "docs"
"""Where the build of a wheel copies them to."""
_CHECKOUT = Path(__file__).resolve().parents[2] / "docs" / "user"


def text(name: str) -> str:
    """The Markdown of a text. Raises NotAvailable if the installation lacks it."""
    for directory in (_PACKAGED, _CHECKOUT):
        if (directory / name).is_file():
            return (directory / name).read_text(encoding="utf-8")
    raise NotAvailable(f"This installation lacks the text {name}: install the package anew.")
