"""`tpu-profile annotate`: time, memory and findings of each source line, beside the code."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path

from tpu_profile_plugin.commands.losses import tell
from tpu_profile_plugin.commands.parser import define_run
from tpu_profile_plugin.errors import BadRequest

HELP = "show time, memory and findings of each source line, beside the code"
_FORMS = ("text", "json", "sarif", "html")


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.epilog = "sarif: for editors and code hosts; html: a heat view of the files, without scripts"
    define_run(parser)
    parser.add_argument("--source", metavar="DIR", default="", help="directory with the program's source files")
    parser.add_argument("--format", choices=_FORMS, default="text", help="form of the annotations (default: text)")
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (default: standard output)")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def run(options: argparse.Namespace) -> int:
    """Writes the annotations; returns the exit status."""
    import tpu_profile_plugin
    from tpu_profile_plugin.export.write import write_file

    if options.source and not Path(options.source).is_dir():
        raise BadRequest(f"There is no directory {options.source[:200]!r}.", parameter="source")
    with closing(tpu_profile_plugin.open(options.logdir)) as logdir:
        chosen = logdir.run(options.run).on(options.host)
        text = chosen.annotated(options.format, options.source)
        tell(chosen)
        if options.output is None:
            sys.stdout.write(text)
            return 0
        data = text.encode()
        write_file(Path(options.output), lambda path: path.write_bytes(data), logdir=logdir.path, force=options.force)
    print(f"{options.output}  {len(data):,} bytes")
    return 0
