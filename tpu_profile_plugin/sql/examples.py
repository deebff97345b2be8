"""Queries that answer common questions, for the page, the command line and the documentation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A query.

    Attributes:
      id: stable key, lower_snake_case.
      title: the question in a few words.
      sentence: what the result shows.
      sql: the statement.
    """

    id: str
    title: str
    sentence: str
    sql: str


EXAMPLES: tuple[Example, ...] = ()
