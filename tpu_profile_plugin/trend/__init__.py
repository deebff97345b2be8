"""A logdir over time: summaries of its runs, their shifts, named baselines, and the gate."""
