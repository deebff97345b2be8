"""The binary form of a timeline (`format=pb`): a `TraceDataResponse` in a Zstandard frame, as newer viewers read it."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.timeline.host import HostTrace
from tpu_profile_plugin.analysis.timeline.window import Selection, Window, series_fields
from tpu_profile_plugin.protos import message

_MAGIC = b"\x28\xb5\x2f\xfd"
_DESCRIPTOR = b"\xc0\x38"
"""A content size of eight bytes, and a window of 128 KiB."""

_LARGEST_BLOCK = 1 << 17


def response(
    titles: Sequence[tuple[str, HostTrace]],
    selections: Sequence[Selection],
    window: Window | None,
    options: Sequence[tuple[str, bool]],
) -> bytes:
    """The selected events and samples.

    Args:
      titles: per host what stands in front of the names of its processes, and its timeline.
      window: extent of the whole trace in ps; None when it has no events.
      options: what the viewer can turn on, and whether it is.
    """
    head = message("xprof.TraceDataResponse")()
    for (prefix, trace), part in zip(titles, selections, strict=True):
        _name_threads(head, prefix, trace, part.pid_offset)
    for name, value in options:
        head.details.add(name=name, value=value)
    if window is not None:
        head.full_timespan_start_ps, head.full_timespan_end_ps = (max(time, 0) for time in window)
    return framed(head.SerializeToString() + series_fields(selections))


def _name_threads(head: object, prefix: str, trace: HostTrace, pid_offset: int) -> None:
    for section in trace.sections:
        if not section.has_lines:
            continue
        pid = (section.pid + pid_offset) & 0xFFFFFFFF
        process = head.metadata.processes.add(name=prefix + section.name, id=pid, sort_index=pid)  # type: ignore[attr-defined]
        for track in trace.tracks:
            if track.pid == section.pid and track.counter is None:
                process.threads.add(name=track.name, id=track.tid, sort_index=track.tid)


def framed(data: bytes) -> bytes:
    """A Zstandard frame (RFC 8878) around bytes that stay as they are: raw blocks, which every decoder reads."""
    blocks = [data[at : at + _LARGEST_BLOCK] for at in range(0, len(data), _LARGEST_BLOCK)] or [b""]
    out = [_MAGIC, _DESCRIPTOR, len(data).to_bytes(8, "little")]
    for number, block in enumerate(blocks, start=1):
        out += [(8 * len(block) + (number == len(blocks))).to_bytes(3, "little"), block]
    return b"".join(out)
