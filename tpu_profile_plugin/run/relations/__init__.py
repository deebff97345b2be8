"""The tables of a run that programs read: Python, Arrow, Parquet and SQL."""

from tpu_profile_plugin.run.relations.relation import Relation

RELATIONS: tuple[Relation, ...] = ()
"""All of them, in the order of the documentation."""
