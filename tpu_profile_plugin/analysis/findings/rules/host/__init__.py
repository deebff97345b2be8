"""Rules about code, launches and compilation on the host."""
