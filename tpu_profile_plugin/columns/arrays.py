"""NumPy array types by element type, and the bytes of a file as an array."""

from __future__ import annotations

import mmap
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

U8: TypeAlias = NDArray[np.uint8]
U32: TypeAlias = NDArray[np.uint32]
U64: TypeAlias = NDArray[np.uint64]
I32: TypeAlias = NDArray[np.int32]
I64: TypeAlias = NDArray[np.int64]
F64: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

Bytes: TypeAlias = U8 | bytes | bytearray | memoryview | mmap.mmap


def byte_array(data: Bytes) -> U8:
    """The bytes as a read-only array that refers to them; they must not change during its lifetime."""
    array: U8
    if isinstance(data, np.ndarray):
        array = np.ascontiguousarray(data, np.uint8).reshape(-1).view()
    else:
        array = np.frombuffer(data, np.uint8)
    array.flags.writeable = False
    return array
