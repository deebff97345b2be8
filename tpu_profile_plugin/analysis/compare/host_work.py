"""The work of one host by op, and what its ops are: fingerprints stay the same when a program is compiled again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.attribution import EventOp, OpKey, hlo_name, named_ops, row_ops
from tpu_profile_plugin.analysis.common.planes import device_planes
from tpu_profile_plugin.analysis.common.spans import Times, contains, cut, no_time, subtract, times_of, times_of_all
from tpu_profile_plugin.analysis.devices.model import ASYNCHRONOUS, Device, OpSpans, Work, ordered
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.hlo.instructions import category, provenance
from tpu_profile_plugin.analysis.hlo.ops import Fused, HloOps
from tpu_profile_plugin.analysis.ops.tpu_ops import op_metadata
from tpu_profile_plugin.columns import Plane, XSpace, hlo_modules
from tpu_profile_plugin.columns.arrays import F64, I32, I64


@dataclass(frozen=True, slots=True)
class HostOps:
    """The ops of one host.

    Attributes:
      facts: of those that op tools know.
      modules: program id -> name with its id.
      provenances: of all ops, those that are no HLO instruction included.
    """

    facts: dict[OpKey, EventOp]
    modules: dict[int, str]
    provenances: frozenset[str]


def host_ops(space: XSpace, devices: Sequence[Device], hlo: HloOps) -> HostOps:
    """The ops that the devices ran.

    Args:
      space: the profile.
      devices: its devices.
      hlo: its HLO programs.
    """
    if devices and devices[0].kind == "tpu":
        facts = _of_tpus(space, devices)
        modules = {module.program_id: module.name for module in hlo_modules(space)}
        return HostOps(facts, modules, frozenset(op.framework_op for op in facts.values()))
    keys = dict.fromkeys((op.program, op.name) for device in devices for op in device.ops)
    facts = {key: op for key in keys if (op := _of_instruction(hlo, *key)) is not None}
    named = (op for plane in device_planes(space) for op in named_ops(space, plane).ops)
    others = (op.framework_op for op in named if op.framework_op and not op.path)  # of no HLO instruction
    return HostOps(facts, dict(hlo.programs.names), frozenset([*(op.framework_op for op in facts.values()), *others]))


def _of_tpus(space: XSpace, devices: Sequence[Device]) -> dict[OpKey, EventOp]:
    """From the event metadata; the first core that knows something of an op counts."""
    tables: dict[OpKey, EventOp] = {}
    planes = {plane.index: plane for plane in space.planes}
    for device in devices:
        for key, op in _of_core(space, planes[device.plane], device):
            tables[key] = tables[key].filled_from(op) if key in tables else op
    return {(program, hlo_name(name)): op for (program, name), op in tables.items()}


def _of_core(space: XSpace, plane: Plane, device: Device) -> Iterator[tuple[OpKey, EventOp]]:
    """The ops that a core ran; rows of one program and symbol are one op, named by the row that describes them."""
    known, meta, ops = op_metadata(space, plane), plane.event_metadata, row_ops(space, plane)
    ran = np.zeros(len(known.counted), np.bool_)
    for spans in (device.runs, device.control):
        ran[spans.op] = True
    for row in np.flatnonzero(ran & known.counted).tolist():
        describing, own = int(known.row[row]), ops[row]
        yield (
            (int(known.program[describing]), known.name[describing]),
            EventOp(
                framework_op=ops[describing].framework_op,
                expression=meta.names[row] if meta.display_names[row] else known.name[describing],
                source_file=own.source_file,
                source_line=own.source_line,
                category=ops[describing].category,
            ),
        )


def _of_instruction(hlo: HloOps, program: int, name: str) -> EventOp | None:
    """From the HLO program; None if the instruction is in none."""
    instruction = hlo.find(program, name) if program else None
    if instruction is None:
        return None
    file, line, _ = hlo.source(program, name)
    return EventOp(
        framework_op=provenance(instruction),
        expression=hlo.text(program, instruction),
        source_file=file,
        source_line=line if file else None,
        category=category(instruction),
    )


_LAYOUT = re.compile(r"(?<=\])\{[^}]*\}")
_SHAPE = re.compile(r"\b(pred|[a-z]+\d[a-z0-9]*|token)\[([\d,<=]*)\]")
_NUMBER = re.compile(r"(?:\.(?:\d{1,20}|clone|remat\d{0,20})){1,16}$")
_SCOPE = re.compile(r"^(?:(?:jit|pjit|pmap|xmap)\([^()]*\)/)+")
_PROGRAM = re.compile(r"\(\d+\)$")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What an op is.

    Attributes:
      category: HLO category.
      shapes: element types and dimensions of the result and the operands, in order, without layouts.
      framework: the framework op, without scopes of compiled functions around it, and its type.
      source: `file:line`, "" if unknown.
      kind: name of the instruction without its number, for ops of which nothing else is known.
    """

    category: str
    shapes: tuple[str, ...]
    framework: str
    source: str
    kind: str

    @property
    def place(self) -> tuple[str, str, str]:
        """Identity of the op without its shapes."""
        return self.category, self.framework or self.kind, self.source

    @property
    def anywhere(self) -> tuple[str, tuple[str, ...], str]:
        """Identity of the op without its element types, the numbers of its scopes and the line that it comes from."""
        return self.category, self.sizes, self.unnumbered

    @property
    def unnumbered(self) -> str:
        """The framework op, else the instruction, without the numbers of scopes: "dense/dot" of "dense_1_2/dot"."""
        return without_numbers(self.framework) or self.kind

    @property
    def sizes(self) -> tuple[str, ...]:
        """The dimensions of the shapes."""
        return tuple(shape.partition("[")[2] for shape in self.shapes)

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(shape.partition("[")[0] for shape in self.shapes)


