"""JSON schemas of the arguments of verbs, made of their declarations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tpu_profile_plugin.answers.verb import Parameter

LOGDIR = "logdir"
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def with_logdir(parameters: Sequence[Parameter], logdirs: Sequence[str]) -> tuple[Parameter, ...]:
    """The parameters, and which logdir is meant if there are several."""
    if len(logdirs) < 2:
        return tuple(parameters)
    return (Parameter(LOGDIR, str, "The logdir that is asked about.", tuple(logdirs), required=True), *parameters)


def input_schema(parameters: Iterable[Parameter]) -> dict[str, Any]:
    """The schema of an object with these parameters and no others."""
    parameters = tuple(parameters)
    required = [one.name for one in parameters if one.required]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {one.name: _property(one) for one in parameters},
        "additionalProperties": False,
    }
    return {**schema, "required": required} if required else schema


def _property(one: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES[one.type], "description": one.sentence}
    if one.choices:
        schema["enum"] = list(one.choices)
    if one.default is not None and one.default != "":
        schema["default"] = one.default
    return schema
