"""What changed between two runs: programs and ops matched, and the difference of the step as contributions."""
