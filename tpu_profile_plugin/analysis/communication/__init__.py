"""Collectives: time, bandwidth and waits; late devices; clocks of hosts and devices."""
