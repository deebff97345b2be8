"""Parameters of the query string by name; errors name the parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tpu_profile_plugin.errors import BadRequest


class Query:
    """Parameters of one request; an empty value counts as absent."""

    def __init__(
        self,
        values: Mapping[str, str],
        client_has: Callable[[str], bool] = lambda _: False,
        gone: Callable[[], bool] = lambda: False,
    ) -> None:
        """A request.

        Args:
          values: the parameters.
          client_has: whether the client has the answer with this etag already.
          gone: whether the client has closed the connection.
        """
        self._values = values
        self.client_has = client_has
        self.gone = gone

    def optional(self, name: str) -> str | None:
        """The parameter's text, None when absent or empty."""
        return self._values.get(name) or None

    def required(self, name: str) -> str:
        """The parameter's text; raises BadRequest when it is missing."""
        value = self.optional(name)
        if value is None:
            raise BadRequest(f"Parameter {name!r} is missing.", parameter=name)
        return value

    def having(self, **values: str) -> Query:
        """A copy with other values."""
        return Query({**self._values, **values}, self.client_has, self.gone)

    def flag(self, name: str, default: bool) -> bool:
        """A boolean: true only for the text "true" in any case; absent is the default."""
        value = self.optional(name)
        return default if value is None else value.lower() == "true"

    def names(self, name: str) -> tuple[str, ...]:
        """A comma-separated list without its empty items."""
        return tuple(part for part in (self.optional(name) or "").split(",") if part)

    def of_run(self, name: str) -> Query:
        """The same query about another run of the logdir."""
        kept = {key: value for key, value in self._values.items() if key not in ("session_path", "host", "hosts")}
        return Query({**kept, "run": name}, self.client_has, self.gone)
