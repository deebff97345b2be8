"""Questions to the verbs, and the pages that their answers link to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tpu_profile_plugin.answers.answer import Next
from tpu_profile_plugin.answers.envelope import Door, ask, compact
from tpu_profile_plugin.opening import OpenLogdir
from tpu_profile_plugin.tools import registry
from tpu_profile_plugin.tools.payload import encode


def _deeper(one: Next, about: Mapping[str, str]) -> dict[str, Any]:
    return {"verb": one.verb, "arguments": {**about, **one.arguments}}


DOOR = Door(_deeper)
_REQUESTED = {"backend": "auto", "type": "json", "near_sources": "true"}
"""What pages request besides the keys of their address."""


def asked(logdir: OpenLogdir, verb: str, /, run: str | None = None, host: str | None = None, **arguments: Any) -> Any:
    """The envelope as a caller gets it; `next` has the verb and all its arguments, run and host included.

    `cursor` and `max_bytes` may be given too; a trailing underscore of an argument is dropped (`from_`).
    """
    named = {name.rstrip("_"): value for name, value in arguments.items()}
    door = {name: named.pop(name) for name in ("cursor", "max_bytes") if name in named}
    return json.loads(compact(ask(logdir, verb, named, DOOR, run=run, host=host, **door)))


def page(logdir: OpenLogdir, envelope: Mapping[str, Any]) -> Any:
    """The JSON that the linked page requests from its tool; of a query its rows."""
    query = dict(parse_qsl(urlsplit(envelope["link"]).query))
    if query["tool"] == "query":
        return list(logdir.sql(query["sql"], query["runs"]).table)
    run, tool, host = query.pop("run"), registry.find(query.pop("tool")), query.pop("host", None)
    known = {param.name for param in tool.params}
    params = {name: value for name, value in query.items() if name in known}
    params = {name: value for name, value in _REQUESTED.items() if name in known} | params
    opened = logdir.run(run)
    if tool.compares:
        return json.loads(encode(opened.payload(tool.id, base=logdir.run(query["base"]))).body)
    if tool.id == "trace_viewer@" and "gap" in query:
        params["format"] = "gaps"
    if tool.hosts.value == "one" and host is None:
        host = opened.hosts[0]
    shown = opened.document(tool.id, host, **params)
    # The overview requests the findings besides.
    return [shown, opened.document("smart_suggestion", host)] if tool.id == "overview_page" else shown