def fingerprint(name: str, category: str, provenance: str, expression: str, source: str) -> Fingerprint:
    """The fingerprint of an op.

    Args:
      name, category, provenance: of its row in an op table.
      expression: its HLO text, "" if unknown.
      source: `file:line`, "" if unknown.
    """
    shapes = _SHAPE.finditer(_LAYOUT.sub("", expression.partition(" = ")[2]))
    return Fingerprint(
        category,
        tuple(f"{shape[1]}[{shape[2]}]" for shape in shapes),
        framework_op(provenance),
        source,
        _NUMBER.sub("", name.lstrip("%")),
    )


_NUMBERED = re.compile(r"(?<=[^/_\d])(?:_\d+)+(?=/|$)")


def without_numbers(framework: str) -> str:
    """A framework op without the numbers at the end of its scopes, which depend on what the process made before."""
    scopes, found, name = framework.rpartition("/")
    return f"{_NUMBERED.sub('', scopes)}{found}{name}"


def framework_op(provenance: str) -> str:
    """`name:type` without the compiled functions that it lies in; what recompiling under another name leaves alone."""
    return _SCOPE.sub("", provenance).rstrip(":")


def primitive(framework: str) -> str:
    """A framework op without its scopes and type: a loop, or no compiled function, leaves it alone."""
    return framework.rpartition("/")[2].partition(":")[0]


def program_name(name: str) -> str:
    return _PROGRAM.sub("", name)


MOST_STEPS = 500
"""How far times vary is known from as many steps; it takes memory for each."""


@dataclass(frozen=True, slots=True)
class HostWork:
    """The computation in the steps of one host's devices.

    Attributes:
      keys: the ops that computed in steps; with the instruction "" a program's loops, calls and conditionals.
      time_ps: int64[n], time in steps over all devices, disjoint between ops: its sum is the devices' computation
        with data movement.
      by_step: float64[n, s], that time in each of the first `MOST_STEPS` steps.
      runs: int64[n], runs that begin in steps.
      steps, devices: how many there are.
      executions: program id -> its executions that begin in steps, over all devices; of no GPU, which records kernels.
    """

    keys: tuple[OpKey, ...] = ()
    time_ps: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    by_step: F64 = field(default_factory=lambda: np.zeros((0, 0)))
    runs: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    steps: int = 0
    devices: int = 0
    executions: Mapping[int, int] = field(default_factory=dict)

    def within(self, rows: I64) -> tuple[F64, F64]:
        """Time and runs in some of the steps, which another host of the run has as well.

        If not in all, they are extrapolated: runs from all steps, times from those among the first `MOST_STEPS`.
        """
        if len(rows) == self.steps:
            return self.time_ps.astype(np.float64), self.runs.astype(np.float64)
        known = rows[rows < self.by_step.shape[1]]
        time: F64 = self.by_step[:, known].sum(axis=1) * (len(rows) / max(len(known), 1))
        return time, self.runs.astype(np.float64) * (len(rows) / max(self.steps, 1))


