"""What one execution of an HLO instruction costs, as XLA estimates it for GPUs and CPUs."""
