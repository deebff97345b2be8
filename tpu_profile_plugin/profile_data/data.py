"""`ProfileData`: reads the bytes of a profile and finds its planes."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from tpu_profile_plugin.columns import XSpace, load_lazily
from tpu_profile_plugin.columns.arrays import U8, Bytes, byte_array
from tpu_profile_plugin.errors import BadRequest, NotAvailable, NotFound, in_file
from tpu_profile_plugin.formats import unpack
from tpu_profile_plugin.logdir.files import LocalFiles
from tpu_profile_plugin.profile_data.plane import ProfilePlane
from tpu_profile_plugin.protos import message

_SPACE = "tensorflow.profiler.XSpace"


class ProfileData:
    """A profile, with the methods of `jax.profiler.ProfileData`; planes are decoded when their lines are asked for."""

    def __init__(self, serialized_xspace: Bytes) -> None:
        """Takes the bytes of an XSpace, or of any other format that files have; raises CorruptProfile, BadRequest."""
        try:
            data = byte_array(serialized_xspace)
        except (TypeError, ValueError):
            kind = type(serialized_xspace).__name__
            raise BadRequest(f"A profile is given as bytes, not as {kind}; from_file() takes a path.") from None
        self._space: XSpace = load_lazily(unpack(data).space)

    @classmethod
    def from_file(cls, proto_file_path: str | os.PathLike[str]) -> ProfileData:
        """The profile in a file such as host.xplane.pb, also compressed; raises NotFound, Forbidden, CorruptProfile."""
        path = os.fspath(proto_file_path)
        try:
            status = Path(path).stat()
        except OSError:
            raise NotFound(f"There is no file {Path(path).name}.") from None
        with in_file(Path(path).name):
            return cls(LocalFiles().read(path, status.st_size, status.st_mtime_ns, ""))

    @classmethod
    def from_serialized_xspace(cls, serialized_xspace: Bytes) -> ProfileData:
        """The profile in these bytes; raises CorruptProfile, BadRequest for what is no bytes."""
        return cls(serialized_xspace)

    @classmethod
    def from_text_proto(cls, text: str) -> ProfileData:
        """The profile in protobuf's text form; raises BadRequest for text that is not of that form."""
        return cls(cls.text_proto_to_serialized_xspace(text))

    @classmethod
    def from_raw_cpp_ptr(cls, capsule: object) -> NoReturn:
        """Raises NotAvailable: pointers are for code that is linked with JAX's own XLA."""
        raise NotAvailable(
            "A pointer into JAX's memory can be read by JAX alone: pass the bytes of the XSpace to "
            "from_serialized_xspace(), or let jax.profiler write a file."
        )

    @staticmethod
    def text_proto_to_serialized_xspace(text: str) -> bytes:
        """The bytes of an XSpace given in protobuf's text form; raises BadRequest for text that is not of that form."""
        from google.protobuf import text_format

        try:
            parsed = text_format.Parse(text, message(_SPACE)())
        except (text_format.ParseError, TypeError, AttributeError) as error:
            raise BadRequest(f"This is not the text form of an XSpace: {error}") from None
        return bytes(parsed.SerializeToString())

    @property
    def planes(self) -> Iterator[ProfilePlane]:
        """The planes in the order of the file."""
        return iter(self._planes)

    def find_plane_with_name(self, name: str) -> ProfilePlane | None:
        """The first plane of this name; None if there is none."""
        return next((plane for plane in self._planes if plane.name == name), None)

    @property
    def serialized(self) -> U8:
        """The bytes of the XSpace as a read-only array; `bytes()` copies them."""
        return self._space.data

    @functools.cached_property
    def _planes(self) -> tuple[ProfilePlane, ...]:
        return tuple(ProfilePlane(self._space, plane) for plane in self._space.planes)

    def __repr__(self) -> str:
        return f"<ProfileData: {', '.join(plane.name for plane in self._planes) or 'no planes'}>"
