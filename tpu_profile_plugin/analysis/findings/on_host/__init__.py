"""What rules ask of a host: its main thread, compilation, uploads, input, calls into Python."""
