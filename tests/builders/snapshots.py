"""Memory snapshots of PyTorch, as `torch.cuda.memory._dump_snapshot` pickles them."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

MIB = 1 << 20
BASE = 0x7F0000000000
US = 1_700_000_000_000_000
"""Time of the first entry, in µs since 1970."""


def frame(filename: str, line: int, name: str) -> dict[str, Any]:
    return {"filename": filename, "line": line, "name": name}


def entry(
    action: str, at_us: int | None, addr: int, size: int, frames: Sequence[Any] = (), **more: Any
) -> dict[str, Any]:
    """An entry of the history; `addr` counts from BASE, `at_us` from US."""
    time = {} if at_us is None else {"time_us": US + at_us}
    return {"action": action, "addr": BASE + addr, "size": size, "stream": 0, **time, "frames": list(frames), **more}


def block(
    addr: int, size: int, state: str = "active_allocated", frames: Sequence[Any] = (), **more: Any
) -> dict[str, Any]:
    return {
        **{"address": BASE + addr, "size": size, "requested_size": size, "state": state, "frames": list(frames)},
        **more,
    }


def segment(addr: int, size: int, blocks: Sequence[Any], **more: Any) -> dict[str, Any]:
    active = sum(one["size"] for one in blocks if one["state"].startswith("active"))
    return {
        **{"device": 0, "address": BASE + addr, "total_size": size, "stream": 0, "segment_type": "large"},
        **{"allocated_size": active, "active_size": active, "requested_size": active, "blocks": list(blocks), **more},
    }


def snapshot(segments: Sequence[Any], *traces: Sequence[Any], **more: Any) -> dict[str, Any]:
    """The dict of a snapshot; `traces` are the histories of the devices from 0 on."""
    return {
        "segments": list(segments),
        "device_traces": [list(trace) for trace in traces],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "expandable_segments": False},
        "external_annotations": [],
        **more,
    }


def dumped(value: Any, protocol: int = 4) -> bytes:
    return pickle.dumps(value, protocol)


def training(weights: int = 4) -> dict[str, Any]:
    """One step: weights from before, activations of two layers, of which the backward pass frees one."""
    own, library = (
        frame("/home/me/train.py", 12, "forward"),
        frame("/usr/lib/site-packages/torch/nn/x.py", 9, "forward"),
    )
    init = frame("/home/me/train.py", 4, "__init__")
    mm = [
        frame("??", 0, "at::native::mm(at::Tensor const&)"),
        frame("??", 0, "at::_ops::mm::call(at::Tensor const&, at::Tensor const&)"),
    ]
    backward = [frame("??", 0, "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)")]
    return snapshot(
        [
            segment(
                0,
                20 * MIB,
                [block(0, weights * MIB, frames=[init]), block(weights * MIB, (20 - weights) * MIB, "inactive")],
            ),
            segment(
                64 * MIB, 20 * MIB, [block(64 * MIB, 8 * MIB, frames=[*mm, own]), block(72 * MIB, 12 * MIB, "inactive")]
            ),
        ],
        [
            entry("alloc", 10, weights * MIB, 6 * MIB, [*mm, library, own]),
            entry("segment_alloc", 15, 64 * MIB, 20 * MIB, [own]),
            entry("alloc", 20, 64 * MIB, 8 * MIB, [*mm, own]),
            entry("free_requested", 30, weights * MIB, 6 * MIB, backward),
            entry("free_completed", 31, weights * MIB, 6 * MIB, backward),
            entry("snapshot", 40, 0, 0),
        ],
    )
