"""A TensorBoard in this process: our plugin in TensorBoard's own WSGI application, with werkzeug's test client."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tensorboard.backend import application
from tensorboard.plugins.core.core_plugin import CorePluginLoader
from werkzeug.test import Client, TestResponse

from tpu_profile_plugin.plugin import ProfilePlugin, ProfilePluginLoader

PREFIX = "/data/plugin/profile"


class Board:
    """Serves one logdir; its cache is in `home`, never in the user's cache directory."""

    def __init__(self, logdir: Path | str, home: Path, *flags: str, prefix: str = "") -> None:
        loaders = [CorePluginLoader(), ProfilePluginLoader()]
        parser = argparse.ArgumentParser()
        for loader in loaders:
            loader.define_flags(parser)
        line = ["--logdir", str(logdir), "--path_prefix", prefix, "--profile_cache_dir", str(home), *flags]
        parsed = parser.parse_args(line)
        parsed.samples_per_plugin = {}
        loaded: list[ProfilePlugin] = []

        class RecordingLoader(ProfilePluginLoader):
            def load(self, context: Any) -> ProfilePlugin:
                plugin = super().load(context)
                assert plugin is not None
                loaded.append(plugin)
                return plugin

        app = application.TensorBoardWSGIApp(parsed, [RecordingLoader(alone=True)])
        self.plugin = loaded[0]
        self.client = Client(app)
        self.prefix = prefix + PREFIX

    def get(self, route: str, headers: dict[str, str] | None = None, method: str = "GET", **query: str) -> TestResponse:
        """One request; keyword arguments are the query string."""
        return self.client.open(f"{self.prefix}/{route}", method=method, query_string=query, headers=headers)

    def json(self, route: str, **query: str) -> Any:
        """The JSON of a request that must succeed."""
        answer = self.get(route, **query)
        assert answer.status_code == 200, answer.text
        return answer.json

    def refused(self, route: str, **query: str) -> tuple[int, str, str, dict[str, Any]]:
        """Status, code, message and details of a request that must fail."""
        answer = self.get(route, **query)
        assert answer.json is not None, answer.text
        error = answer.json["error"]
        return answer.status_code, error["code"], error["message"], error["details"]
