"""Graph viewer: the compiled program as text, bytes, or the neighbourhood of one instruction."""
