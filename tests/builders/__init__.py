"""Makers of test profiles: message classes, a text notation, and a slow reference decoder."""
