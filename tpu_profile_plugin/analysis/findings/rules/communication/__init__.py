"""Rules about collectives, barriers and late devices."""
