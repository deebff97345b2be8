"""Trace viewer: when every operation ran on every device and thread."""
