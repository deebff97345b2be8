"""Kinds of work, from the opcodes, categories and names of ops."""

from __future__ import annotations

import re

from tpu_profile_plugin.analysis.common.op_names import UNKNOWN_KIND, computes_only, kernel_collective
from tpu_profile_plugin.analysis.devices.model import Work
from tpu_profile_plugin.analysis.ops.op_tables import WITH_INNER_OPS

COLLECTIVES = (
    *("reduce-scatter", "all-reduce", "all-gather", "ragged-all-to-all", "all-to-all", "collective-permute"),
    *("collective-broadcast", "send", "recv"),
)
"""Opcodes of communication; of those that contain each other the longer one comes first."""
_NAMED_IN_FUSIONS = COLLECTIVES[:-2]
_ASYNC_OPCODES = frozenset(("async-start", "async-update", "async-done"))
_COPIES = frozenset(("copy-start", "copy-done"))
_NAMED_COPIES = ("copy", "slice", "host", "transfer", "dynamic-update")
_ROLE = re.compile(r"-(start|update|done)\Z")
_NUMBER = re.compile(r"(?:\.\d{1,20}|\.remat\d{0,20}|\.clone){1,16}\Z")
_OPCODE = re.compile(r"[ )]([a-z][a-z0-9-]*)\(")
_ASYNC_NAME = re.compile(r"(?P<base>.+)-(?P<role>start|done)(?P<number>\.\d+)?\Z")
_SEND_RECV = re.compile(r"(?P<base>send|recv)(?P<number>\.\d+)?\Z")

_GPU_COPY = re.compile(
    r"mem(?:cpy|set)(?:\W|\Z|[adhp](?:to|2)?[adhp])|.*rocclr_(?:copy|fill)Buffer"
    r"|copy(?:host|device|peer)to(?:host|device|peer)",
    re.IGNORECASE,
)
_GPU_FILL = re.compile(r"memset|.*rocclr_fillBuffer", re.IGNORECASE)
_DIRECTION = re.compile(
    r"(?:memcpy|copy)\W*(?P<source>host|device|peer|[adhp])(?:to|2)?(?P<target>host|device|peer|[adhp])", re.IGNORECASE
)
_SPARSE_CORE = "sparsecore"
"""Begin of the categories of ops that hand work to a SparseCore, or wait for it; the host has nothing to do with it."""
_HOST_MEMORY = "S(5)"
"""The host's memory in HLO layouts."""


def opcode_in(text: str) -> str:
    """The opcode in HLO text such as `%copy.1 = f32[8] copy(...)`, "" without one."""
    match = _OPCODE.search(text, max(text.find(" = "), 0))
    return match[1] if match else ""


def stem(name: str) -> str:
    """An instruction's name without the numbers that make it unique: `all-reduce.3` -> `all-reduce`."""
    return _NUMBER.sub("", name)


def collective_of(opcode: str) -> str:
    """The collective that an opcode belongs to, its start and done included; "" for others."""
    base = _ROLE.sub("", opcode)
    return base if base in COLLECTIVES else ""


def hlo_work(opcode: str, category: str, name: str, text: str = "") -> tuple[Work, str]:
    """Work of an HLO op and its collective.

    Args:
      opcode: "" if unknown; then the stem of the name stands for it.
      category: the category that the profile records, "" if none.
      name: the instruction's name.
      text: its HLO text, which names the memories of a copy; "" if unknown.
    """
    opcode = opcode or stem(name)
    if category.startswith(_SPARSE_CORE):
        return Work.COMPUTE, ""
    if "infeed" in category or opcode == "infeed":
        return Work.INPUT, ""
    if "outfeed" in category or opcode == "outfeed":
        return Work.OUTPUT, ""
    if category.startswith(("host send", "host recv")):
        return Work.COPY, ""
    if collective := collective_of(opcode):
        return Work.COMMUNICATION, collective
    if category in WITH_INNER_OPS or opcode in WITH_INNER_OPS:
        return Work.CONTROL, ""
    if opcode == "copy":
        return Work.MOVE, ""
    if opcode in _COPIES:
        return _copy(text), ""
    if opcode in _ASYNC_OPCODES:
        return _asynchronous(name, text)
    if "fusion" in category and (collective := _first(category)):
        return Work.COMMUNICATION, collective
    return Work.COMPUTE, ""


def _first(text: str) -> str:
    return next((kind for kind in _NAMED_IN_FUSIONS if kind in text), "")


def _copy(text: str) -> Work:
    """An asynchronous copy: with the host's memory on one side, or where no layout tells, COPY."""
    return Work.MOVE_WAIT if "{" in text and _HOST_MEMORY not in text else Work.COPY


def _asynchronous(name: str, text: str) -> tuple[Work, str]:
    """A wrapped computation names what it runs: `all-to-all-start.1`, `slice-done`, `fusion.7.call-start`."""
    if collective := _first(name):
        return Work.COMMUNICATION, collective
    if "collective" in name:
        return Work.COMMUNICATION, "collective"
    return (_copy(text) if any(part in name for part in _NAMED_COPIES) else Work.COMPUTE), ""


def gpu_work(kernel: str, hlo_op: str, launched_by: str = "") -> tuple[Work, str]:
    """Work of an event on a GPU stream: by the HLO op, the kernel's name, or as a copy.

    `launched_by` is the kind of the collective whose op or range launched it, "" for other ops.
    """
    opcode = stem(hlo_op.rpartition("::")[2])
    op = collective_of(opcode)
    # XLA names the kernels of a fusion after the fusion, which it names after what it fuses.
    named = "" if opcode.endswith("fusion") and kernel.startswith(opcode) else kernel_collective(kernel)
    if named:
        return Work.COMMUNICATION, op or (launched_by if named == UNKNOWN_KIND else "") or named
    if _GPU_COPY.match(kernel):
        return _gpu_copy(kernel, bool(hlo_op)), ""
    if opcode == "copy":
        return Work.MOVE, ""
    if op or (launched_by and not computes_only(kernel)):
        return Work.COMMUNICATION, op or launched_by
    return Work.COMPUTE, ""


def _gpu_copy(kernel: str, in_program: bool) -> Work:
    """Kind of a copy; those that the host launches carry batches and results, those of a program offload values."""
    if _GPU_FILL.match(kernel):
        return Work.MOVE
    direction = _DIRECTION.match(kernel)
    if direction is None:
        return Work.MOVE if in_program else Work.COPY
    source, target = direction["source"][0].lower(), direction["target"][0].lower()
    if "h" in (source, target):
        return Work.COPY if in_program or source == target else Work.UPLOAD if source == "h" else Work.DOWNLOAD
    return Work.PEER_COPY if "p" in (source, target) else Work.MOVE


def async_role(name: str) -> tuple[str, bool] | None:
    """(what start and done have in common, whether this is the start) of an asynchronous op; None for others."""
    if match := _ASYNC_NAME.match(name):
        return match["base"] + (match["number"] or ""), match["role"] == "start"
    if match := _SEND_RECV.match(name):
        return match["base"] + (match["number"] or ""), True
    return None
