"""Cost of one execution of an HLO instruction, as XLA estimates it for GPUs and CPUs."""
