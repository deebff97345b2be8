"""Replay of a recording from its dependencies: how long a step would take if parts of it were shorter."""
