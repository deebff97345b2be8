"""The bytes of a profile that a caller has in memory: bytes, an XSpace as a message, a `ProfileData`."""

from __future__ import annotations

import os
from typing import Protocol, TypeAlias

from tpu_profile_plugin.columns import load_lazily
from tpu_profile_plugin.columns.arrays import U8, Bytes, byte_array
from tpu_profile_plugin.errors import BadRequest, NotAvailable
from tpu_profile_plugin.formats import unpack
from tpu_profile_plugin.profile_data.data import ProfileData

_SPACE = "tensorflow.profiler.XSpace"


class Message(Protocol):
    """A message of any protobuf."""

    def SerializeToString(self) -> bytes:  # noqa: N802
        """Its bytes."""


Given: TypeAlias = str | os.PathLike[str] | Bytes | Message | ProfileData
"""What can be opened."""


def profile_bytes(given: object) -> U8:
    """The bytes of the XSpace in what is no path.

    Raises BadRequest for other things, CorruptProfile for a broken container, and NotAvailable for JAX's `ProfileData`:
    it gives names, stats and rounded times, but neither exact times nor metadata nor the bytes.
    """
    if isinstance(given, ProfileData):
        return given.serialized
    if hasattr(given, "SerializeToString"):
        kind = getattr(getattr(given, "DESCRIPTOR", None), "full_name", type(given).__name__)
        if kind != _SPACE:
            raise BadRequest(f"A profile is a message {_SPACE}, not {kind}.")
        return byte_array(given.SerializeToString())
    if hasattr(given, "find_plane_with_name"):
        raise NotAvailable(
            "JAX's ProfileData rounds times to doubles and lacks the metadata of events, so that no run can be made of "
            "it. Open the file that JAX wrote (jax.profiler.export_profile_data writes one where JAX has it), or the "
            "bytes of the XSpace."
        )
    try:
        data = byte_array(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        kind = type(given).__name__
        raise BadRequest(f"A logdir or a profile is a path, bytes or a message {_SPACE}, not {kind}.") from None
    return unpack(data).space


def recorded_host(space: U8) -> str:
    """The name of the host as the profiler recorded it, "" for none; raises CorruptProfile."""
    return next(iter(load_lazily(space).hostnames), "")
