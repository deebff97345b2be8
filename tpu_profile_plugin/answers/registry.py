"""All verbs, in the order of `NAMES`."""

from __future__ import annotations

from importlib import import_module

from tpu_profile_plugin.answers import NAMES, verbs
from tpu_profile_plugin.answers.verb import Verb
from tpu_profile_plugin.errors import NotFound

VERBS: tuple[Verb, ...] = tuple(import_module(f"{verbs.__name__}.{name}").VERB for name in NAMES)
_BY_NAME = dict(zip(NAMES, VERBS, strict=True))


def find(name: str) -> Verb:
    """The verb with this name. Raises NotFound with the choices."""
    if name not in _BY_NAME:
        message = f"There is no verb {name[:80]!r}; there are {', '.join(NAMES)}."
        raise NotFound(message, code="verb_not_found", argument="verb", choices=list(NAMES))
    return _BY_NAME[name]
