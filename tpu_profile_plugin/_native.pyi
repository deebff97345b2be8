"""Typed surface of the native core; checked against the built module by stubtest."""

class DecodeError(ValueError):
    """The bytes of a profile do not decode; args are (message, byte offset)."""
