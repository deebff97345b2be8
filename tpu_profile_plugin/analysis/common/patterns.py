"""Regular expressions of a request, searched for in time linear in the text."""

from __future__ import annotations

from collections.abc import Callable

from tpu_profile_plugin import _native


def searcher(pattern: str, *, ignore_case: bool = False) -> Callable[[str], bool]:
    """Tells whether a text contains a match.

    The syntax is that of Rust's regex crate: Python's, without look-around and back-references.

    Raises:
      ValueError: says why the pattern is not a regular expression, or that it is too large.
    """
    return _native.Pattern(pattern, ignore_case).search
