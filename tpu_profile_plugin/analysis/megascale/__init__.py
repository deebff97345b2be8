"""Collectives over the data-centre network (MegaScale): how long they had, and how long they held the TPU up."""
