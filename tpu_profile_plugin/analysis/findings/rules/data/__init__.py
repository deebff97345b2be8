"""Rules about input, uploads and output."""
