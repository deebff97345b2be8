"""Tables that these tests make go into a directory of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tpu_profile_plugin.sql import running


@pytest.fixture(autouse=True)
def tables(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("cache")
    monkeypatch.setattr(running, "user_directory", home.joinpath)
    running.table_files.cache_clear()
    yield home / "tables"
    running.table_files.cache_clear()
