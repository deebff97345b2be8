"""The JSON object in the body of a request with effects."""

from __future__ import annotations

import json
from typing import Any

from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Request

from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.units import MIB

_MAX_BODY_BYTES = MIB


def json_body(request: Request) -> dict[str, Any]:
    """The object; empty without a body. Raises BadRequest."""
    if (request.content_length or 0) > _MAX_BODY_BYTES:
        raise BadRequest("The body is too large.")
    request.max_content_length = _MAX_BODY_BYTES  # also for chunked bodies, which do not announce their length
    try:
        data = request.get_data()
    except (HTTPException, OSError):
        raise BadRequest("The body is too large or incomplete.") from None
    if not data:
        return {}
    if request.mimetype != "application/json":
        raise BadRequest("The body must be JSON, with the header Content-Type: application/json.")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise BadRequest("The body is not JSON.") from None
    if not isinstance(value, dict):
        raise BadRequest("The body must be a JSON object.")
    return value
