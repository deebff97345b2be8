"""Parses a ProfileResponse without decoding its XSpace, which is sliced out byte for byte."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_profile_plugin.protos import message
from tpu_profile_plugin.protos.wire import LENGTH, VARINT, fields


@dataclass(frozen=True)
class Response:
    """The fields of a ProfileResponse.

    Attributes:
      xspace: the serialized profile; None when the response has none.
      empty_trace: whether the worker reports that nothing was recorded.
    """

    xspace: memoryview | bytes | None
    empty_trace: bool


def read_response(data: bytes) -> Response:
    """Parses a serialized ProfileResponse; raises MalformedMessage."""
    parts: list[memoryview] = []
    old: memoryview | None = None
    empty_trace = False
    view, known = memoryview(data), message("tensorflow.ProfileResponse")
    for number, wire, _, begin, end in fields(view):
        if number == known.XSPACE_FIELD_NUMBER and wire == LENGTH:
            parts.append(view[begin:end])
        elif number == known.EMPTY_TRACE_FIELD_NUMBER and wire == VARINT:
            empty_trace = any(byte & 0x7F for byte in view[begin:end])
        elif number == known.TOOL_DATA_FIELD_NUMBER and wire == LENGTH:
            # Current servers send no results of tools; some old ones send the profile as one.
            old = _xspace_of_tool_data(view, begin, end) or old
    if not parts:
        return Response(old, empty_trace)
    # Repeated occurrences of a singular message field are merged, which is concatenation on the wire.
    return Response(parts[0] if len(parts) == 1 else b"".join(parts), empty_trace)


def _xspace_of_tool_data(view: memoryview, begin: int, end: int) -> memoryview | None:
    """The data of a ProfileToolData named xplane.pb; None for other names."""
    name, data, known = b"", None, message("tensorflow.ProfileToolData")
    for number, wire, _, first, last in fields(view, begin, end):
        if wire == LENGTH and number == known.NAME_FIELD_NUMBER:
            name = bytes(view[first : min(last, first + 200)])
        elif wire == LENGTH and number == known.DATA_FIELD_NUMBER:
            data = view[first:last]
    return data if name.endswith(b"xplane.pb") else None


@dataclass(frozen=True)
class XSpaceOutline:
    """Whether an XSpace has any event, and the errors and warnings of the profiler."""

    has_events: bool
    errors: tuple[str, ...]
    warnings: tuple[str, ...]


def scan_xspace(xspace: memoryview | bytes) -> XSpaceOutline:
    """Walks the outermost levels of an XSpace, and planes up to the first event; raises MalformedMessage."""
    view, known = memoryview(xspace), message("tensorflow.profiler.XSpace")
    planes, errors, warnings = known.PLANES_FIELD_NUMBER, known.ERRORS_FIELD_NUMBER, known.WARNINGS_FIELD_NUMBER
    has_events = False
    texts: dict[int, list[str]] = {errors: [], warnings: []}
    for number, wire, _, begin, end in fields(view):
        if number == planes and wire == LENGTH:
            has_events = has_events or _plane_has_events(view, begin, end)
        elif number in texts and wire == LENGTH and len(texts[number]) < 20:
            texts[number].append(bytes(view[begin : min(end, begin + 500)]).decode("utf-8", "replace"))
    return XSpaceOutline(has_events, tuple(texts[errors]), tuple(texts[warnings]))


def _plane_has_events(view: memoryview, begin: int, end: int) -> bool:
    lines = message("tensorflow.profiler.XPlane").LINES_FIELD_NUMBER
    events = message("tensorflow.profiler.XLine").EVENTS_FIELD_NUMBER
    for number, wire, _, line_begin, line_end in fields(view, begin, end):
        if number == lines and wire == LENGTH:
            for inner, inner_wire, *_ in fields(view, line_begin, line_end):
                if inner == events and inner_wire == LENGTH:
                    return True
    return False
