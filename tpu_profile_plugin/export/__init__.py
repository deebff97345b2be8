"""A run as files for other programs: tables as Parquet and Arrow, timelines for other viewers."""
