"""What a form of export is: its name, what it writes, and the options that it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tpu_profile_plugin.run.run import Run

Report: TypeAlias = Callable[[str], None]
"""Called now and then with what is being written, e.g. "events, 1,200,000 rows"."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose.

    Attributes:
      tables: names of the tables to write; empty: all.
      align: move the clocks of the hosts to that of the first one.
    """

    tables: tuple[str, ...] = ()
    align: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """A form of export.

    Attributes:
      name: as on the command line.
      summary: what it is for, a few words.
      directory: writes several files into a directory, instead of one file.
      takes: the options that have a meaning for it, by the names in `Options`.
      write: writes a run, host after host, into an empty directory, or to a file that does not exist yet; the path is a
        temporary one. Raises what reading a host raises, and OSError.
    """

    name: str
    summary: str
    directory: bool
    takes: tuple[str, ...]
    write: Callable[[Run, Path, Options, Report], None]
