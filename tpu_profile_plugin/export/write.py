"""Forms of export, tables among them: nothing half-written is ever in its place, nothing of the user is lost."""

from __future__ import annotations

import contextlib
import difflib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.relations import RELATIONS
from tpu_profile_plugin.run.relations.relation import Relation
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.files import write_arrow, write_parquet
from tpu_profile_plugin.tables.stream import TableStream

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


_TEMPORARY = ".export-"


def export(
    run: Run, form: Form, output: Path, options: Options, report: Report, *, logdir: str = "", force: bool = False
) -> list[Path]:
    """Writes a run; returns the files, which appear under their names when all of them are complete.

    Args:
      run: the run.
      form: what to write.
      output: the directory or file, by `form.directory`.
      options: for the form.
      report: called with progress.
      logdir: the logdir of the run, into which nothing is written.
      force: replaces files that exist.

    Raises:
      BadRequest: a file exists, the place is in the logdir or cannot be written, or an option has no meaning.
    """
    _check_options(form, options)
    if not form.directory:
        write_file(output, lambda path: form.write(run, path, options, report), logdir=logdir, force=force)
        return [output]
    refuse_logdir(output, logdir)
    if output.exists() and not output.is_dir():
        raise BadRequest(f"{output} is a file: {form.name} needs a directory.")
    with _written(output), _beside(output, inside=True) as temporary:
        form.write(run, temporary, options, report)
        files = {output / made.name: made for made in sorted(temporary.iterdir())}
        if not force:
            _refuse_existing(files)
        for path, made in files.items():
            made.replace(path)
    return list(files)


def write_file(output: Path, write: Callable[[Path], object], *, logdir: str = "", force: bool = False) -> None:
    """Writes one file, which appears under its name when it is complete: `write` gets a temporary path beside it.

    Raises BadRequest: the file exists and `force` is false, or the place is in the logdir or cannot be written.
    """
    refuse_logdir(output, logdir)
    if output.is_dir():
        raise BadRequest(f"{output} is a directory: a file is written.")
    if not force:
        _refuse_existing((output,))
    with _written(output), _beside(output, inside=False) as temporary:
        write(temporary / output.name)
        (temporary / output.name).replace(output)


def refuse_logdir(output: Path, logdir: str) -> None:
    """Raises BadRequest for a place among profiles: in the logdir, or in any directory `plugins/profile`."""
    place = output.absolute().resolve()
    inside = [place, *place.parents]
    root = Path(logdir).resolve() if logdir and "://" not in logdir else None
    profiles = any(one.name == "profile" and one.parent.name == "plugins" for one in inside)
    if profiles or (root is not None and root.is_dir() and root in inside):
        raise BadRequest(f"{output} is in the logdir, which belongs to the profiler: choose a directory outside of it.")


def _check_options(form: Form, options: Options) -> None:
    for name in Options.__slots__:
        if getattr(options, name) and name not in form.takes:
            raise BadRequest(f"--{name} has no effect on --format {form.name}.", parameter=name)


def _refuse_existing(paths: Iterable[Path]) -> None:
    there = [path for path in paths if path.exists()]
    if there:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise BadRequest(f"{there[0]}{more} already exists: --force replaces it.")


@contextlib.contextmanager
def _written(output: Path) -> Iterator[None]:
    """Errors of the file system as errors of ours."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise BadRequest(f"{output} cannot be written: {reason}.") from error


@contextlib.contextmanager
def _beside(output: Path, *, inside: bool) -> Iterator[Path]:
    """A temporary directory on the file system of the output, deleted at the end; creates the output's directory."""
    parent = output if inside else output.parent
    made = not parent.exists()
    parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=parent, prefix=_TEMPORARY))
    try:
        yield temporary
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        if made:
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise
    shutil.rmtree(temporary, ignore_errors=True)


# The tables of a run, one file per table.

Writer = Callable[[TableStream, Path, Callable[[int], None]], int]


def _chosen(names: tuple[str, ...]) -> tuple[Relation, ...]:
    """The tables with these names, each once, in the order of the documentation; without names all of them.

    Raises BadRequest for other names.
    """
    known = [relation.name for relation in RELATIONS]
    for name in names:
        if name not in known:
            like = difflib.get_close_matches(name, known, 1)
            hint = f" (did you mean {like[0]}?)" if like else ""
            message = f"There is no table {name[:80]!r}{hint}; there are {', '.join(known)}."
            raise BadRequest(message, parameter="tables")
    return tuple(relation for relation in RELATIONS if not names or relation.name in names)


def _write_tables(suffix: str, write: Writer, run: Run, directory: Path, options: Options, report: Report) -> None:
    for relation in _chosen(options.tables):
        report(relation.name)
        write(relation.of(run), directory / f"{relation.name}{suffix}", partial(_count, report, relation.name))


def _count(report: Report, name: str, rows: int) -> None:
    report(f"{name}, {rows:,} rows")


def _form(name: str, summary: str, write: Writer) -> Form:
    return Form(name, summary, directory=True, takes=("tables",), write=partial(_write_tables, f".{name}", write))


PARQUET = _form("parquet", "a compressed file per table", write_parquet)
ARROW = _form("arrow", "an Arrow file (Feather) per table, to be mapped into memory", write_arrow)
