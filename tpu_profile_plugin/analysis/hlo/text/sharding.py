"""Shardings and groups of devices as HLO text spells them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tpu_profile_plugin.analysis.hlo.instructions import Instruction
from tpu_profile_plugin.protos import enum_values

_DEEPEST = 8


def _kind(number: int) -> str:
    return enum_values("xla.OpSharding.Type").get(number, f"type{number}").lower()


def _commas(values: Sequence[object]) -> str:
    return ",".join(map(str, values))


def _iota(reshape: Sequence[int], order: Sequence[int]) -> str:
    """Device numbers in order, folded and turned."""
    turned = f"T({_commas(order)})" if list(order) != sorted(order) else ""
    return f"<=[{_commas(reshape)}]{turned}"


def sharding(proto: Any, depth: int = 0) -> str:
    """An OpSharding."""
    kind = _kind(proto.type)
    if kind == "tuple" and depth < _DEEPEST:
        return "{" + ", ".join(sharding(part, depth + 1) for part in proto.tuple_shardings) + "}"
    if kind == "maximal":
        return f"{{maximal device={_commas(proto.tile_assignment_devices)}}}"
    if kind != "other":
        return f"{{{kind}}}"
    reshape = proto.iota_reshape_dims
    listed = _iota(reshape, proto.iota_transpose_perm) if reshape else _commas(proto.tile_assignment_devices)
    tail = " last_tile_dim_replicate" if proto.replicate_on_last_tile_dim else ""
    if proto.last_tile_dims:
        tail = f" last_tile_dims={{{', '.join(map(_kind, proto.last_tile_dims))}}}"
    return f"{{devices=[{_commas(proto.tile_assignment_dimensions)}]{listed}{tail}}}"


def device_groups(instruction: Instruction) -> str:
    """Groups of devices that work together in a collective instruction; "" for other instructions."""
    devices = instruction.collective_device_list
    for holder, field in ((devices, "iota_replica_group_list"), (instruction, "iota_collective_device_list")):
        if holder.HasField(field):
            iota = getattr(holder, field)
            shape = _commas((iota.num_replica_groups, iota.num_devices_per_group))
            return f"replica_groups=[{shape}]{_iota(iota.iota_reshape_dims, iota.iota_transpose_perm)}"
    groups = instruction.replica_groups or devices.replica_groups
    listed = _commas([f"{{{_commas(group.replica_ids)}}}" for group in groups])
    return f"replica_groups={{{listed}}}" if groups else ""
