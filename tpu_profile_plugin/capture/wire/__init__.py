"""Talking to profiler servers: addresses, connections, calls, responses, and why they fail."""
