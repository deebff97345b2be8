"""Megascale stats: collectives between slices as a table, a timeline, or a trace for viewers of Perfetto."""
