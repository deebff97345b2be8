"""Collectives over the data-centre network (MegaScale): their slack, and the time that they stall the TPU."""
