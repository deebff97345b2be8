"""A request to a tool: its parsed parameters and, for comparisons, the base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.params import ParamValue


@dataclass(frozen=True)
class Query:
    """A request to a tool.

    Attributes:
      params: every declared parameter, parsed, defaults filled in.
      base: the run to compare with; None for tools that show one run.
    """

    params: Mapping[str, ParamValue] = field(default_factory=dict)
    base: Run | None = None

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
