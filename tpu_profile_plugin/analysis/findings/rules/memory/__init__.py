"""Rules about the memory of devices."""
