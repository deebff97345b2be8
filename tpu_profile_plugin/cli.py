"""The command `tpu-profile`: `serve` shows a logdir without the rest of TensorBoard, `version` says which this is."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tpu_profile_plugin import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a sub-command and gives its exit status."""
    parser = argparse.ArgumentParser(prog="tpu-profile", description="Browse XSpace profiles.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve a logdir, on this machine only")
    serve.add_argument("--logdir", required=True, help="directory or URL that holds plugins/profile/<session>")
    serve.add_argument("--port", type=int, default=6006, help="TCP port; 0 takes a free one (default: 6006)")
    commands.add_parser("version", help="print the version")
    options = parser.parse_args(argv)
    if options.command == "version":
        print(__version__)
        return 0
    return _serve(options.logdir, options.port)


def _serve(logdir: str, port: int) -> int:
    """TensorBoard with this plugin only, bound to 127.0.0.1."""
    from tensorboard import assets, program
    from tensorboard.plugins.core.core_plugin import CorePluginLoader

    from tpu_profile_plugin.plugin import ProfilePluginLoader

    board = program.TensorBoard([CorePluginLoader(), ProfilePluginLoader()], assets.get_default_assets_zip_provider())
    board.configure(
        argv=["tpu-profile", "--logdir", logdir, "--port", str(port), "--host", "127.0.0.1", "--load_fast", "false"]
    )
    return int(board.main() or 0)


if __name__ == "__main__":
    sys.exit(main())
