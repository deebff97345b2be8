"""What a query may use, and what happens beyond it."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.units import MIB

TEXT = 100_000
"""The longest statement, in characters."""
COLUMNS = 1_000
"""The most columns of a result."""

_MOST = {"rows": 10**9, "seconds": 86_400, "memory_bytes": 1 << 40, "result_bytes": 1 << 40}


@dataclass(frozen=True)
class Limits:
    """The limits of one query; reading profiles into tables beforehand is not limited, but can be cancelled.

    Attributes:
      rows: the most rows of the result; further rows are dropped, which `Result.cut` tells.
      seconds: the most time of the statement; beyond it `QueryStopped`.
      memory_bytes: the most memory that DuckDB takes for data; beyond it `QueryStopped`. Its process ends if it takes
        one GiB more.
      result_bytes: the most bytes of the result; beyond it `QueryStopped`.
    """

    rows: int = 100_000
    seconds: float = 30.0
    memory_bytes: int = 1024 * MIB
    result_bytes: int = 256 * MIB

    def __post_init__(self) -> None:
        """Raises BadRequest for a limit that is not positive, or too large for the system."""
        for name, most in _MOST.items():
            if not 0 < getattr(self, name) <= most:
                raise BadRequest(f"{name} must be more than 0, and at most {most:,}.", parameter=name)
