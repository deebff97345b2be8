"""Packages that only some forms of tables need, imported when they are used."""

from __future__ import annotations

import importlib
from typing import Any

from tpu_profile_plugin.errors import NotAvailable


def module(name: str) -> Any:
    """The module of a package of the extra `sql`; raises NotAvailable without it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        install = 'pip install "tpu-profile-plugin[sql]"'
        raise NotAvailable(f"This needs {package}, which is not installed: {install}", package=package) from None
