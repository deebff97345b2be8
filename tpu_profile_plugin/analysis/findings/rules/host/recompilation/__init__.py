"""Compilation within steps."""
