"""HLO programs of tests: from a few words, from JAX, as MLIR bytecode; and what a drawing of one shows."""
