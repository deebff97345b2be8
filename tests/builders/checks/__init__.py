"""Slow second implementations, readers of other formats, and checks of the tests themselves."""
