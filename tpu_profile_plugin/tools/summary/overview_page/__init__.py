"""Overview: step time, utilization, time breakdown and recommendations."""
