"""`tpu-profile mcp` answers agents over the Model Context Protocol; `tpu-profile agents` prints their guide."""

from __future__ import annotations

import argparse
import os
import sys

from tpu_profile_plugin.errors import MissingPackage

HELP = "answer agents about profiles, over the Model Context Protocol"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.epilog = "On stdin and stdout, unless --http is given. Nothing is changed, unless --allow-capture is given."
    parser.add_argument("logdirs", metavar="LOGDIR", nargs="+", help="a logdir or a .xplane.pb file")
    parser.add_argument(
        "--http", type=int, metavar="PORT", help="serve http://127.0.0.1:PORT/mcp instead; 0 selects a free port"
    )
    parser.add_argument(
        "--allow-capture",
        metavar="HOSTS",
        nargs="?",
        const="",
        help="offer the tool capture, which records programs on this machine (and on HOSTS, with commas) into LOGDIR",
    )
    parser.add_argument(
        "--address", metavar="URL", help="of the server that links open (default: http://localhost:6006)"
    )


def run(options: argparse.Namespace) -> int:
    """Serves until stdin ends or the process is stopped; returns the exit status."""
    try:
        import mcp  # noqa: F401
    except ImportError:
        message = "The package mcp is missing: pip install 'tpu-profile-plugin[agents]'."
        raise MissingPackage(message, package="mcp") from None
    import tpu_profile_plugin
    from tpu_profile_plugin.agents.calls import Calls, Capturing
    from tpu_profile_plugin.agents.server import make_server, serve_http, serve_stdio
    from tpu_profile_plugin.answers.envelope import ADDRESS

    logdirs = {path: tpu_profile_plugin.open(path) for path in options.logdirs}
    capturing = None if options.allow_capture is None else Capturing(options.allow_capture)
    calls = Calls(logdirs, options.address or ADDRESS, capturing)
    server = make_server(calls)
    try:
        if options.http is None:
            serve_stdio(server)
        else:
            serve_http(server, options.http)
    finally:
        calls.close()
    # Cancelled calls may still run, and Python would wait for their threads.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class GuideCommand:
    """`tpu-profile agents`."""

    HELP = "print the guide for agents that read profiles"

    def define(self, parser: argparse.ArgumentParser) -> None:
        """Has no arguments."""

    def run(self, options: argparse.Namespace) -> int:
        """Prints the guide; returns the exit status."""
        from tpu_profile_plugin.agents import GUIDE, text

        sys.stdout.write(text(GUIDE))
        return 0
