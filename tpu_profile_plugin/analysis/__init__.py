"""Pure, vectorised functions over columns; no I/O, no JSON, no titles."""
