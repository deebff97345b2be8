"""Processes that tests talk to: TensorBoards, a scripted profiler, object stores, environments with frameworks."""