def host_work(devices: Sequence[Device], steps: StepWindows) -> HostWork:
    """The work of a host's devices; where ops overlap, the one that began first counts."""
    number: dict[OpKey, int] = {}
    executions: dict[int, int] = {}
    parts = []
    for i, device in enumerate(devices):
        window = np.ascontiguousarray(steps.begin_ps[:, i]), np.ascontiguousarray(steps.end_ps[:, i])
        # Numbers of the device's ops, then of its programs' containers.
        numbers = np.array([number.setdefault((op.program, op.name), len(number)) for op in device.ops], np.int64)
        runs, ((begin, end), op) = ordered(device.runs), _containers(device)
        rest = np.array([number.setdefault((op.program, ""), len(number)) for op in device.ops], np.int64)
        work = np.where(runs.work == Work.MOVE, np.uint8(Work.COMPUTE), runs.work)
        parts.append((runs.begin_ps, runs.end_ps, runs.op, work, numbers, window))
        parts.append((begin, end, op, np.zeros(len(begin), np.uint8), rest, window))
        for program, begun in _executions(device, runs, window).items():
            executions[program] = executions.get(program, 0) + begun
    few = min(len(steps), MOST_STEPS)
    total, by_step, count = _native.step_work(parts, Work.COMPUTE, len(number), few)
    keys = tuple(number)
    count[[i for i, (_, name) in enumerate(keys) if not name]] = 0  # containers are no runs
    kept = np.flatnonzero((total > 0) | (count > 0))
    return HostWork(
        tuple(keys[i] for i in kept.tolist()),
        *(total[kept], by_step.reshape(len(keys), few)[kept], count[kept], len(steps), len(devices)),
        executions,
    )


def _executions(device: Device, runs: OpSpans, window: Times) -> dict[int, int]:
    """Program id -> its executions that begin in the windows; the program is that of the first op from the begin on."""
    if device.kind == "gpu" or not len(runs):
        return {}
    begun = device.starts[contains(times_of(*window), device.starts)]
    first = np.searchsorted(runs.begin_ps, begun)
    programs = np.array([op.program for op in device.ops], np.uint64)
    program, count = np.unique(programs[runs.op[first[first < len(runs)]]], return_counts=True)
    return dict(zip(program.tolist(), count.tolist(), strict=True))


def _containers(device: Device) -> tuple[Times, I32]:
    """When only loops, calls and conditionals were under way, and the last of them to begin before: int32[n]."""
    control, runs, windows = ordered(device.control), device.runs, device.windows
    if not len(control):
        return no_time(), np.zeros(0, np.int32)
    waits = np.isin(windows.work, ASYNCHRONOUS)
    others = times_of_all((runs.begin_ps, runs.end_ps, None), (windows.begin_ps, windows.end_ps, waits))
    begin, end = subtract(times_of(control.begin_ps, control.end_ps), others)
    # Containers of two programs may touch: time is cut where one begins.
    begin, end = cut((begin, end), control.begin_ps)
    return (begin, end), control.op[np.searchsorted(control.begin_ps, begin, side="right") - 1]


CONTAINERS = "loops, calls and conditionals"
MOST_INSIDE = 500


@dataclass(frozen=True, slots=True, eq=False)
class DescribedWork:
    """The work of one host with what its ops are; picklable.

    Attributes:
      work: the times.
      module, print, inside: per key of `work`, see `WorkedOp`.
    """

    work: HostWork
    module: tuple[str, ...]
    print: tuple[Fingerprint, ...]
    inside: tuple[frozenset[str], ...]


def describe(work: HostWork, ops: HostOps, hlo: HloOps) -> DescribedWork:
    """Joins the times of ops with what op tools know of them."""
    modules: list[str] = []
    prints: list[Fingerprint] = []
    insides: list[frozenset[str]] = []
    for program, name in work.keys:
        facts = ops.facts.get((program, name))
        # Where no ops were recorded, a run of a program is one: it is that program, and matches runs of others.
        is_run = facts is None and not program and _PROGRAM.search(name) is not None
        modules.append(name if is_run else ops.modules.get(program) or (f"({program})" if program else ""))
        if facts is None:
            prints.append(fingerprint("run" if is_run else name or CONTAINERS, "", "", "", ""))
            insides.append(frozenset())
            continue
        op_print = fingerprint(name, facts.category, facts.framework_op, facts.expression, facts.source)
        prints.append(op_print)
        fused = hlo.fused(program, name) if "fusion" in op_print.category else ()
        insides.append(frozenset(_inside(fused, op_print, program, hlo)))
    return DescribedWork(work, tuple(modules), tuple(prints), tuple(insides))


def _inside(fused: Sequence[Fused], whole: Fingerprint, program: int, hlo: HloOps) -> Iterator[str]:
    """The framework ops that an op was made of."""
    if not fused and whole.framework:
        yield f"{whole.framework} {whole.source}"
    for op in fused[:MOST_INSIDE]:
        name = framework_op(op.provenance)
        if name:
            file, line, _ = hlo.source(program, op.name)
            yield f"{name} {file}:{line}" if file else f"{name} "
