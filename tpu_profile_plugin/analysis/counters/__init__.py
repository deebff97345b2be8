"""Performance counters of TPUs: registers, samples, achieved and peak work of the units of a chip."""
