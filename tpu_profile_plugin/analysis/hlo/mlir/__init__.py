"""Kernels in MLIR bytecode, as compilers leave them in custom calls: what is in them, as generic MLIR text."""
