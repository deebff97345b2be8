"""The TensorBoard plugin: the loader with our flags, and the plugin with the server's routes."""

from __future__ import annotations

import argparse
import dataclasses
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tensorboard.plugins import base_plugin

from tpu_profile_plugin.other_plugins import BESIDE_NAME, BESIDE_TAB, conflict_message, conflicting_plugins
from tpu_profile_plugin.system.terminal import LOG

if TYPE_CHECKING:
    from tpu_profile_plugin.logdir.single import SingleRun
    from tpu_profile_plugin.report.redact import Redactor
    from tpu_profile_plugin.server.app import Server, WsgiApp


class ProfilePlugin(base_plugin.TBPlugin):  # type: ignore[misc]
    """The plugin named `profile`; the constructor only stores the context."""

    plugin_name = "profile"

    def __init__(self, context: Any, note: str = "", file: str = "") -> None:
        """`note`: a sentence above the pages; `file`: the one profile that is shown, in place of a logdir."""
        self._context = context
        self._note = note
        self._file = file

    @functools.cached_property
    def server(self) -> Server:
        """The HTTP server, created on first use."""
        from tpu_profile_plugin.logdir.single import SingleFile
        from tpu_profile_plugin.server.app import Server
        from tpu_profile_plugin.server.options import from_context
        from tpu_profile_plugin.system.process import few_areas

        few_areas()
        options = dataclasses.replace(from_context(self._context), note=self._note)
        if not self._file:
            return Server(options)
        options = dataclasses.replace(options, logdir=self._file, capture_hosts="off")  # nothing is stored beside it
        return Server(options, logdir=SingleFile(self._file))

    def get_plugin_apps(self) -> Mapping[str, WsgiApp]:
        """The routes below `/data/plugin/` and the plugin's name."""
        return self.server.apps()

    def is_active(self) -> bool:
        """Whether any run was ever found; waits at most a second for a scan."""
        return self.server.logdir.has_runs()

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """The frontend: TensorBoard loads our module into a frame and calls its render()."""
        return base_plugin.FrontendMetadata(es_module_path="/index.js")


class BesidePlugin(ProfilePlugin):
    """The plugin in a tab of its own, where another package brings the plugin `profile`."""

    plugin_name = BESIDE_NAME

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """The frontend, in a tab of another title."""
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name=BESIDE_TAB)


def report_of(
    logdir: str | SingleRun,
    run: str,
    base: str | None = None,
    window: tuple[float, float] | None = None,
    redactor: Redactor | None = None,
    trend: Mapping[str, Any] | None = None,
) -> bytes:
    """A run of a logdir in one HTML file, made of the answers that a server of this logdir gives.

    Args:
      run, base: names of runs.
      window: what the timeline shows, in ms; None: the slowest step and its neighbours.
      redactor: replaces names.
      trend: the runs over time as the server's route tells them, for a page of the report; None: without it.

    Raises NotFound, and NotAvailable if the frontend is not built.
    """
    from tpu_profile_plugin.server.app import Server
    from tpu_profile_plugin.server.options import Options

    if isinstance(logdir, str):
        server = Server(Options(logdir=logdir))
    else:
        server = Server(Options(logdir=logdir.path), logdir=logdir)
    try:
        return server.reports.make(run, base, window, redactor, trend)
    finally:
        server.close()


class ProfilePluginLoader(base_plugin.TBLoader):  # type: ignore[misc]
    """The loader of the entry point; `alone` ignores conflicts: TensorBoard then loads no other dynamic plugins."""

    def __init__(self, *, alone: bool = False, file: str = "") -> None:
        """`file`: the one profile that is shown, in place of a logdir."""
        self.alone = alone
        self.file = file

    def define_flags(self, parser: argparse.ArgumentParser) -> None:
        """Adds our flags to TensorBoard's command line."""
        from tpu_profile_plugin.server.options import define_flags

        define_flags(parser)

    def load(self, context: Any) -> ProfilePlugin:
        """The plugin; beside another package's plugin of our name in a tab of its own, which says so."""
        conflicts = () if self.alone else conflicting_plugins()
        if conflicts:
            message = conflict_message(conflicts)
            LOG.warning("%s", message)
            return BesidePlugin(context, message)
        return ProfilePlugin(context, file=self.file)
