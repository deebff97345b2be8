"""Reads kernels in MLIR bytecode, which compilers store in custom calls, as generic MLIR text."""
