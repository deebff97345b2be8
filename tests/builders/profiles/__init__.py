"""Runs of tests, typed in or computed; most modules write theirs: `python -m builders.profiles.NAME DIRECTORY`."""
