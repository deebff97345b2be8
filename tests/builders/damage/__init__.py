"""Damaged and hostile profiles, made by generators: bytes, values, programs, sizes and trace-event files."""
