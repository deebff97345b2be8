"""A verb: one question, made of a function whose signature declares the arguments for commands and agents alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from tpu_profile_plugin.analysis.common.reasons import Advice, Reason
from tpu_profile_plugin.answers.answer import Answer, Cannot
from tpu_profile_plugin.errors import BadRequest, NotFound, Problem
from tpu_profile_plugin.opening import OpenLogdir, OpenRun
from tpu_profile_plugin.run.facts import frameworks_of

MOST_TEXT = 20_000
"""The longest text of an argument."""
_MOST_NUMBER = 2**53
"""Beyond it, JSON's numbers are not exact."""
_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True)
class Parameter:
    """An argument of a verb.

    Attributes:
      name: as in the function, without an underscore at its end.
      type: str, int, float or bool.
      sentence: what it means.
      choices: the values that a text may have; empty for any.
      required: whether there is no default.
      default: its value if it is not given.
      keyword: the name in the function, such as `from_`.
    """

    name: str
    type: type
    sentence: str
    choices: tuple[str, ...] = ()
    required: bool = False
    default: Any = None
    keyword: str = ""

    def checked(self, value: Any) -> Any:
        """The value in its type; raises BadRequest that names the argument and what it may be."""
        given = value
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if number and not abs(value) <= _MOST_NUMBER:
            raise BadRequest(f"{self.name} must be between -2^53 and 2^53.", argument=self.name, choices=[])
        if number and self.type is float:
            value = float(value)
        if number and self.type is int and value == int(value):
            value = int(value)  # JSON has one kind of numbers
        if type(value) is not self.type or (self.choices and value not in self.choices):
            wanted = f"one of {', '.join(self.choices)}" if self.choices else _NAMES[self.type]
            message = f"{self.name} must be {wanted}, not {_shown(given)}."
            raise BadRequest(message, argument=self.name, choices=list(self.choices))
        if isinstance(value, str):
            self._check_text(value)
        return value

    def _check_text(self, value: str) -> None:
        if len(value) > MOST_TEXT:
            raise BadRequest(f"{self.name} is longer than {MOST_TEXT:,} characters.", argument=self.name, choices=[])
        if "\0" in value:
            raise BadRequest(f"{self.name} has a character NUL.", argument=self.name, choices=[])
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise BadRequest(f"{self.name} is no text in Unicode.", argument=self.name, choices=[])


OF_RUN = (
    Parameter("run", str, "The run; by default the newest."),
    Parameter("host", str, "One host of the run; by default all."),
)
"""The arguments of all verbs about one run."""
OF_ALL = (
    Parameter("cursor", str, "The cursor of the answer before, for the rows that follow."),
    Parameter("max_bytes", int, "The most bytes of the answer as JSON; by default 8000."),
)
"""The arguments of all verbs."""


@dataclass(frozen=True)
class Asked:
    """What a question is about.

    Attributes:
      logdir: where the runs are.
      run_name: None for the newest run.
      host: None for all hosts.
    """

    logdir: OpenLogdir
    run_name: str | None = None
    host: str | None = None

    @cached_property
    def whole_run(self) -> OpenRun:
        """The run with all hosts. Raises NotFound with the choices."""
        try:
            return self.logdir.run(self.run_name)
        except NotFound as error:
            names = [run.name for run in self.logdir.runs()]
            raise NotFound(error.message, code=error.code, argument="run", choices=names) from None

    @cached_property
    def run(self) -> OpenRun:
        """The run, reduced to the host if one is given. Raises NotFound with the choices."""
        try:
            return self.whole_run.on(self.host)
        except NotFound as error:
            choices = self.whole_run.hosts
            raise NotFound(error.message, code=error.code, argument="host", choices=choices) from None

    @property
    def frameworks(self) -> tuple[str, ...]:
        """The frameworks that wrote the profile, in whose words advice is given."""
        return frameworks_of(self.run if self.whole_run.hosts else self.whole_run)

    def cannot(self, reason: Reason) -> Cannot:
        """Why the profile does not tell, and how to record one that does."""
        return Cannot(reason.sentence, reason.remedy.of(self.frameworks))

    @property
    def losses(self) -> tuple[Problem, ...]:
        """What was left out of the run, cut or damaged."""
        return (self.run if self.whole_run.hosts else self.whole_run).losses

    @property
    def warnings(self) -> tuple[str, ...]:
        """Which hosts were found to be unreadable while the question was answered, as sentences."""
        return self.run.warnings if "run" in self.__dict__ else ()


