"""Traces of PyTorch's own profiler: Kineto's Chrome trace JSON, one file per rank."""

from __future__ import annotations

from tpu_profile_plugin.columns.arrays import U8
from tpu_profile_plugin.formats.format import Format, Unpacked
from tpu_profile_plugin.formats.trace_text import pieces_of, reader, sniffed
from tpu_profile_plugin.suffixes import PYTORCH

_read_pieces = reader(pytorch=True)


def _sniff(content: U8) -> bool:
    """Whether the text has keys, categories or names that no other writer of trace events has."""
    return sniffed(content)[1]


def _read(content: U8) -> Unpacked:
    return _read_pieces(pieces_of(content))


FORMAT = Format(name="PyTorch trace", suffixes=PYTORCH, sniff=_sniff, read=_read, read_pieces=_read_pieces)
