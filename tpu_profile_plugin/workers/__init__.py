"""Computes the per-host parts of large runs: in this process, in worker processes, or on a Dask cluster."""