@dataclass(frozen=True)
class Verb:
    """A question that commands and agents can ask.

    Attributes:
      name: of the command and of the tool for agents.
      summary: one sentence: what the answer tells.
      needs: what must be recorded for an answer, as an instruction in the words of each framework.
      answer: the function.
      parameters: its arguments, without run and host.
      of_run: whether it is about one run, so that it has the arguments run and host.
    """

    name: str
    summary: str
    needs: Advice
    answer: Callable[..., Answer]
    parameters: tuple[Parameter, ...]
    of_run: bool

    @cached_property
    def every(self) -> tuple[Parameter, ...]:
        """Its arguments, and those that all verbs have."""
        return (*self.parameters, *(OF_RUN if self.of_run else ()), *OF_ALL)

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments in their types. Raises BadRequest that names the argument and the choices."""
        return check(self.name, self.parameters, arguments, [one.name for one in self.every])

    def ask(self, asked: Asked, arguments: Mapping[str, Any]) -> Answer:
        """The answer; arguments as `checked` returns them. Raises NoData where the profile does not tell."""
        keywords = {one.name: one.keyword for one in self.parameters}
        return self.answer(asked, **{keywords[name]: value for name, value in arguments.items()})


def check(
    name: str, parameters: Sequence[Parameter], arguments: Mapping[str, Any], choices: Sequence[str] = ()
) -> dict[str, Any]:
    """The arguments of a question in their types.

    Args:
      name: of the question, for messages.
      parameters: what it takes.
      arguments: what is given.
      choices: names of arguments for messages; by default those of `parameters`.

    Raises BadRequest that names the argument and the choices.
    """
    known = {one.name: one for one in parameters}
    for given in arguments:
        if given not in known:
            choices = list(choices or known)
            message = f"{name} has no argument {_shown(given)}; it has {', '.join(choices)}."
            raise BadRequest(message, argument=str(given)[:80], choices=choices)
    for one in parameters:
        if one.required and one.name not in arguments:
            raise BadRequest(f"{name} needs {one.name}: {one.sentence}", argument=one.name, choices=list(one.choices))
    return {given: known[given].checked(value) for given, value in arguments.items()}


def verb(function: Callable[..., Answer], *, needs: Advice | str, of_run: bool = True) -> Verb:
    """The verb that a function answers: `function(asked, *, name: Annotated[type, "sentence"] = default, ...)`.

    The first sentence of its documentation is the summary. Raise NoData where the profile does not tell.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters = tuple(
        _parameter(one, hints[one.name]) for one in list(inspect.signature(function).parameters.values())[1:]
    )
    summary = (inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " ")
    told = Advice(needs) if isinstance(needs, str) else needs
    return Verb(function.__name__.strip("_"), summary, told, function, parameters, of_run)


def _parameter(one: inspect.Parameter, hint: Any) -> Parameter:
    assert get_origin(hint) is Annotated, f"{one.name} has no sentence"
    kind, sentence = get_args(hint)
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    required = one.default is inspect.Parameter.empty
    default = None if required else one.default
    return Parameter(one.name.rstrip("_"), str if choices else kind, sentence, choices, required, default, one.name)


def _shown(value: Any) -> str:
    """A wrong value, for messages."""
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError):  # numbers of thousands of digits, lists in thousands of lists
        return "this value"
