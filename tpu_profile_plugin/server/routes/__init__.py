"""The routes: each parses its parameters, calls, and returns an answer."""
