"""Questions about profiles with small answers in one form, for the command line and for agents."""

NAMES = (
    *("runs", "overview", "explain", "budget", "steps", "ops", "timeline", "gaps", "collectives", "compare", "query"),
    *("what_if", "trend", "op", "source", "hlo", "programs", "memory"),
)
"""All verbs, in the order of the guide; each is a module of `verbs`, and a command."""
