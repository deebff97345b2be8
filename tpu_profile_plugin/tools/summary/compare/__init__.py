"""Compare: what changed between two runs."""
