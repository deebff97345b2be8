"""Memory viewer: memory use of a compiled program, and the buffers at its peak."""
