"""Memory kept for the backward pass."""
