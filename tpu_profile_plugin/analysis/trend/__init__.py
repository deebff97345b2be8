"""How a program's step changes over many runs: summaries of runs, what all ops share, and where a level shifts."""
