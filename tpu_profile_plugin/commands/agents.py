"""`tpu-profile agents`: prints the guide for agents."""

from __future__ import annotations

import argparse
import sys

HELP = "print the guide for agents that read profiles"


def define(parser: argparse.ArgumentParser) -> None:
    """Has no arguments."""


def run(options: argparse.Namespace) -> int:
    """Prints the guide; returns the exit status."""
    from tpu_profile_plugin.agents.texts import GUIDE, text

    sys.stdout.write(text(GUIDE))
    return 0
