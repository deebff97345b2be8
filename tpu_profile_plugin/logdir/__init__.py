"""Finds runs and hosts in a logdir and hands out the bytes of their profiles."""
