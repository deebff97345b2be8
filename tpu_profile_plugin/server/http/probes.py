"""Answers what TensorBoard's page asks of plugins that are not there, so that console and log have no errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tpu_profile_plugin.server.http.token import WsgiApp

_ANSWERS = {
    "/data/plugin/hparams/experiment": b'{"hparamInfos": [], "metricInfos": []}',
    "/data/plugin/hparams/session_groups": b'{"sessionGroups": [], "totalSize": 0}',
}
_ICON = "/favicon.ico"
_EXPERIMENT = "/experiment/"


def answering(app: WsgiApp) -> WsgiApp:
    """The application, with empty answers to the probes; a missing icon is no content, not an error."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = _without_experiment(str(environ.get("PATH_INFO", "")))
        if path == _ICON:
            start_response("204 No Content", [("Cache-Control", "max-age=86400")])
            return []
        body = _ANSWERS.get(path)
        if body is None:
            return app(environ, start_response)
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response("200 OK", [*headers, ("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store")])
        return [] if environ.get("REQUEST_METHOD") == "HEAD" else [body]

    return answer


def _without_experiment(path: str) -> str:
    """`/experiment/NAME/data/...` -> `/data/...`."""
    if not path.startswith(_EXPERIMENT):
        return path
    return "/" + path[len(_EXPERIMENT) :].partition("/")[2]
