"""The pages in a notebook's cell, answered by its kernel: no port, no server, no proxy."""
