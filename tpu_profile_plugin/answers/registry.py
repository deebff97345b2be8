"""The list of all verbs, in the order of the guide; a new verb needs an import and an entry here."""

from __future__ import annotations

from tpu_profile_plugin.answers.verb import Verb
from tpu_profile_plugin.answers.verbs import (
    budget,
    collectives,
    compare,
    explain,
    gaps,
    hlo,
    memory,
    op,
    ops,
    overview,
    programs,
    query,
    runs,
    source,
    steps,
    timeline,
)
from tpu_profile_plugin.errors import NotFound

VERBS: tuple[Verb, ...] = (
    runs.VERB,
    overview.VERB,
    explain.VERB,
    budget.VERB,
    steps.VERB,
    ops.VERB,
    timeline.VERB,
    gaps.VERB,
    collectives.VERB,
    compare.VERB,
    query.VERB,
    op.VERB,
    source.VERB,
    hlo.VERB,
    programs.VERB,
    memory.VERB,
)
_BY_NAME = {verb.name: verb for verb in VERBS}


def find(name: str) -> Verb:
    """The verb with this name. Raises NotFound with the choices."""
    verb = _BY_NAME.get(name)
    if verb is None:
        message = f"There is no verb {name[:80]!r}; there are {', '.join(_BY_NAME)}."
        raise NotFound(message, code="verb_not_found", argument="verb", choices=list(_BY_NAME))
    return verb
