"""The route for the text of the user's source files, below one directory that the operator named."""

from __future__ import annotations

from tpu_profile_plugin.errors import NotAvailable, NotFound
from tpu_profile_plugin.logdir.source_files import SourceRoot
from tpu_profile_plugin.server.http.answer import NEVER, Answer, json_answer
from tpu_profile_plugin.server.http.query import Query


class SourceRoutes:
    """The handler; `root` is the directory that the operator named, "" for none."""

    def __init__(self, root: str) -> None:
        self._root = SourceRoot(root)

    def text(self, query: Query) -> Answer:
        """The text of a source file by its recorded path, and its path below the root; null with the reason without."""
        try:
            found = self._root.read(query.required("file"))
        except (NotFound, NotAvailable) as error:
            return json_answer({"file": None, "text": None, "code": error.code, "reason": error.message}, cache=NEVER)
        return json_answer({"file": "/".join(found.parts), "text": found.text}, cache=NEVER)
