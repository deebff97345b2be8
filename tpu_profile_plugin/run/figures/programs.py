"""The HLO programs of a run: lookup by module name or program id, and by the name of a node."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from tpu_profile_plugin import errors
from tpu_profile_plugin.analysis.common.reasons import NO_PROGRAMS
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms, Program, hlo_programs
from tpu_profile_plugin.run.catalogue.ops import PROGRAMS
from tpu_profile_plugin.run.host import HostProfile, derived
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.tables.table import Table

_LISTED = 200
_DIGITS = 20


@derived()
def hlo_ops(host: HostProfile) -> HloOps:
    """The HLO programs of one host, decoded on demand."""
    return HloOps(host.lazy)


@derived(metadata=True)
def hlo_ops_without_events(host: HostProfile) -> HloOps:
    """The HLO programs of one host, for lookups of details that need no events."""
    return HloOps(host.metadata)


@derived(metadata=True)
def programs_of(host: HostProfile) -> HloPrograms:
    """The HLO modules of one host, decoded on demand, without loading events."""
    return hlo_programs(host.metadata)


def chosen_program(run: RunHosts, name: str = "", program_id: str = "") -> tuple[HostProfile, Program]:
    """The program with exactly this module name or id, and its host; the largest program if neither is given.

    Raises:
      BadRequest: the program id is not a number.
      NotFound: no chosen host has that module (code module_not_found).
      NoData: no chosen host has any module.
      CorruptProfile: the module does not decode.
    """
    host, chosen = _find(run, name, program_id)
    return host, _decoded(host, chosen)


def program_with(run: RunHosts, node: str, called: str = "") -> Program:
    """The first program of the chosen hosts with an instruction or computation `node`; exact case is preferred.

    Programs whose module name without the id is `called` come first.

    Raises:
      NotFound: no program has the node (code node_not_found).
    """
    wanted = node.encode("utf-8", "replace")
    for folded, named in itertools.product((False, True), (True, False) if called else (False,)):
        for _, programs in run.iterate_hosts(programs_of):
            for program_id in programs.modules:
                if named and programs.names[program_id].rpartition("(")[0] != called:
                    continue
                # Searching the encoded bytes first avoids decoding most programs.
                data = programs.blob(program_id)
                if not (wanted.lower() in data.lower() if folded else wanted in data):
                    continue
                program = programs.program(program_id)
                if program is not None and _has(program, node, folded):
                    return program
    raise errors.NotFound(f"Couldn't find HloInstruction or HloComputation named {node[:200]}.", code="node_not_found")


def _has(program: Program, node: str, folded: bool) -> bool:
    names = program.row_of.keys() | set(program.computation_names)
    return node in names or (folded and node.casefold() in {name.casefold() for name in names})


def _decoded(host: HostProfile, program_id: int) -> Program:
    program = programs_of(host).program(program_id)
    assert program is not None
    if program.problem is not None:
        message, offset = program.problem
        raise errors.CorruptProfile(
            f"The HLO module {program.module.name} does not decode: {message}", file=host.file, offset=offset
        )
    return program


def _find(run: RunHosts, name: str, number: str) -> tuple[HostProfile, int]:
    if number and not name:
        program_number = _program_id(number)
        return _first(run, lambda programs: program_number if program_number in programs.modules else None, number)
    if name:
        return _first(run, lambda programs: programs.id_of(name), name)
    sizes = [
        (programs.size(program_id), -at, -position, host, program_id)
        for at, (host, programs) in enumerate(run.iterate_hosts(programs_of))
        for position, program_id in enumerate(programs.modules)
    ]
    if not sizes:
        raise NO_PROGRAMS.error()
    return max(sizes, key=lambda entry: entry[:3])[3:]


def is_program_id(text: str) -> bool:
    """Whether a text is the number of a program, up to 64 bits, rather than a name."""
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS


def _program_id(text: str) -> int:
    try:
        return int(text) % (1 << 64)
    except ValueError:
        raise errors.BadRequest(
            f"Parameter 'program_id' must be a whole number, not {text[:80]!r}.", parameter="program_id"
        ) from None


def _first(run: RunHosts, find: Callable[[HloPrograms], int | None], requested: str) -> tuple[HostProfile, int]:
    for host, programs in run.iterate_hosts(programs_of):
        program_id = find(programs)
        if program_id is not None:
            return host, program_id
    modules = sorted({name for _, programs in run.iterate_hosts(programs_of) for name in programs.names.values()})
    raise errors.NotFound(
        f"There is no HLO module {requested[:200]!r} in this profile.",
        code="module_not_found",
        modules=modules[:_LISTED],
    )


@dataclass(frozen=True, slots=True, eq=False)
class Programs:
    """The HLO programs of a run.

    Attributes:
      name: `module(program id)`, sorted.
      program_id: the ids.
      host: the first host that has the program.
    """

    name: tuple[str, ...]
    program_id: tuple[int, ...]
    host: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.name)

    @property
    def table(self) -> Table:
        """One row per program."""
        return Table.of(PROGRAMS, self, name="programs")


def run_programs(run: RunHosts) -> Programs:
    """The programs of the chosen hosts. Raises NoData without any."""
    places: dict[str, tuple[int, str]] = {}
    for host, programs in run.iterate_hosts(programs_of):
        for number, name in programs.names.items():
            places.setdefault(name, (number, host.name))
    if not places:
        raise NO_PROGRAMS.error()
    names = sorted(places)
    return Programs(tuple(names), tuple(places[n][0] for n in names), tuple(places[n][1] for n in names))
