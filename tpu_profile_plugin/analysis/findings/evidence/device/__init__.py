"""Ops of devices: what they do, their programs, matrix units and places."""
