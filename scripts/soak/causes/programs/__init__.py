"""Small programs with one planted cause of lost time each, and healthy ones; what each shows is in `expected.py`.

A program gets `profiled`, a context manager that captures its block. Programs of `jax_*` and `tf_*` modules run in the
environments of those frameworks.
"""
