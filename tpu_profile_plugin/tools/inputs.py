"""What a tool is given: the chosen hosts' columns, shared by the whole process, and typed parameters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tpu_profile_plugin.tools.shelf import Shelf
from tpu_profile_plugin.tools.tool import ParamValue

if TYPE_CHECKING:
    import numpy as np

    from tpu_profile_plugin.columns import XSpace

T = TypeVar("T")


class HostProfile:
    """One host's profile; its columns are decoded on first use and shared by all tools of the process.

    Attributes:
      name: the host.
      index: its position among the chosen hosts.
      file: name of its file, for messages.
    """

    def __init__(
        self,
        name: str,
        index: int,
        file: str,
        identity: Hashable,
        read: Callable[[], np.ndarray[Any, np.dtype[np.uint8]]],
        shelf: Shelf,
    ) -> None:
        self.name = name
        self.index = index
        self.file = file
        self._identity = identity
        self._read = read
        self._shelf = shelf

    @property
    def space(self) -> XSpace:
        """The decoded columns. Raises CorruptProfile with the file's name when the bytes do not decode."""
        return self._shelf.space(self._identity, self._read, self.file)

    @property
    def metadata(self) -> XSpace:
        """The columns of the planes that carry HLO modules, and nothing else; quick however many events there are."""
        return self._shelf.metadata(self._identity, self._read, self.file)

    def derive(self, key: Hashable, fn: Callable[[XSpace], T]) -> T:
        """`fn(space)`, computed once per process and kept beside the columns.

        Args:
          key: names what is derived, e.g. "step_events" or ("self_time", 3); must be the same for the same result.
          fn: a pure function of the columns; what it returns must not be changed by anyone.
        """
        value: T = self._shelf.derived(self._identity, key, lambda: fn(self.space))
        return value

    def derive_metadata(self, key: Hashable, fn: Callable[[XSpace], T]) -> T:
        """As `derive`, from the columns of `metadata`."""
        value: T = self._shelf.derived(self._identity, ("metadata", key), lambda: fn(self.metadata))
        return value

    def derive_over(
        self, hosts: tuple[HostProfile, ...], key: Hashable, fn: Callable[[tuple[HostProfile, ...]], T]
    ) -> T:
        """`fn(hosts)`, kept for this set of hosts; `Inputs.derive` is the way to it."""
        identity = ("hosts", *(host._identity for host in hosts))
        value: T = self._shelf.derived(identity, key, lambda: fn(hosts))
        return value


@dataclass(frozen=True)
class Inputs:
    """Everything that a tool's answer may depend on.

    Attributes:
      run: the run's name.
      hosts: the chosen hosts, in file-name order; at least one.
      params: every declared parameter, parsed, defaults filled in.
    """

    run: str
    hosts: tuple[HostProfile, ...]
    params: Mapping[str, ParamValue]

    @property
    def host(self) -> HostProfile:
        """The only host, for tools that take exactly one."""
        return self.hosts[0]

    def derive(self, key: Hashable, fn: Callable[[tuple[HostProfile, ...]], T]) -> T:
        """`fn(hosts)`, computed once per process for this set of hosts and kept; for what is merged over hosts.

        The arguments are as those of `HostProfile.derive`; several tools may share a key.
        """
        return self.hosts[0].derive_over(self.hosts, key, fn)

    def text(self, name: str) -> str:
        """The value of a string parameter; "" when it is absent and has no default."""
        value = self.params[name]
        return "" if value is None else str(value)

    def integer(self, name: str) -> int:
        """The value of an int parameter; it must have a default."""
        value = self.params[name]
        assert isinstance(value, int)
        return value

    def number(self, name: str) -> float:
        """The value of a float parameter; it must have a default."""
        value = self.params[name]
        assert isinstance(value, (int, float))
        return float(value)

    def flag(self, name: str) -> bool:
        """The value of a bool parameter."""
        return bool(self.params[name])
