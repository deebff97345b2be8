"""Declarations of tools' query parameters, and their parsing and validation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from tpu_profile_plugin.errors import BadRequest

ParamValue = str | int | float | bool | None
ParamType = Literal["string", "int", "float", "bool"]


@dataclass(frozen=True)
class Param:
    """One query parameter of a tool.

    Attributes:
      name: the key in the query string.
      type: type of the value; an empty text counts as absent; a bool is true only for "true", in any case.
      default: the value when the parameter is absent.
      sentence: one sentence for the documentation.
      choices: the allowed values of a string; empty for any.
      minimum, maximum: bounds of a number, inclusive; None for none.
    """

    name: str
    type: ParamType
    default: ParamValue
    sentence: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None

    def parse(self, text: str | None) -> ParamValue:
        """Parses the parameter's text; raises BadRequest that names the parameter."""
        if text is None or text == "":
            return self.default
        if self.type == "bool":
            return text.lower() == "true"
        if self.type == "string":
            if self.choices and text not in self.choices:
                raise self._invalid(text, "one of " + ", ".join(self.choices))
            return text
        return self._number(text)

    def _number(self, text: str) -> int | float:
        number: int | float
        try:
            number = int(text) if self.type == "int" else float(text)
        except ValueError:
            raise self._invalid(text, "a whole number" if self.type == "int" else "a number") from None
        if isinstance(number, int) and abs(number) >= 1 << 63:
            raise self._invalid(text, "a number of 64 bits")
        if not math.isfinite(number):
            raise self._invalid(text, "a finite number")
        if self.minimum is not None and number < self.minimum:
            raise self._invalid(text, f"at least {self.minimum:g}")
        if self.maximum is not None and number > self.maximum:
            raise self._invalid(text, f"at most {self.maximum:g}")
        return number

    def _invalid(self, text: str, expected: str) -> BadRequest:
        return BadRequest(
            f"Parameter {self.name!r} must be {expected}, not {text[:80]!r}.", parameter=self.name, value=text[:80]
        )

    def describe(self) -> dict[str, Any]:
        """The parameter as JSON, for the page and the documentation."""
        description = {name: getattr(self, name) for name in ("name", "type", "default", "sentence")}
        return description | ({"choices": list(self.choices)} if self.choices else {})
